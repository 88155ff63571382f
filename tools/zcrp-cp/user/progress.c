#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/quantity.h"
#include "location.h"
#include "zcrp.h"

enum { BYTES_ROOM = QUANTITY_ROOM + 2, OCTAL_ROOM = 5, CONTROLS_END = 0xa0 };

static const int64_t second_ns = 1000000000, draw_ns = 200000000;

/* ---- names and texts of strangers ---- */

/* Characters that turn the direction of a line (Bidi_Control of Unicode 14), that show nothing
 * (Default_Ignorable_Code_Point), or that end a line. */
static bool is_unseen(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x00ad, 0x00ad},   {0x034f, 0x034f}, {0x061c, 0x061c},   {0x115f, 0x1160},
        {0x17b4, 0x17b5},   {0x180b, 0x180f}, {0x200b, 0x200f},   {0x2028, 0x202e},
        {0x2060, 0x206f},   {0x3164, 0x3164}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
        {0xffa0, 0xffa0},   {0xfff0, 0xfff8}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
        {0xe0000, 0xe0fff},
    };

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

/* The bytes of the character of UTF-8 at `at` (RFC 3629), or 0: it is none, a control, or unseen.
 */
static size_t character_bytes(const uint8_t *at, size_t left)
{
    static const struct {
        uint8_t mask, lead;
        uint32_t least;
    } forms[] = {
        {0x80, 0x00, 0x20}, {0xe0, 0xc0, CONTROLS_END}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

    for (size_t bytes = 1; bytes <= 4 && bytes <= left; bytes++) {
        if ((at[0] & forms[bytes - 1].mask) != forms[bytes - 1].lead)
            continue;
        uint32_t code = at[0] & (uint8_t)~forms[bytes - 1].mask;
        for (size_t i = 1; i < bytes; i++) {
            if ((at[i] & 0xc0) != 0x80)
                return 0;
            code = code << 6 | (at[i] & 0x3f);
        }
        bool is_good = code >= forms[bytes - 1].least && code <= 0x10ffff && code != 0x7f &&
                       code != '\\' && (code < 0xd800 || code > 0xdfff) && !is_unseen(code);
        return is_good ? bytes : 0;
    }
    return 0;
}

const char *escape(char *out, size_t room, struct text text)
{
    const uint8_t *bytes = (const uint8_t *)text.bytes;
    size_t length = 0;

    for (size_t i = 0; i < text.length;) {
        size_t count = character_bytes(bytes + i, text.length - i);
        size_t needed = count > 0 ? count : OCTAL_ROOM - 1;

        if (length + needed >= room)
            break;
        if (count > 0)
            memcpy(out + length, bytes + i, count);
        else
            (void)snprintf(out + length, OCTAL_ROOM, "\\%03o", bytes[i]);
        length += needed;
        i += count > 0 ? count : 1;
    }
    out[length] = '\0';
    return out;
}

/* ---- counting ---- */

double progress_seconds(const struct progress *progress)
{
    double seconds = (double)(line_now_ns() - progress->start_ns) / (double)second_ns;

    return seconds > 1e-6 ? seconds : 1e-6;
}

void progress_start(struct progress *progress)
{
    progress->start_ns = progress->told_ns = line_now_ns();
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
    int64_t now = line_now_ns();

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
