/* One measurement as one end sees it: so many messages of one size, where they live, what they
 * carry, and at the receiving end what became of them.
 *
 *      message n:  slot n modulo memory.slots; `depth` messages are under way at once
 *      size size size ... size last     last: the file's end may be shorter */
#ifndef BENCH_JOB_H
#define BENCH_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "zcrp-bench/job/course.h"
#include "zcrp-bench/job/memory.h"

enum job_content {
    JOB_ANY,     /* whatever lies in memory; nothing is verified */
    JOB_PATTERN, /* pseudo-random bytes, which both ends can compute */
    JOB_FILE,    /* the bytes of `input`; at the receiving end its own copy */
};

/* Of verification; the worse the larger. */
enum verdict { VERDICT_NONE, VERDICT_SAME, VERDICT_DIFFERENT, VERDICTS };

struct job {
    uint64_t size;            /* bytes of each message, > 0 */
    uint64_t count;           /* messages, > 0 */
    uint64_t total;           /* bytes of all: the last message has what is left */
    uint64_t depth;           /* messages under way at once, 1 .. memory.slots */
    bool are_trips;           /* each message comes back */
    _Atomic uint64_t *passed; /* sending end: is moved on by the bytes handed over */
    struct course course;     /* may add to count and total while the job is under way */
    struct memory memory;     /* the end's, not the job's */

    enum job_content content;
    uint64_t seed; /* of the pattern */
    const struct input *input;

    /* Receiving end. */
    int output;        /* descriptor of the file that takes what arrives, or -1 */
    bool is_different; /* something arrived that was not sent */
    uint64_t message;  /* the first such message, */
    uint64_t offset;   /* and the first such byte of it */
};

/* Whether the figures agree with each other; a job that came over the network may be nonsense. */
bool job_is_sane(const struct job *job);

/* Bytes of message n. */
uint64_t job_length(const struct job *job, uint64_t n);

/* Sending end: where message n is, once it has been made. Its slot must be free. */
uint8_t *job_bytes(const struct job *job, uint64_t n);

/* Sending end: waits until message n, the next, is to be sent; makes it, and says where it is. */
uint8_t *job_outgoing(struct job *job, uint64_t n);

/* Receiving end: takes message n, that arrived at `bytes`: verifies it, writes it to the output. A
 * difference is noted, not an error. 0, or -1 with a complaint when the output cannot be written.
 */
int job_incoming(struct job *job, uint64_t n, const uint8_t *bytes);

/* Receiving end: what verification came to so far. */
enum verdict job_verdict(const struct job *job);

/* Complains of the difference that was noted. */
void job_complain(const struct job *job, const char *transport);

#endif
