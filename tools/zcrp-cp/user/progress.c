#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/character.h"
#include "common/clock.h"
#include "common/quantity.h"
#include "location.h"
#include "zcrp.h"

enum { BYTES_ROOM = QUANTITY_ROOM + 2, OCTAL_ROOM = 5 };

static const int64_t second_ns = 1000000000, draw_ns = 200000000;

/* ---- names and texts of strangers ---- */

const char *escape(char *out, size_t room, struct text text)
{
    size_t length = 0;

    for (size_t i = 0; i < text.length;) {
        bool is_plain = text.bytes[i] != '\\';
        size_t count = is_plain ? character_shown(text.bytes + i, text.length - i) : 0;
        size_t needed = count > 0 ? count : OCTAL_ROOM - 1;

        if (length + needed >= room)
            break;
        if (count > 0)
            memcpy(out + length, text.bytes + i, count);
        else
            (void)snprintf(out + length, OCTAL_ROOM, "\\%03o", (uint8_t)text.bytes[i]);
        length += needed;
        i += count > 0 ? count : 1;
    }
    out[length] = '\0';
    return out;
}

/* ---- counting ---- */

double progress_seconds(const struct progress *progress)
{
    double seconds = (double)(clock_now_ns() - progress->start_ns) / (double)second_ns;

    return seconds > 1e-6 ? seconds : 1e-6;
}

void progress_start(struct progress *progress)
{
    progress->start_ns = progress->told_ns = clock_now_ns();
    progress->is_terminal = !progress->is_quiet && !progress->only_counts && isatty(STDERR_FILENO);
}

void progress_found(struct progress *progress, const struct list_entry *entry)
{
    if (progress == NULL)
        return;
    progress->bytes += entry->size;
}

void progress_found_all(struct progress *progress)
{
    if (progress != NULL)
        progress->knows_total = true;
}

void progress_moved(struct progress *progress, uint64_t bytes)
{
    if (progress != NULL)
        progress->moved += bytes;
}

/* ---- the line ---- */

static void wipe(struct progress *progress)
{
    if (progress->is_drawn)
        fputs("\r\033[K", stderr);
    progress->is_drawn = false;
}

static void print_left(const struct progress *progress, uint64_t done, double rate)
{
    double left = rate > 0 ? (double)(progress->bytes - done) / rate : 0;

    if (progress->knows_total && rate > 0 && left < 100 * 3600)
        fprintf(stderr, ", %d:%02d left", (int)left / 60, (int)left % 60);
}

/* "12.3 MB", "5.00 B" */
static void write_bytes(char out[BYTES_ROOM], double bytes)
{
    char figure[QUANTITY_ROOM];

    quantity_figure(figure, bytes);
    (void)snprintf(out, BYTES_ROOM, "%s%sB", figure, strchr(figure, ' ') != NULL ? "" : " ");
}

static void draw(struct progress *progress)
{
    char total[BYTES_ROOM], so_far[BYTES_ROOM], each[BYTES_ROOM];
    uint64_t done = progress->moved + progress->settled;
    double rate = (double)progress->moved / progress_seconds(progress);

    done = done < progress->bytes ? done : progress->bytes;
    write_bytes(total, (double)progress->bytes);
    write_bytes(so_far, (double)done);
    write_bytes(each, rate);
    fprintf(stderr, "\r\033[K%s of %s%s, ", so_far, total, progress->knows_total ? "" : " or more");
    if (progress->bytes > 0)
        fprintf(stderr, "%d %%, ", (int)(100.0 * (double)done / (double)progress->bytes));
    fprintf(stderr, "%s/s", each);
    print_left(progress, done, rate);
    fflush(stderr);
    progress->is_drawn = true;
}

/* ---- statistics ---- */

void progress_keep(struct progress *progress)
{
    struct zcrp_stats stats;
    const struct line *line = progress->line;

    if (line != NULL && line->connection != NULL &&
        zcrp_stats(progress->is_source ? line->sender : line->receiver, &stats) == 0)
        progress->crossed = stats.bytes_arrived;
}

static void tell(struct progress *progress)
{
    progress_keep(progress);
    printf("{\"copied\": %" PRIu64 ", \"skipped\": %" PRIu64 ", \"failed\": %" PRIu64
           ", \"bytes\": %" PRIu64 ", \"moved\": %" PRIu64 ", \"crossed\": %" PRIu64
           ", \"seconds\": %.3f}\n",
           progress->copied, progress->skipped, progress->failed, progress->bytes, progress->moved,
           progress->crossed, progress_seconds(progress));
    fflush(stdout);
}

void progress_tick(void *context)
{
    struct progress *progress = context;
    int64_t now = clock_now_ns();

    if (progress->is_terminal && now - progress->drawn_ns >= draw_ns) {
        progress->drawn_ns = now;
        draw(progress);
    }
    if (progress->wants_stats && progress->interval_ns > 0 &&
        now - progress->told_ns >= progress->interval_ns) {
        progress->told_ns = now;
        tell(progress);
    }
}

void progress_end(struct progress *progress)
{
    wipe(progress);
    if (progress->wants_stats)
        tell(progress);
}

/* ---- outcomes ---- */

static void print_outcome(const struct progress *progress, struct text path, enum outcome outcome,
                          struct text error)
{
    char called[NAMED_ROOM], shown[ESCAPED_ROOM], text[4 * TEXT_MOST + 1];

    if (outcome == OUTCOME_FAILED && error.length == 0)
        return;
    if (outcome == OUTCOME_FAILED) {
        path = location_call(progress->words, progress->word_count, path, called);
        fprintf(stderr, "zcrp-cp: %s: %s\n", escape(shown, sizeof(shown), path),
                escape(text, sizeof(text), error));
    } else if (progress->is_verbose || (progress->is_dry_run && outcome == OUTCOME_COPIED)) {
        printf("%s%s\n", escape(shown, sizeof(shown), path),
               outcome == OUTCOME_SKIPPED ? ": is there already" : "");
    }
}

void progress_outcome(struct progress *progress, struct text path, enum outcome outcome,
                      struct text error, uint64_t bytes)
{
    if (progress == NULL)
        return;
    progress->copied += outcome == OUTCOME_COPIED;
    progress->skipped += outcome == OUTCOME_SKIPPED;
    progress->failed += outcome == OUTCOME_FAILED;
    progress->settled += bytes;
    if (progress->only_counts)
        return;
    wipe(progress);
    print_outcome(progress, path, outcome, error);
}
