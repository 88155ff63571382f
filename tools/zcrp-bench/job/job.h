/* One measurement as one end sees it: so many messages of one size, where they live, and at the
 * receiving end what became of them.
 *
 *      message n:  slot n modulo memory.slots; `depth` messages are under way at once */
#ifndef BENCH_JOB_H
#define BENCH_JOB_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zcrp-bench/control/control.h"

/* The memory that messages live in: one area, cut into slots of one size, touched beforehand.
 * Message n lives in slot n modulo the number of slots. */
struct memory {
    uint8_t *base;
    size_t area_bytes;
    uint64_t slot_bytes; /* from one slot to the next: the message's size, to a full cache line */
    uint64_t slots;
};

/* Makes *memory, empty or not, `slots` slots for messages of `size` bytes, mapped and touched;
 * keeps it if it is that already. Large pages are asked for. 0, or -1 with a complaint; then
 * *memory is empty and memory_fini is fine. */
int memory_refit(struct memory *memory, uint64_t slots, uint64_t size);

void memory_fini(struct memory *memory);

static inline uint8_t *memory_slot(const struct memory *memory, uint64_t message)
{
    return memory->base + message % memory->slots * memory->slot_bytes;
}

/* Flows of a channel, at most. */
enum { FLOWS_MAX = 64 };

/* What goes over the control connection during a job, which all its flows share. */
struct news {
    pthread_mutex_t mutex;
    struct {
        uint64_t count, look; /* the latest of each flow that it has not taken; look 0: nothing */
    } of[FLOWS_MAX];
};

/* How a job goes on over time: by the schedule of a rate, and for so long.
 *
 *      message     0 ....... n ............... look ....... count
 *                            due at start + (n + 1) x interval
 *
 * A job that lasts for a time has no count when it begins. With message `look` the sending end
 * decides whether there will be more than `count`, and says so over the control connection; the
 * receiving end hears it when that message has arrived, so that it never waits. The messages in
 * between are those that it has already made room for. */
struct course {
    struct control *control;
    struct news *news;
    uint64_t flow;       /* whose course it is, from 0 */
    double interval_ns;  /* sending end: between one message and the next; 0: as soon as possible */
    int64_t duration_ns; /* sending end: of a job that lasts for a time, else 0 */
    int64_t start_ns;    /* sending end: when the job began */
    uint64_t look;       /* with this message the count may change; COURSE_FIXED: not any more */
};

#define COURSE_FIXED UINT64_MAX

/* The count to begin with of a job that lasts for a time. */
enum { COURSE_FIRST_COUNT = 2 };

/* The course of a job of messages of `size` bytes, sent at `bits_per_s` (0: as fast as it goes) for
 * duration_ns (0: its count is fixed). */
struct course course_make(struct control *control, uint64_t size, double bits_per_s,
                          int64_t duration_ns);

/* Of verification; the worse the larger. */
enum verdict { VERDICT_NONE, VERDICT_SAME, VERDICT_DIFFERENT, VERDICTS };

struct job {
    uint64_t size;            /* bytes of each message, > 0 */
    uint64_t count;           /* messages, > 0 */
    uint64_t ways;            /* flows or peers that messages go by, > 0 */
    uint64_t depth;           /* messages under way at once by each, 1 .. memory.slots / ways */
    bool are_trips;           /* each message comes back */
    _Atomic uint64_t *passed; /* sending end: is moved on by the bytes handed over */
    struct course course;     /* may add to the count while the job is under way */
    struct memory memory;     /* the end's, not the job's */

    bool is_verified; /* messages have pseudo-random bytes, which both ends can compute */
    uint64_t seed;    /* of these */

    /* Receiving end. */
    bool is_different; /* something arrived that was not sent */
    uint64_t message;  /* the first such message, */
    uint64_t offset;   /* and the first such byte of it */
};

/* What the connecting end says of a job, behind "measure". */
struct order {
    uint64_t transport; /* which channel, in the order of opening */
    uint64_t size, count, slots, depth;
    uint64_t is_verified, seed;
    uint64_t look;                    /* of the course; */
    uint64_t bits_per_s, duration_ns; /* of its own, if the listening end sends */
    uint64_t are_trips;
};

/* Whether the figures agree with each other; a job that came over the network may be nonsense. */
bool job_is_sane(const struct job *job);

/* Sending end: waits until message n, the next, is to be sent, and counts it. */
void job_due(struct job *job, uint64_t n);

/* Receiving end: message n, counted by arrival, is here. 0, or -1 with a complaint when the sending
 * end is gone, or says nonsense. */
int job_arrived(struct job *job, uint64_t n);

/* The same for messages in order, with their bytes. */

/* Sending end: waits until message n, the next, is to be sent; makes it, and says where it is. Its
 * slot must be free. */
uint8_t *job_outgoing(struct job *job, uint64_t n);

/* Receiving end: takes message n, that arrived at `bytes`, and verifies it. A difference is noted,
 * not an error. As job_arrived. */
int job_incoming(struct job *job, uint64_t n, const uint8_t *bytes);

/* Receiving end: what verification came to so far. */
enum verdict job_verdict(const struct job *job);

/* Complains of the difference that was noted. */
void job_complain(const struct job *job, const char *transport);

#endif
