#include "table.h"

#include "common/quantity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CELL = 72, GAP = 2, TEXT_MOST = TABLE_WIDTH_MOST + 1 };

/* ---- cells ---- */

/* "1.23M" */
static void rate(char cell[CELL], double value)
{
    char text[QUANTITY_ROOM];
    char *to = cell;

    quantity_figure(text, value);
    for (const char *from = value > 0 ? text : "0"; *from != '\0'; from++)
        if (*from != ' ')
            *to++ = *from;
    *to = '\0';
}

static void seconds(char cell[CELL], double value)
{
    static const struct {
        double from, unit;
        const char *name;
    } units[] = {{86400, 86400, "d"}, {3600, 3600, "h"},  {60, 60, "m"},
                 {1, 1, "s"},         {1e-3, 1e-3, "ms"}, {0, 1e-6, "us"}};
    size_t i = 0;

    while (value < units[i].from)
        i++;
    (void)snprintf(cell, CELL, value / units[i].unit < 9.95 ? "%.1f%s" : "%.0f%s",
                   value / units[i].unit, units[i].name);
}

static const char *channel_text(const struct seen *seen)
{
    static const char *const names[] = {[BOARD_UDP] = "udp",
                                        [BOARD_AAL5] = "aal5",
                                        [BOARD_MEMORY] = "memory",
                                        [BOARD_UNIX] = "unix"};

    return seen->channel < sizeof names / sizeof *names ? names[seen->channel] : "?";
}

/* ---- columns ---- */

enum column_kind { PID, PROGRAM, PEER, WAY, CHANNEL, KEYS, AGAIN, RATE, PACE, ROUND_TRIP, AGE };

/* Where there is no room, those with the highest number go first; 0: never. */
static const struct column {
    const char *title;
    int dispensable;
    enum column_kind kind;
    size_t place; /* of a rate, in struct line */
} columns[] = {
    {"PID", 2, PID, 0},
    {"PROGRAM", 4, PROGRAM, 0},
    {"PEER", 0, PEER, 0},
    {"WAY", 6, WAY, 0},
    {"CHANNEL", 5, CHANNEL, 0},
    {"KEYS", 9, KEYS, 0},
    {"OUT B/s", 0, RATE, offsetof(struct line, out_bytes)},
    {"IN B/s", 0, RATE, offsetof(struct line, in_bytes)},
    {"MSG/s", 3, RATE, offsetof(struct line, messages)},
    {"UNITS/s", 11, RATE, offsetof(struct line, units)},
    {"AGAIN", 7, AGAIN, 0},
    {"RTT", 1, ROUND_TRIP, 0},
    {"PACE B/s", 12, PACE, 0},
    {"DROPS", 10, RATE, offsetof(struct line, dropped)},
    {"FAILED", 8, RATE, offsetof(struct line, failed)},
    {"TOTAL B", 13, RATE, offsetof(struct line, total_bytes)},
    {"AGE", 9, AGE, 0},
};

static bool is_text(const struct column *column)
{
    return column->kind >= PROGRAM && column->kind <= KEYS;
}

static const char *text_of(const struct column *column, const struct line *line)
{
    switch (column->kind) {
    case PROGRAM:
        return line->first->program;
    case PEER:
        return line->first->peer;
    case WAY:
        return line->ways == LINE_OUT ? "out" : line->ways == LINE_IN ? "in" : "both";
    case CHANNEL:
        return line->is_mixed ? "several" : channel_text(line->first);
    case KEYS:
        return line->has_keys ? "yes" : "no";
    case PID:
    case AGAIN:
    case RATE:
    case PACE:
    case ROUND_TRIP:
    case AGE:
        break;
    }
    return "-"; /* not known */
}

static void write_cell(char cell[CELL], const struct column *column, const struct line *line)
{
    if (column->kind == PID)
        (void)snprintf(cell, CELL, "%ld", (long)line->first->pid);
    else if (column->kind == AGAIN && line->units_out > 0)
        (void)snprintf(cell, CELL, "%.2f%%", 100 * line->units_again / line->units_out);
    else if (column->kind == RATE)
        rate(cell, *(const double *)((const char *)line + column->place));
    else if (column->kind == PACE && line->pace > 0)
        rate(cell, line->pace);
    else if (column->kind == ROUND_TRIP && line->round_trip_ns > 0)
        seconds(cell, line->round_trip_ns / 1e9);
    else if (column->kind == AGE)
        seconds(cell, line->age_s);
    else
        (void)snprintf(cell, CELL, "%s", text_of(column, line));
}

enum { COLUMNS = sizeof columns / sizeof *columns };

struct layout {
    size_t width[COLUMNS]; /* 0: left out */
};

static size_t width_of(const struct layout *layout)
{
    size_t width = 0;

    for (size_t i = 0; i < COLUMNS; i++)
        width += layout->width[i] > 0 ? layout->width[i] + GAP : 0;
    return width > 0 ? width - GAP : 0;
}

/* The column that goes first, or COLUMNS. */
static size_t least_important(const struct layout *layout)
{
    size_t found = COLUMNS;

    for (size_t i = 0; i < COLUMNS; i++)
        if (layout->width[i] > 0 && columns[i].dispensable > 0 &&
            (found == COLUMNS || columns[i].dispensable > columns[found].dispensable))
            found = i;
    return found;
}

static void lay_out(struct layout *layout, const struct lines *lines, size_t rows, size_t width)
{
    char cell[CELL];
    size_t gone;

    for (size_t i = 0; i < COLUMNS; i++) {
        layout->width[i] = strlen(columns[i].title);
        for (size_t row = 0; row < rows; row++) {
            write_cell(cell, &columns[i], &lines->line[row]);
            if (strlen(cell) > layout->width[i])
                layout->width[i] = strlen(cell);
        }
    }
    while (width_of(layout) > width && (gone = least_important(layout)) < COLUMNS)
        layout->width[gone] = 0;
}

/* ---- text ---- */

/* A line of text, as it grows. */
struct text {
    char bytes[TEXT_MOST];
    size_t length, most;
};

__attribute__((format(printf, 2, 3))) static void append(struct text *text, const char *format, ...)
{
    char more[TEXT_MOST];
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(more, sizeof more, format, arguments);
    va_end(arguments);
    for (int i = 0; i < length && more[i] != '\0' && text->length < text->most; i++)
        text->bytes[text->length++] = more[i];
}

/* Without the blanks at its end. */
static void print(FILE *out, const struct table_shape *shape, struct text *text)
{
    while (text->length > 0 && text->bytes[text->length - 1] == ' ')
        text->length--;
    fprintf(out, "%.*s%s", (int)text->length, text->bytes, shape->end);
    text->length = 0;
}

static struct text empty_text(const struct table_shape *shape)
{
    return (struct text){.most = shape->width < TEXT_MOST ? shape->width : TEXT_MOST - 1};
}

/* A row of the table; of NULL the titles. */
static void print_row(FILE *out, const struct table_shape *shape, const struct layout *layout,
                      const struct line *line)
{
    struct text text = empty_text(shape);
    char cell[CELL];

    for (size_t i = 0; i < COLUMNS; i++) {
        int width = (int)layout->width[i];
        if (width == 0)
            continue;
        if (line != NULL)
            write_cell(cell, &columns[i], line);
        else
            strcpy(cell, columns[i].title);
        append(&text, is_text(&columns[i]) ? "%s%-*s" : "%s%*s", text.length > 0 ? "  " : "", width,
               cell);
    }
    print(out, shape, &text);
}

static void append_count(struct text *text, uint64_t count, const char *one, const char *many)
{
    append(text, "%" PRIu64 " %s", count, count == 1 ? one : many);
}

static void print_head(FILE *out, const struct table_shape *shape, const struct sample *sample,
                       const struct lines *lines)
{
    struct text text = empty_text(shape);
    char cell[CELL], date[CELL] = "";
    time_t now = time(NULL);
    struct tm local;

    if (localtime_r(&now, &local) != NULL)
        (void)strftime(date, sizeof date, "%H:%M:%S", &local);
    append(&text, "zcrp-top %s   ", date);
    append_count(&text, sample->processes, "process", "processes");
    append(&text, ", ");
    append_count(&text, sample->count, "entity", "entities");
    rate(cell, lines->out_bytes);
    append(&text, "   out %sB/s", cell);
    rate(cell, lines->in_bytes);
    append(&text, "   in %sB/s", cell);
    if (sample->left_out > 0)
        append(&text, "   %" PRIu64 " more not shown", sample->left_out);
    print(out, shape, &text);
}

void table_write(FILE *out, const struct table_shape *shape, const struct sample *sample,
                 const struct lines *lines)
{
    size_t room = shape->rows > 3 ? shape->rows - 3 : 1;
    size_t rows = lines->count < room ? lines->count : room;
    struct text none = empty_text(shape);
    struct layout layout;

    lay_out(&layout, lines, rows, shape->width);
    print_head(out, shape, sample, lines);
    print(out, shape, &none);
    print_row(out, shape, &layout, NULL);
    for (size_t i = 0; i < rows; i++)
        print_row(out, shape, &layout, &lines->line[i]);
}

void table_explain(FILE *out, const struct table_shape *shape, const struct folders *folders)
{
    static const char *const words[] = {
        "A program offers statistics if ZCRP_STATS=1 is in its environment:", "",
        "    ZCRP_STATS=1 zcrp-bench --size 1M --duration 30"};
    struct text text = empty_text(shape);
    char path[PATH_MAX];

    for (size_t i = 0; i < folders->count; i++) {
        int fd = board_folder(folders->where[i], false, path);
        if (fd >= 0)
            (void)close(fd);
        if (fd >= 0 || errno == ENOENT) /* the first program makes it */
            append(&text, "No program offers statistics in %s.", path);
        else
            append(&text, "%s cannot be looked into: %s.", path, strerror(errno));
        print(out, shape, &text);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        append(&text, "%s", words[i]);
        print(out, shape, &text);
    }
}

/* ---- JSON ---- */

/* Texts are printable; two characters need an escape. */
static void write_string(FILE *out, const char *key, const char *text)
{
    fprintf(out, ", \"%s\": \"", key);
    for (; *text != '\0'; text++)
        fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    fputc('"', out);
}

static void write_entity(FILE *out, const struct sample *before, const struct sample *sample,
                         const struct seen *seen)
{
    const struct seen *earlier = sample_find(before, seen);
    int64_t step = sample->at_ns - before->at_ns;

    fprintf(out, "{\"pid\": %ld, \"entity\": %" PRIu64, (long)seen->pid, seen->number);
    write_string(out, "program", seen->program);
    write_string(out, "peer", seen->peer);
    write_string(out, "kind", seen->kind == BOARD_SENDER ? "sender" : "receiver");
    write_string(out, "channel", channel_text(seen));
    fprintf(out, ", \"keys\": %s", seen->flags & BOARD_KEYS ? "true" : "false");
    fprintf(out, ", \"connection\": %s", seen->flags & BOARD_HALF ? "true" : "false");
    fprintf(out, ", \"age_s\": %.3f", (double)(sample->at_ns - seen->opened_ns) / 1e9);
    fprintf(out, ", \"bytes_per_s\": %.6g",
            lines_rate(earlier, seen, LINE_STAT_bytes_arrived, step));
    fprintf(out, ", \"messages_per_s\": %.6g, \"stats\": {",
            lines_rate(earlier, seen, LINE_STAT_messages, step));
    for (size_t i = 0; i < BOARD_STATS; i++)
        fprintf(out, "%s\"%s\": %" PRIu64, i > 0 ? ", " : "", lines_stat_name(i), seen->stats[i]);
    fputs("}}", out);
}

void table_write_json(FILE *out, const struct sample *before, const struct sample *sample)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    fprintf(out, "{\"time\": %.3f", (double)now.tv_sec + (double)now.tv_nsec / 1e9);
    fprintf(out, ", \"processes\": %" PRIu64 ", \"left_out\": %" PRIu64 ", \"entities\": [",
            sample->processes, sample->left_out);
    for (size_t i = 0; i < sample->count; i++) {
        fputs(i > 0 ? ", " : "", out);
        write_entity(out, before, sample, &sample->seen[i]);
    }
    fputs("]}\n", out);
}
