/* Landing, in four files: a landing and its datagrams (receiver_landed.c), those that are sealed
 * and have to be opened first (receiver_sealed.c), what becomes of a unit in either case
 * (receiver_land.c), and of small messages that follow on each other (receiver_run.c). */
#ifndef ZCRP_CORE_RECEIVER_LAND_H
#define ZCRP_CORE_RECEIVER_LAND_H

#include "receiver_steps.h"

/* Units that landed one after the other; one unit is a row of one. More of them are only a row if
 * each lies just where it belongs, all of it was missing, and it has nothing to say but its data.
 */
struct arrival {
    const struct segment *segment;      /* of a row of one; NULL: each is known to be in place */
    const struct unit_trailer *trailer; /* of the last of them */
    struct message_in *message;         /* NULL when that is over */
    uint64_t number;                    /* of the message */
    uint64_t seq;                       /* of the last */
    struct interval range;              /* of all, in the message */
    uint32_t units;
    bool is_in_place; /* something of it was missing, and lies where it belongs; or it is empty */
};

/* What the trailer of a unit says, which landed there. Its message is looked up by enter. */
struct arrival receiver_arrival(const struct receiver *r, const struct segment *segment,
                                const struct unit_trailer *t);

/* A row of the session landed: it is entered in its message, brought to its place, and
 * acknowledged. False if it counts as never received. */
bool receiver_enter(struct receiver *r, instant now, struct landing *landing, struct arrival *a);

/* The row that is being collected. Its first unit is read in full; the others are compared with
 * what is foreseen, and counted. All are entered together before anything else happens. */
struct landing_row {
    struct arrival a;            /* what was collected; its message is NULL when no row is open */
    struct unit_trailer trailer; /* of the first unit; in the end of the last */
    struct trailer_row next;     /* of the unit that continues the row */
    uint8_t *place;              /* where that one belongs */
    uint32_t bytes;              /* of each datagram, as it is without keys */
    uint32_t marks;              /* units that met congestion */
    uint32_t most;               /* units: behind them something is still missing */
};

/* Opens a row with this unit, if it is one that others may follow: the newest, at its place, and
 * without anything to say but its data. */
bool receiver_row_open(struct receiver *r, struct landing_row *row, const struct arrival *a);

/* Takes the unit into the row, if that is what it continues. */
bool receiver_row_take(struct landing_row *row, const struct segment *segment);

/* Enters the row, if one is open, and closes it. */
void receiver_row_close(struct receiver *r, instant now, struct landing *landing,
                        struct landing_row *row);

/* Acknowledges what the arrival says, of `data` bytes, and learns from it. */
void receiver_acknowledge(struct receiver *r, instant now, const struct arrival *a, uint64_t data);

/* A run of small messages, each of which is one unit, as large as the one before: what a stream of
 * them is. The unit that it begins behind is read in full; the trailers of the others are compared
 * with what is foreseen. Each message ends when its unit is taken. What is told of all of them
 * together is told when the run is closed, before anything else happens. */
struct landing_run {
    struct trailer_row next;     /* of the unit that continues the run */
    struct unit_trailer trailer; /* of the one that it begins behind; in the end of the last */
    uint64_t number;             /* of the message that continues the run */
    uint64_t size;               /* of the last one's buffer */
    uint32_t length;             /* bytes of each message; 0: no run is open */
    uint32_t units;              /* taken */
    uint32_t marks;              /* those that met congestion */
    uint64_t seq;                /* of the last */
};

/* Opens a run behind this unit, which was accepted, if others may follow it. */
void receiver_run_open(const struct receiver *r, struct landing_run *run, const struct arrival *a);

/* Takes the unit into the run, if that is what continues it, and it lies where its message is. */
bool receiver_run_take(struct receiver *r, struct landing_run *run, const struct segment *segment);

/* Takes what continues the run in the opening that the walk is in, as far as it came as planned.
 * Returns how many bytes of datagrams. */
uint32_t receiver_run_on(struct receiver *r, struct landing_run *run, const struct landing *landing,
                         struct landing_walk *walk);

/* Acknowledges what the run has taken, and closes it. */
void receiver_run_close(struct receiver *r, instant now, struct landing_run *run);

/* True if the unit can be for its message, as far as is known of that one's length. */
bool receiver_fits(const struct arrival *a);

/* Datagrams of the session met congestion. */
void receiver_note_marks(struct receiver *r, uint32_t marks);

/* A datagram is dropped; OK: because it is of another session. */
void receiver_count_drop(struct receiver *r, enum verdict verdict);

/* A hello, a probe, an offer, or what has to be dropped: as a unit it is `verdict`. True if it
 * belongs to the pairing. */
bool receiver_on_other(struct receiver *r, instant now, struct landing *landing,
                       const struct segment *segment, enum verdict verdict);

/* The arrivals of a landing, as far as it was read. */
struct harvest {
    struct receiver_arrivals arrivals;
    uint32_t opening; /* behind the last that counts */
    bool has_ecn;     /* some datagrams crossed a path that can mark them */
};

/* The datagram belongs to the pairing. */
void harvest_count(struct harvest *h, const struct segment *segment);

/* What is sealed, on its way from the landing into the messages. */
struct receiver_opening {
    struct landing_walk walk;    /* of what was read */
    struct segment segment;      /* the unit at hand, */
    struct segment opened;       /* as it is without keys */
    struct sealed_unit sealed;   /* its trailer, */
    struct unit_trailer trailer; /* decoded */
    struct arrival a;
    uint8_t *out;           /* where its data goes */
    struct landing_row row; /* that it begins, if it begins one */
    bool is_looked_at;      /* it is to be opened, or was, and is to be entered */
    bool is_open;           /* it was, and is not forged */
    struct harvest harvest;
};

#endif
