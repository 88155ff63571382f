/* The lines of a table: what happened between two samples, for each entity, or for each process and
 * peer. An entity that was not in the earlier sample is compared with its own beginning. */
#ifndef TOP_LINES_H
#define TOP_LINES_H

#include "sample.h"

enum { LINE_OUT = 1, LINE_IN = 2 };

/* Rates are a second's. */
struct line {
    const struct seen *first; /* one of its entities: process, program, peer */
    size_t entities;
    unsigned ways;          /* LINE_OUT: some of them send, LINE_IN: some receive */
    bool has_keys;          /* each of them */
    bool is_mixed;          /* they have several channels; else that of `first` */
    double out_bytes;       /* that were acknowledged */
    double in_bytes;        /* that were received */
    double messages;        /* that ended well */
    double units;           /* sent or received */
    double units_again;     /* of these, sent again; */
    double units_out;       /* sent at all */
    double round_trip_ns;   /* the longest; 0: not known */
    double pace;            /* bytes a second that bursts are paced at; 0: not paced */
    double dropped, failed; /* datagrams and messages, since they were opened */
    double total_bytes;     /* since they were opened */
    double age_s;           /* of the oldest */
};

struct lines {
    struct line *line; /* the fastest first */
    size_t count;
    double out_bytes, in_bytes; /* the sums of their rates */
};

/* Makes the lines from two samples, which stay as they are until lines_fini; `before` may be empty.
 * 0, or -1 with a complaint: no memory. */
__attribute__((warn_unused_result)) int lines_make(struct lines *lines, const struct sample *before,
                                                   const struct sample *now, bool wants_entities);
void lines_fini(struct lines *lines);

/* What an entity did a second, of a statistic that counts. `before` is it in the earlier sample, or
 * NULL; that sample was `step_ns` before. */
double lines_rate(const struct seen *before, const struct seen *now, size_t stat, int64_t step_ns);

/* The name of a statistic, and its number. */
const char *lines_stat_name(size_t stat);
enum line_stat {
#define LINE_STAT(name, text) LINE_STAT_##name,
    ZCRP_STATS(LINE_STAT)
#undef LINE_STAT
};

#endif
