/* What the two ends of a copy talk over: a connection, waited for in small pieces, so that the end
 * of the other process, Ctrl-C and the clock are noticed meanwhile. */
#ifndef ZCRP_CP_LINE_H
#define ZCRP_CP_LINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"
#include "zcrp.h"

enum {
    LINE_REQUESTS = 16, /* messages of requests under way, at either end */
    LINE_BROKEN = 1,  /* a code beside the library's: the other end broke the rules of record.h, and
                         that was complained of */
    LINE_REFUSED = 2, /* another: the far end cannot do what is wanted; the same */
};

enum line_stop {
    LINE_GOES = 0,
    LINE_INTERRUPTED, /* the user has had enough, or the near end is gone: nothing more is heard */
    LINE_LEFT,        /* the remote shell has ended: what the far end said last may still come */
};

struct line {
    struct zcrp_connection *connection;
    struct zcrp_entity *sender, *receiver; /* its halves */
    atomic_int stop;                       /* enum line_stop; any thread and signal handlers */
    const char *host;                      /* whom complaints name; NULL: nobody */
    void (*tick)(void *context);           /* called now and then while waiting; NULL: nothing */
    void *context;
};

/* How a wait, or a whole copy, ended. */
enum line_end {
    LINE_FINE = 0,
    LINE_FAILED = -1,  /* the connection, or the other end broke the rules: it was complained of */
    LINE_STOPPED = -2, /* line->stop says why */
};

/* Takes a connection, which it then closes. The line was all zero before, or had another one: then
 * an end of waits that was said before still holds. */
void line_init(struct line *line, struct zcrp_connection *connection);
void line_fini(struct line *line);

/* Ends waits, within a tenth of a second, now and later. Any thread and any signal handler may call
 * it. */
void line_end_waits(struct line *line, enum line_stop why);

/* Waits until a message has ended, at most `most_ns` (negative: without limit). Its code, as
 * zcrp_error, or ZCRP_ERROR_TIMEOUT, or ZCRP_ERROR_INTERRUPTED: then line->stop. */
int line_wait(struct line *line, struct zcrp_msg *message, int64_t most_ns);

/* Is this the code of a connection that has ended, and not of one message? */
bool line_is_over(int code);

/* Complains of what a wait returned. LINE_FAILED, or LINE_STOPPED without a complaint. */
enum line_end line_complain(struct line *line, int code);

/* One message of records to the other end or from it, at the start of a copy. The message is freed
 * with zcrp_free_msg; NULL: *code says why. */
int line_send_first(struct line *line, const void *bytes, size_t length, int64_t most_ns);
struct zcrp_msg *line_receive_first(struct line *line, int64_t most_ns, int *code);

/* A ring of messages for requests. They are handed in by the target and taken by the source. */
struct requests {
    struct line *line;
    struct zcrp_msg *ring[LINE_REQUESTS];
    unsigned next;
};

/* For the target: sends nothing yet. For the source: posts all of them. 0, or -1: no memory, or a
 * code of the library. requests_fini takes back what is under way. */
int requests_init(struct requests *requests, struct line *line, bool receives);
void requests_fini(struct requests *requests);

/* Target: the next message to be filled, once it has been sent before. NULL: *code. */
struct zcrp_msg *requests_take(struct requests *requests, int *code);
int requests_send(struct requests *requests, size_t length);

/* Source: waits for the next message of requests, and posts it again once it was read. */
struct zcrp_msg *requests_receive(struct requests *requests, int64_t most_ns, int *code);
int requests_put_back(struct requests *requests);

#endif
