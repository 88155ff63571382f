/* The memory that both ends map. Every word of it may be written by the other end at any time. */
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

enum { SHM_UNUSED = 1984, SHM_PAGE = 4096 }; /* bytes */

/* What the receiver says. */
enum shm_consent { CONSENT_NONE, CONSENT_YES, CONSENT_NO };

/* What the receiver can read of the sender's; and what it offers. Bits. */
enum shm_sight {
    SIGHT_MEMORY = 1, /* all its memory */
    SIGHT_ARENA = 2,  /* its arena */
    SIGHT_SLOTS = 4,  /* the sender may push, if the kernel lets it */
};

/* Memory is taken from the system by pages, when they are touched. Most connections of many carry
 * little, so what they use lies together in two pages: the first notes are the last slots of the
 * ring, beside the consent and the first slots of control; the first credit is at the end, too,
 * beside the start of the staging buffer. What is unused moves both to the middle of a page. */
struct shm_page {
    uint8_t unused[SHM_UNUSED];
    struct push_slots slots;
    struct ring ring;
    _Alignas(64) _Atomic uint32_t consent;       /* enum shm_consent */
    _Atomic uint32_t sight;                      /* enum shm_sight, written before the consent */
    _Atomic uint32_t why;                        /* enum shm_refusal */
    _Alignas(8) uint8_t proof[RENDEZVOUS_PROOF]; /* the receiver's, written before the consent, */
    uint8_t nonce[PEER_NONCE];                   /* and so this, */
    _Atomic uint64_t nonce_at;                   /* which lies there in the receiver's memory */
    struct control_ring control;
    struct credit_ring credit;
    _Alignas(64) uint8_t staging[SHM_STAGING];
};

_Static_assert(offsetof(struct shm_page, ring.is_asleep) % SHM_PAGE == SHM_PAGE / 2 &&
                   offsetof(struct shm_page, control.slot) / SHM_PAGE ==
                       offsetof(struct shm_page, ring.is_asleep) / SHM_PAGE,
               "notes and control meet in one page");
_Static_assert(offsetof(struct shm_page, credit.entry[CREDIT_ENTRIES - 1]) / SHM_PAGE ==
                   offsetof(struct shm_page, staging) / SHM_PAGE,
               "so do credit and the staging buffer");

#endif
