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
    INBOX_MOST = 16,                    /* messages of requests that are posted */
    OUTBOX_MOST = 512,                  /* messages under way; one more waits for the oldest */
    OUTBOX_SPARE = 8,                   /* that are kept for the next records */
    OUTBOX_BYTES_LEAST = 2 * PACK_ROOM, /* of messages with memory of their own: always */
    OUTBOX_BYTES_MOST = 32 << 20,       /* while all copies have not more than: */
    OUTBOX_BYTES_ALL = 256 << 20,
};

enum {
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
    int watched;                           /* a descriptor: when it ends, so do waits, */
    enum line_stop on_end;                 /* for this reason; LINE_GOES: there is none */
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

/* Cancels a message, if it is in flight; NULL is fine. The other end may be on this host, and be
 * stopped while it copies to the message's memory: then this waits, as line_fini does, until it
 * goes on or ends. Before that, nobody may have the memory for anything else. */
void line_take_back(struct zcrp_msg *message);

/* Ends waits, within a tenth of a second, now and later. Any thread and any signal handler may call
 * it. */
void line_end_waits(struct line *line, enum line_stop why);

/* Has it been stopped? Looks at what is watched, too. If that was the near end, the process ends 2
 * s later, whatever it waits for. */
enum line_stop line_stopped(struct line *line);

/* Waits until a message has ended, at most `most_ns` (negative: without limit). Its code, as
 * zcrp_error, or ZCRP_ERROR_TIMEOUT, or ZCRP_ERROR_INTERRUPTED: then line->stop. */
int line_wait(struct line *line, struct zcrp_msg *message, int64_t most_ns);

/* Is this the code of a connection that has ended, and not of one message? */
bool line_is_over(int code);

/* Complains of what a wait returned. LINE_FAILED, or LINE_STOPPED without a complaint. */
enum line_end line_complain(struct line *line, int code);

/* One message of records to the other end, which is freed in any case, or from it, to be freed with
 * zcrp_free_msg, at the start of a copy. NULL: *code says why. */
int line_send_first(struct line *line, struct zcrp_msg *message, size_t length, int64_t most_ns);
struct zcrp_msg *line_receive_first(struct line *line, int64_t most_ns, int *code);

/* Messages that are posted before they come, in a ring: requests, for the source. */
struct inbox {
    struct line *line;
    struct zcrp_msg *ring[INBOX_MOST];
    unsigned next;
};

/* Posts all of them. 0 or a code. inbox_fini takes back what is under way. */
int inbox_init(struct inbox *inbox, struct line *line);
void inbox_fini(struct inbox *inbox);

/* Waits for the next one, and posts it again once it was read. NULL: *code. */
struct zcrp_msg *inbox_receive(struct inbox *inbox, int64_t most_ns, int *code);
int inbox_put_back(struct inbox *inbox);

/* A message that is on its way to the other end. */
struct sent {
    struct zcrp_msg *message;
    uint32_t *in_flight; /* what counts its user's memory; NULL: it has memory of its own */
};

/* All of them, in their order: slices of mapped files, and messages of records. The memory of a
 * slice is held until its message has ended.
 *
 * The other end may ask and never take the answers, so the memory of messages is bounded: for one
 * copy, and for all copies of a server together. Each copy has the least that it needs to go on. */
struct outbox {
    struct line *line;
    struct sent ring[OUTBOX_MOST];
    unsigned first, count;
    struct zcrp_msg *spare[OUTBOX_SPARE];
    int spare_count;
    size_t bytes; /* of messages with memory of their own, spare ones too */
};

/* With a line, everything else zero is none. outbox_fini takes back what is under way. */
void outbox_fini(struct outbox *outbox);

/* A message with PACK_ROOM bytes to be filled with records, to be sent. It waits until there is
 * room for one more. NULL: *code. */
struct zcrp_msg *outbox_take(struct outbox *outbox, int *code);

/* Sends it. It is theirs from now on. 0, or a code, as for all of these. */
int outbox_send(struct outbox *outbox, struct zcrp_msg *message, size_t length);

/* Sends the user's memory, which *in_flight counts until the message has ended; or nothing: an
 * empty message in its place. */
int outbox_send_slice(struct outbox *outbox, void *slice, size_t length, uint32_t *in_flight);
int outbox_send_nothing(struct outbox *outbox);

/* Lets go of those that have ended; or waits until all have. */
int outbox_reap(struct outbox *outbox);
int outbox_wait(struct outbox *outbox);

#endif
