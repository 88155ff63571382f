/* BBR's parts, shared by the files that make it up; nobody else includes this.
 *
 *     bbr.c        facts in, window and rate out
 *     bbr_model.c  what is believed of the path
 *     bbr_phase.c  what is done to find out, at first and later */
#ifndef ZCRP_CORE_CONGESTION_BBR_STATE_H
#define ZCRP_CORE_CONGESTION_BBR_STATE_H

#include "congestion.h"
#include "core/number.h"

#define BBR_UNKNOWN UINT64_MAX

enum { BBR_UNITS_LEAST = 4 };

#define BBR_LONG (100 * MILLISECOND) /* round trips from here on have trains */

static inline uint64_t bbr_least(const struct bbr *b)
{
    return BBR_UNITS_LEAST * b->unit;
}

/* ---- bbr_model.c */

/* The rate that the path is believed to carry, bytes a second: at best, and at present. */
uint64_t bbr_rate_high(const struct bbr *b);
uint64_t bbr_rate(const struct bbr *b);

/* Bytes that fill the path at this rate, in percent. */
uint64_t bbr_product(const struct bbr *b, uint64_t rate, uint32_t percent);

/* Bytes that fill it at its best, and the threads at its ends. */
uint64_t bbr_full(const struct bbr *b);

/* Bytes in transit that are more than the path and what is acknowledged in lumps: a queue. */
uint64_t bbr_queued(const struct bbr *b);

/* Bytes in transit at which others find room beside us. */
uint64_t bbr_headroom(const struct bbr *b);

/* The last round trip was longer than the lowest, by more than chance. */
bool bbr_has_queue(const struct bbr *b);

/* The last round trip was as short as the lowest, but for chance. */
bool bbr_is_near(const struct bbr *b);

/* Does the loss of `lost` of `sent` bytes mean that the path is full? */
bool bbr_is_too_much(const struct bbr *b, uint64_t lost, uint64_t sent);

/* Rounds, rates and the bounds of the present. */
void bbr_model_on_acknowledged(struct bbr *b, const struct congestion_ack *ack);

/* The latest round trip; true if the lowest is so old that BBR has to measure it. */
bool bbr_model_on_round_trip(struct bbr *b, const struct congestion_ack *ack);

/* The round's figures are taken, and begin anew. */
void bbr_model_end(struct bbr *b, const struct congestion_ack *ack);

/* The highest rate of the cycle before counts no more. */
void bbr_forget_rate(struct bbr *b);

/* Nothing is known of the present. */
void bbr_forget_low(struct bbr *b);

/* ---- bbr_phase.c */

/* `is_stale`: the lowest round trip has to be measured again. */
void bbr_phase_on_acknowledged(struct bbr *b, const struct congestion_ack *ack, bool is_stale);

/* The phase begins. */
void bbr_enter(struct bbr *b, const struct congestion_ack *ack, enum bbr_phase phase);

/* A loss of what the probe for more put in transit. */
void bbr_phase_on_lost(struct bbr *b, const struct congestion_loss *loss);

/* ---- bbr_startup.c */

/* Is the path full, or its rate known? Then startup is over. */
void bbr_startup_on_acknowledged(struct bbr *b, const struct congestion_ack *ack);

#endif
