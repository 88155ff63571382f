/* The control connection between the two ends: lines of text, "verb arguments", one answer to each
 * question. The connecting end asks, the listening end answers.
 *
 *      connecting end                  listening end
 *      zcrp-bench 13                   zcrp-bench 13
 *      settings, and their numbers     settled
 *      open | back TRANSPORT           opened PORT      (once for each flow)
 *      connected PORT                  open
 *      measure, and an order (job.h)   ready
 *      more, and a flow's count, any number
 *                                      result, and a record (record.h)
 *      measure, over a way back        ready
 *      go                              more, any number
 *                                      result
 *      measure, of round trips         ready
 *                                      result
 *      bye
 *
 * An end that fails says "failed REASON" instead of what it should have said, and hangs up. */
#ifndef BENCH_CONTROL_H
#define BENCH_CONTROL_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { CONTROL_LINE = 512, CONTROL_NUMBERS = 512, WORD_BYTES = 8 };

struct control {
    int fd;
    char line[CONTROL_LINE]; /* the last line that came, without its newline */
};

/* Takes over a connection, and greets: each end says who it is and hears the other within limit_ns.
 * 0, or -1 with a complaint; then the connection is closed. */
int control_init(struct control *control, int fd, int64_t limit_ns);

void control_fini(struct control *control);

/* Says a line; the newline is added. 0, or -1 with a complaint. */
int control_say(struct control *control, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Waits for the next line, and leaves it in control->line. 0, or -1 with a complaint when the other
 * end is gone or says that it failed. */
int control_hear(struct control *control);

/* The arguments of the last line, if it starts with `verb`; else NULL. */
const char *control_arguments(const struct control *control, const char *verb);

/* control_hear, and the arguments of `verb`, the only line that is expected; NULL with a complaint
 * if anything else comes. */
const char *control_expect(struct control *control, const char *verb);

/* A line with this verb, and numbers in bulk behind it: a struct of uint64_t of at most
 * CONTROL_NUMBERS. `hear` takes those behind the last line, `expect` waits for the line, too. 0, or
 * -1 with a complaint. */
int control_say_numbers(struct control *control, const char *verb, const void *numbers,
                        size_t size);
int control_hear_numbers(struct control *control, void *numbers, size_t size);
int control_expect_numbers(struct control *control, const char *verb, void *numbers, size_t size);

/* Eight bytes as a number, low byte first, whatever the machine; so that content is the same at
 * both ends. */
static inline uint64_t word_load(const uint8_t *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
    return le64toh(word);
}

static inline void word_store(uint8_t *at, uint64_t word)
{
    word = htole64(word);
    memcpy(at, &word, sizeof word);
}

/* Whether the other end has said something, or hung up, that was not heard yet. */
bool control_has_news(const struct control *control);

/* Whether the other end hung up or failed, as far as can be seen without waiting. */
bool control_is_broken(const struct control *control);

/* What both ends of a run have to agree on. The connecting end's command line decides, and tells
 * the listening end in one line: "settings" and every value, in the order of the list. */

/* X(name, most): a field, and the largest value that the listening end accepts. */
#define SETTINGS(X)                                                                                \
    X(unit_bytes, 65507)        /* ZCRP's largest datagram; 0: the library's default */            \
    X(window_bytes, INT64_MAX)  /* sent and not acknowledged; 0: the library's default */          \
    X(depth, 1 << 20)           /* most messages under way at once */                              \
    X(is_spinless, 1)           /* 1: a thread that waits for a message of ZCRP sleeps at once */  \
    X(limit_ns, INT64_MAX)      /* the run fails after this time without progress */               \
    X(buffer_bytes, INT32_MAX)  /* of UDP sockets; 0: the library's default */                     \
    X(loss, 1000000)            /* of a million arriving packets, lost at both ends */             \
    X(congestion, 4)            /* enum zcrp_congestion */                                         \
    X(channel, 5)               /* enum carrier (transports/carrier.h) */                          \
    X(vci, 4124)                /* of AAL5's first circuit; 0: the usual one */                    \
    X(is_connected, 1)          /* 1: ZCRP's messages go by a connection, round trips both ways */ \
    X(has_keys, 1)              /* 1: ZCRP has keys */                                             \
    X(flows, 64)                /* that a channel is made of, a thread for each: at least 1 */     \
    X(peers, 10000)             /* connections that a channel is made of; 0: it is no crowd */     \
    X(mapped_bytes, 1ull << 44) /* that both ends of each may map */

struct settings {
#define SETTINGS_FIELD(name, most) uint64_t name;
    SETTINGS(SETTINGS_FIELD)
#undef SETTINGS_FIELD
};

/* Connecting end: says them and hears the answer. 0, or -1 with a complaint. */
int settings_say(struct control *control, const struct settings *settings);

/* Listening end: hears them behind their line. 0, or -1 with a complaint if one is out of range. */
int settings_hear(struct control *control, struct settings *settings);

#endif
