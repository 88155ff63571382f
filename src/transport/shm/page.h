/* The memory that both ends map. Every word of it may be written by the other end at any time.
 *
 * Memory orders. One end releases a word with all that it wrote before, and the other end acquires
 * the word before it uses that: so what lies behind the word is relaxed, or plain. If an end writes
 * a word and then looks whether its peer sleeps, while the peer says that it sleeps and then looks
 * at the word, all four accesses are seq_cst: with less, both could find the old value. The comment
 * at each word names both sides. The models ring, control, credit and push_slots in tests/model
 * have store buffers, and show that these orders are enough. */
#ifndef ZCRP_TRANSPORT_SHM_PAGE_H
#define ZCRP_TRANSPORT_SHM_PAGE_H

#include "control_ring.h"
#include "credit_ring.h"
#include "peer_process.h"
#include "push_slots.h"
#include "rendezvous.h"
#include "ring.h"
#include "shm.h"

#include <stddef.h>

enum { SHM_UNUSED = 1728, SHM_PAGE = 4096, SHM_RING_NEAR = 16 }; /* bytes, and notes */

/* What the receiver says, once; later only NO instead of YES. A sender that gives up before writes
 * NO itself: then the receiver cannot consent any more. */
enum shm_consent { CONSENT_NONE, CONSENT_YES, CONSENT_NO };

/* What the receiver can read of the sender's; and what it offers. Bits. */
enum shm_sight {
    SIGHT_MEMORY = 1, /* all its memory */
    SIGHT_ARENA = 2,  /* its arena */
    SIGHT_SLOTS = 4,  /* the sender may push, if the kernel lets it */
};

/* Memory is taken from the system by pages, when they are touched. Most connections of many carry
 * little, so what they use lies together in one page: the first notes, which are the last slots of
 * the ring, the consent, the first slots of control, the first credit, and the start of the staging
 * buffer. What is unused moves all that to the start of a page. */
struct shm_page {
    uint8_t unused[SHM_UNUSED];
    struct push_slots slots;
    struct control_far control_far;
    struct credit_far credit_far;
    struct ring ring;
    _Alignas(64) _Atomic uint32_t consent;       /* enum shm_consent: released by the receiver with
                                                    what follows, up to nonce_at; acquired by the
                                                    sender before it reads any of that */
    _Atomic uint32_t sight;                      /* enum shm_sight, written before the consent */
    _Atomic uint32_t why;                        /* enum shm_refusal */
    _Alignas(8) uint8_t proof[RENDEZVOUS_PROOF]; /* the receiver's, written before the consent, */
    uint8_t nonce[PEER_NONCE];                   /* and so this, */
    _Atomic uint64_t nonce_at;                   /* which lies there in the receiver's memory */
    struct control_ring control;
    struct credit_near credit;
    _Alignas(64) uint8_t staging[SHM_STAGING];
};

enum { SHM_STAGING_NEAR = 1024 }; /* bytes of the staging buffer in that page, at least */

_Static_assert(offsetof(struct shm_page, ring.slot[RING_NOTES - SHM_RING_NEAR]) % SHM_PAGE == 0,
               "the first notes begin a page");
_Static_assert(offsetof(struct shm_page, ring.slot[RING_NOTES - SHM_RING_NEAR]) / SHM_PAGE ==
                   (offsetof(struct shm_page, staging) + SHM_STAGING_NEAR - 1) / SHM_PAGE,
               "which all the others share");

static inline struct control_ring_place page_control(struct shm_page *page)
{
    return (struct control_ring_place){.ring = &page->control, .far = &page->control_far};
}

static inline struct credit_ring page_credit(struct shm_page *page)
{
    return (struct credit_ring){&page->credit, &page->credit_far};
}

#endif
