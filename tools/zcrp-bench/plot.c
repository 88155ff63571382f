#include "plot.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/complain.h"
#include "common/quantity.h"

enum { MOST_TICS = 14 };

static const char scene[] = "set terminal svg size 800,500 enhanced background '#ffffff' "
                            "font 'sans-serif,14'\n"
                            "set logscale x 2\n"
                            "set xlabel 'message size, bytes (K, M, G: powers of 1024)'\n"
                            "set yrange [0:*]\n"
                            "set offsets graph 0.02, graph 0.02, graph 0.05, 0\n"
                            "set grid\n"
                            "set key outside top center horizontal noenhanced\n"
                            "set bars small\n";

bool plot_has_gnuplot(void)
{
    return system("command -v gnuplot >/dev/null 2>&1") == 0;
}

int plot_check(const char *path)
{
    FILE *file;

    if (!plot_has_gnuplot())
        return complain("--plot needs gnuplot, and there is none");
    file = fopen(path, "ae");
    if (file == NULL)
        return complain("cannot write '%s': %s", path, strerror(errno));
    fclose(file);
    return 0;
}

static double height(const struct run *run)
{
    return run->trips.count > 0 ? run->trips.median_us : run_gbit_per_s(run);
}

/* "SIZE MEDIAN LEAST MOST" */
static void write_point(FILE *out, const struct results *results, size_t size, size_t transport)
{
    struct summary summary = results_summary(results, size, transport);
    double median = summary.trips.count > 0 ? summary.trips.median_us : summary.gbit_per_s;
    double least = INFINITY;
    double most = 0;

    for (size_t i = 0; i < results->repeats; i++) {
        least = fmin(least, height(results_run(results, size, i, transport)));
        most = fmax(most, height(results_run(results, size, i, transport)));
    }
    fprintf(out, "%" PRIu64 " %.9g %.9g %.9g\n", summary.size, median, least, most);
}

static void write_data(FILE *out, const struct results *results)
{
    for (size_t transport = 0; transport < results->transports; transport++) {
        fprintf(out, "$t%zu << END\n", transport);
        for (size_t size = 0; size < results->sizes; size++)
            write_point(out, results, size, transport);
        fputs("END\n", out);
    }
}

/* Sizes as in the table; where they are many, only some. */
static void write_tics(FILE *out, const struct results *results)
{
    size_t step = (results->sizes - 1) / MOST_TICS + 1;
    char text[QUANTITY_ROOM];

    for (size_t i = 0; i < results->sizes; i += step) {
        uint64_t size = results_run(results, i, 0, 0)->size;

        quantity_bytes(text, size);
        fprintf(out, "%s'%s' %" PRIu64, i == 0 ? "set xtics (" : ", ", text, size);
    }
    fputs(")\n", out);
}

/* In gnuplot's quotes, where a quote is two. */
static void write_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text != '\0'; text++)
        fputs(*text == '\'' ? "''" : (char[]){*text, '\0'}, out);
    fputc('\'', out);
}

static void write_plot(FILE *out, const struct results *results)
{
    for (size_t i = 0; i < results->transports; i++) {
        fprintf(out, "%s$t%zu using 1:2 with linespoints lw 2 lc %zu pt 7 ps 0.6 title '%s'",
                i == 0 ? "plot " : ", ", i, i + 1, results_run(results, 0, 0, i)->transport);
        fprintf(out, ", $t%zu using 1:2:3:4 with yerrorbars lc %zu pt -1 notitle", i, i + 1);
    }
    fputc('\n', out);
}

int plot_write(const char *path, const struct results *results)
{
    FILE *gnuplot = popen("gnuplot 2>/dev/null", "we");

    if (gnuplot == NULL)
        return complain("cannot run gnuplot: %s", strerror(errno));
    fputs(scene, gnuplot);
    fprintf(gnuplot, "set ylabel '%s'\nset output ",
            results_are_round_trips(results) ? "round trip, us" : "throughput, Gbit/s");
    write_quoted(gnuplot, path);
    fputc('\n', gnuplot);
    write_tics(gnuplot, results);
    write_data(gnuplot, results);
    write_plot(gnuplot, results);
    if (pclose(gnuplot) == 0)
        return 0;
    return complain("gnuplot cannot draw '%s'", path);
}
