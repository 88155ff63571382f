#include "summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/complain.h"
#include "common/quantity.h"

static const char *const way[ENDS] = {"A to B", "B to A"};
static const char *const key[ENDS] = {"a_to_b", "b_to_a"};

/* Microseconds of each of `count`. */
static double mean_us(duration sum, uint64_t count)
{
    return count == 0 ? 0 : (double)sum / (double)count / 1e3;
}

static double us(duration length)
{
    return (double)length / 1e3;
}

/* Packets that came out of the transmitter, lost or not. */
static uint64_t sent(const struct path_counts *c)
{
    return c->entered - c->dropped;
}

static void tell_count(const char *name, uint64_t count)
{
    if (count > 0)
        fprintf(stderr, ", %" PRIu64 " %s", count, name);
}

static void tell_way(const struct relay *relay, int end)
{
    const struct path_counts *c = &relay->path[end].counts;
    char bytes[QUANTITY_ROOM];

    if (c->entered_bytes < 1000)
        snprintf(bytes, sizeof bytes, "%" PRIu64 " ", c->entered_bytes);
    else
        quantity_figure(bytes, (double)c->entered_bytes);
    fprintf(stderr, "zcrp-link: %s: %" PRIu64 " packets, %sB: %" PRIu64 " arrived", way[end],
            c->entered, bytes, c->left);
    tell_count("dropped by the queue", c->dropped);
    tell_count("lost", c->lost);
    tell_count("corrupted", c->corrupted);
    tell_count("doubled", c->duplicated);
    tell_count("held back", c->reordered);
    tell_count("refused", relay->refused[end]);
    fprintf(stderr, "; %.0f us in the queue (at most %.0f), %.0f us late (at most %.0f)\n",
            mean_us(c->queued, sent(c)), us(c->queued_most), mean_us(c->late, c->left),
            us(c->late_most));
}

static void write_way(FILE *out, const struct relay *relay, int end)
{
    const struct path_counts *c = &relay->path[end].counts;
    const struct {
        const char *name;
        uint64_t value;
    } count[] = {
        {"packets", c->entered},      {"bytes", c->entered_bytes},
        {"dropped", c->dropped},      {"lost", c->lost},
        {"corrupted", c->corrupted},  {"duplicated", c->duplicated},
        {"reordered", c->reordered},  {"refused", relay->refused[end]},
        {"arrived_packets", c->left}, {"arrived_bytes", c->left_bytes},
    };

    fprintf(out, ",\n  \"%s\": {", key[end]);
    for (size_t i = 0; i < sizeof count / sizeof *count; i++)
        fprintf(out, "\"%s\": %" PRIu64 ", ", count[i].name, count[i].value);
    fprintf(out, "\"queue_us\": %.3f, \"queue_most_us\": %.3f", mean_us(c->queued, sent(c)),
            us(c->queued_most));
    fprintf(out, ", \"late_us\": %.3f, \"late_most_us\": %.3f}", mean_us(c->late, c->left),
            us(c->late_most));
}

/* null: it was not over when the run was. */
static void write_status(FILE *out, const char *name, const struct commands *commands, int end)
{
    if (commands->is_over[end])
        fprintf(out, ", \"%s\": %d", name, commands->status[end]);
    else
        fprintf(out, ", \"%s\": null", name);
}

static int write_json(const char *path, const struct options *options, const struct relay *relay,
                      const struct commands *commands)
{
    FILE *out = fopen(path, "we");

    if (out == NULL)
        return complain("cannot write %s: %s", path, strerror(errno));
    fprintf(out, "{\"seed\": %" PRIu64 ", \"mtu\": %" PRIu64, options->seed, options->mtu);
    write_status(out, "status_a", commands, END_A);
    write_status(out, "status_b", commands, END_B);
    for (int end = 0; end < ENDS; end++)
        write_way(out, relay, end);
    fputs("\n}\n", out);
    bool is_bad = fflush(out) != 0 || ferror(out) != 0;
    int error = errno;
    is_bad = fclose(out) != 0 || is_bad;
    return is_bad ? complain("cannot write %s: %s", path, strerror(error)) : 0;
}

int summary_check(const struct options *options)
{
    if (options->json == NULL)
        return 0;
    FILE *out = fopen(options->json, "ae");
    if (out == NULL)
        return complain("cannot write %s: %s", options->json, strerror(errno));
    fclose(out);
    return 0;
}

int summary_tell(const struct options *options, const struct relay *relay,
                 const struct commands *commands)
{
    if (!options->is_quiet) {
        for (int end = 0; end < ENDS; end++)
            tell_way(relay, end);
        fprintf(stderr, "zcrp-link: seed %" PRIu64 "\n", options->seed);
    }
    return options->json == NULL ? 0 : write_json(options->json, options, relay, commands);
}
