/* Memory that two hosts share for small messages, which cross it as a whole (sender.h; in the
 * library transport/shm/shm.h): a ring, and credit. What is put there can be read at once.
 *
 * It is there while both cores are in one session, but for times at which it is away, as if an end
 * had lost the right to it. What is in it then comes back, and nothing enters before it has. */
#ifndef ZCRP_TESTS_SIM_WHOLE_RING_H
#define ZCRP_TESTS_SIM_WHOLE_RING_H

#include "scene.h"

enum { WHOLE_RING_SIZE = 16, WHOLE_RING_CREDIT = 8, WHOLE_RING_MOST = 3000 };

enum element_state { ELEMENT_OFFERED, ELEMENT_TAKEN, ELEMENT_DECLINED, ELEMENT_REVOKED };

struct element {
    enum element_state state;
    uint64_t number; /* the sender's */
    uint64_t in_session;
    uint32_t size;
    instant put_at;
    uint8_t bytes[WHOLE_RING_MOST];
};

struct whole_ring {
    struct scene *scene;
    struct element ring[WHOLE_RING_SIZE];
    uint64_t head, tail, reaped; /* put, read, and known to be */
    struct {
        uint64_t message, size; /* the message's number and 1; 0: none */
    } credit[WHOLE_RING_CREDIT];
    struct pairing pairing; /* that it is of */
    bool is_here, is_away, is_wanted;
};

/* Away for good if the setup has none. */
void whole_ring_init(struct whole_ring *m, struct scene *scene);

/* Is it there, now that the ends are in these sessions? Dice may take it away, or bring it back. */
void whole_ring_tend(struct whole_ring *m, struct pairing of_sender, struct pairing of_receiver);

/* The sender's process is gone, and so is what it had in there. */
void whole_ring_forget(struct whole_ring *m);

/* ---- the sender */

bool whole_ring_has_room(const struct whole_ring *m);
void whole_ring_put(struct whole_ring *m, const struct whole *whole);

/* The oldest that has been read, or that has come back because memory is away, or has not been read
 * for so long; true if there is one. */
bool whole_ring_reap(struct whole_ring *m, uint64_t *number, bool *has_arrived);

/* Takes this one back; false if it is not there. */
bool whole_ring_take_back(struct whole_ring *m, uint64_t number, bool *has_arrived);

bool whole_ring_find_credit(struct whole_ring *m, uint64_t message, uint64_t *size);

/* When reap has something, whatever the receiver does. */
instant whole_ring_reaps_at(const struct whole_ring *m);

/* ---- the receiver */

/* The next that is to be read; NULL: none. */
const struct element *whole_ring_next(struct whole_ring *m);

/* Is done with it. True if that counts: dice may say that it was revoked meanwhile. */
bool whole_ring_end(struct whole_ring *m, bool is_taken);

/* True if the sender wants to be told. */
bool whole_ring_show(struct whole_ring *m, const struct credit *credit);

#endif
