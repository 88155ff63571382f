#include "details.h"

#include <stdio.h>

#include "common/quantity.h"
#include "progress.h"
#include "report.h"

enum { NAME_WIDTH = 26, FIGURE_WIDTH = 12 };

static void figure(double value)
{
    char text[QUANTITY_ROOM];

    quantity_figure(text, value);
    printf("  %*s", FIGURE_WIDTH, text);
}

static void both(const char *name, uint64_t sender, uint64_t receiver, const char *text)
{
    printf("  %-*s  %*llu  %*llu  %s\n", NAME_WIDTH, name, FIGURE_WIDTH, (unsigned long long)sender,
           FIGURE_WIDTH, (unsigned long long)receiver, text);
}

static void one(const char *name, double value, const char *text)
{
    printf("  %-*s", NAME_WIDTH, name);
    figure(value);
    printf("  %*s  %s\n", FIGURE_WIDTH, "", text);
}

/* Counts of zero at both ends are passed over. */
static void write_stats(const struct run *run)
{
    for (unsigned i = 0; i < COUNTS; i++) {
        uint64_t sender = run->sender_counts.value[i];
        uint64_t receiver = run->receiver_counts.value[i];

        if (sender != 0 || receiver != 0)
            both(counts_name((enum count)i), sender, receiver, counts_text((enum count)i));
    }
    one("system_calls_per_gb", run_system_calls_per_gb(run), "both ends, on the channel");
    one("acknowledgements_per_burst", run_acknowledgements_per_burst(run), "receiver's");
}

void details_write(const struct options *options, const struct run *run, size_t repeat)
{
    bool has_stats = options->wants_stats && run->receiver_counts.is_known;
    char size[QUANTITY_ROOM];

    if (!report_has_output(options) || !has_stats)
        return;
    progress_clear();
    quantity_bytes(size, run->size);
    printf("%s, messages of %s, measurement %zu\n", run->transport, size, repeat + 1);
    printf("  %-*s  %*s  %*s\n", NAME_WIDTH, "", FIGURE_WIDTH, "sender", FIGURE_WIDTH, "receiver");
    write_stats(run);
    printf("\n");
}
