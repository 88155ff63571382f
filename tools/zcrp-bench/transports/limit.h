/* udp-limit: what the path carries before any protocol is added. The units, bursts, offloads and
 * places in memory are ZCRP's, but nothing is acknowledged, repeated or put right: what is lost is
 * counted, and what it displaced lies where it fell.
 *
 *      sending end                                       receiving end
 *      {data, trailer} x n   -- one call a burst -->     {slot, trailer} x n, in order
 *                            <-- credit: units that may be sent so far, a few per window --
 *
 * Units are numbered through the whole job; a trailer, and a credit, says which job and unit it is.
 * If credit does not come, units were lost: after a pause the sending end goes on without. */
#ifndef BENCH_LIMIT_H
#define BENCH_LIMIT_H

#include "zcrp-bench/transports/transport.h"

enum {
    LIMIT_TRAILER = 32,
    LIMIT_UNITS = 128,      /* in a burst, as many as the kernel cuts */
    LIMIT_BURST = 65507,    /* bytes in a burst, as many as a datagram has */
    LIMIT_OPENINGS = 32,    /* datagrams a call, where the kernel does not gather them */
    LIMIT_DATAGRAM = 65536, /* room for any */
    LIMIT_PAUSE_NS = 100000000,
};

struct limit_state {
    uint64_t unit_data; /* bytes of data in a full unit */
    uint64_t job;       /* number of the job under way, the same at both ends */
    uint64_t window;    /* receiving end: bytes that its socket holds */
    bool has_gso;
    bool has_gro;
    struct counts counts;
    uint8_t trailer[LIMIT_UNITS][LIMIT_TRAILER];
    uint8_t spill[LIMIT_OPENINGS][LIMIT_DATAGRAM]; /* for what was not foreseen */
};

/* Where a unit belongs. */
struct unit {
    uint64_t message;
    uint64_t offset; /* in the message */
    uint64_t length; /* bytes of data */
};

static inline uint64_t limit_units_a_message(const struct limit_state *state, const struct job *job)
{
    return (job->size - 1) / state->unit_data + 1;
}

/* Of the whole job, as far as its count is known. */
static inline uint64_t limit_units(const struct limit_state *state, const struct job *job)
{
    return job->count * limit_units_a_message(state, job);
}

/* Unit `index` of a job, counted through all messages. */
static inline struct unit limit_unit_at(const struct limit_state *state, const struct job *job,
                                        uint64_t index)
{
    uint64_t units = limit_units_a_message(state, job);
    uint64_t offset = index % units * state->unit_data;
    uint64_t rest = job->size - offset;

    return (struct unit){
        .message = index / units,
        .offset = offset,
        .length = rest < state->unit_data ? rest : state->unit_data,
    };
}

/* As in struct transport_kind. */
int limit_receive(struct transport *transport, struct job *job);

/* Complains that a call failed. -1. */
int limit_broken(const char *doing);

#endif
