#include "lines.h"

#include "common/complain.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[BOARD_STATS] = {
#define NAME(name, text) #name,
    ZCRP_STATS(NAME)
#undef NAME
};

const char *lines_stat_name(size_t stat)
{
    return names[stat];
}

/* ---- one entity ---- */

/* Rows are written now and then. The time between two writings is what counts, unless the entity
 * has been quiet for a while: then its counts are those of the samples' time, too. */
static double seconds_between(const struct seen *before, const struct seen *now, int64_t step_ns)
{
    int64_t written = now->written_ns - (before != NULL ? before->written_ns : now->opened_ns);
    bool is_steady = before == NULL || (written >= step_ns / 2 && written <= 2 * step_ns);
    int64_t ns = is_steady ? written : step_ns;

    return ns > 0 ? (double)ns / 1e9 : 0;
}

double lines_rate(const struct seen *before, const struct seen *now, size_t stat, int64_t step_ns)
{
    uint64_t from = before != NULL ? before->stats[stat] : 0;
    double seconds = seconds_between(before, now, step_ns);

    if (now->stats[stat] <= from || seconds <= 0)
        return 0;
    return (double)(now->stats[stat] - from) / seconds;
}

static double sum_of_drops(const struct seen *seen)
{
    double sum = 0;

    for (size_t i = 0; i < BOARD_STATS; i++)
        if (strncmp(names[i], "drop_", 5) == 0)
            sum += (double)seen->stats[i];
    return sum;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void add(struct line *line, const struct seen *before, const struct seen *now,
                const struct sample *at, int64_t step_ns)
{
    bool sends = now->kind == BOARD_SENDER;
    double bytes = lines_rate(before, now, LINE_STAT_bytes_arrived, step_ns);
    double units = lines_rate(before, now, LINE_STAT_units, step_ns);
    bool has_keys = (now->flags & BOARD_KEYS) != 0;

    line->has_keys = has_keys && (line->entities == 0 || line->has_keys);
    line->is_mixed |= now->channel != line->first->channel;
    line->entities++;
    line->ways |= sends ? LINE_OUT : LINE_IN;
    line->out_bytes += sends ? bytes : 0;
    line->in_bytes += sends ? 0 : bytes;
    line->messages += lines_rate(before, now, LINE_STAT_messages, step_ns);
    line->units += units;
    line->units_out += sends ? units : 0;
    line->units_again += lines_rate(before, now, LINE_STAT_units_repeated, step_ns);
    line->round_trip_ns =
        larger(line->round_trip_ns, (double)now->stats[LINE_STAT_rtt_smoothed_ns]);
    line->pace += (double)now->stats[LINE_STAT_rate_bytes_per_s];
    line->dropped += sum_of_drops(now);
    line->failed += (double)now->stats[LINE_STAT_messages_failed];
    line->total_bytes += (double)now->stats[LINE_STAT_bytes_arrived];
    line->age_s = larger(line->age_s, (double)(at->at_ns - now->opened_ns) / 1e9);
}

/* ---- all of them ---- */

static int compare_peers(const void *one, const void *other)
{
    const struct seen *a = *(const struct seen *const *)one;
    const struct seen *b = *(const struct seen *const *)other;

    if (a->folder != b->folder)
        return a->folder < b->folder ? -1 : 1;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return strcmp(a->peer, b->peer);
}

static int compare_rates(const void *one, const void *other)
{
    const struct line *a = one, *b = other;
    double rate_a = a->out_bytes + a->in_bytes, rate_b = b->out_bytes + b->in_bytes;

    if (rate_a > rate_b || rate_a < rate_b)
        return rate_a > rate_b ? -1 : 1;
    int order = compare_peers(&a->first, &b->first);
    if (order != 0)
        return order;
    return (a->first->number > b->first->number) - (a->first->number < b->first->number);
}

int lines_make(struct lines *lines, const struct sample *before, const struct sample *now,
               bool wants_entities)
{
    const struct seen **order = calloc(now->count + 1, sizeof(*order));

    *lines = (struct lines){.line = calloc(now->count + 1, sizeof *lines->line)};
    if (order == NULL || lines->line == NULL) {
        free(order);
        lines_fini(lines);
        return complain("no memory for %zu lines", now->count);
    }
    for (size_t i = 0; i < now->count; i++)
        order[i] = &now->seen[i];
    qsort(order, now->count, sizeof(*order), compare_peers);
    struct line *line = NULL;
    for (size_t i = 0; i < now->count; i++) {
        if (line == NULL || wants_entities || compare_peers(&line->first, &order[i]) != 0) {
            line = &lines->line[lines->count++];
            *line = (struct line){.first = order[i]};
        }
        add(line, sample_find(before, order[i]), order[i], now, now->at_ns - before->at_ns);
    }
    for (size_t i = 0; i < lines->count; i++) {
        lines->out_bytes += lines->line[i].out_bytes;
        lines->in_bytes += lines->line[i].in_bytes;
    }
    qsort(lines->line, lines->count, sizeof *lines->line, compare_rates);
    free(order);
    return 0;
}

void lines_fini(struct lines *lines)
{
    free(lines->line);
    *lines = (struct lines){0};
}
