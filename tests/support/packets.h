/* What a channel over AAL5 does with a landing (transport/aal5/aal5_receive.c), packet by packet:
 * each packet is pointed at the part of an opening where it belongs if all comes as planned. At the
 * end the openings are the PDUs that came, as the pieces of memory where their packets landed, and
 * the beginning of a PDU that is not whole yet is set aside. A landing's slots have one piece here,
 * and an opening has one slot. Packets are cut anywhere, not only at cells. */
#ifndef ZCRP_TESTS_SUPPORT_PACKETS_H
#define ZCRP_TESTS_SUPPORT_PACKETS_H

#include "core/receiver/landing.h"

#include "asserts.h"
#include <string.h>

enum {
    PACKETS_MOST = LANDING_OPENINGS,      /* with one call */
    PACKET_PIECES = 3,                    /* slot, scratch, spill */
    PACKET_TAIL = 8,                      /* bytes of a PDU behind its payload, at least */
    PACKET_WHOLE = LANDING_DATAGRAM,      /* as a packet's size: all of an opening is for one */
    PDU_MOST = LANDING_DATAGRAM + 64,     /* bytes */
    PDU_FRAGMENTS = 3 * PACKETS_MOST + 1, /* and what was set aside */
};

/* Where a packet is pointed. */
struct packet_place {
    struct iovec piece[PACKET_PIECES];
    uint32_t pieces;
};

/* A circuit, and its PDU under way. */
struct pdu {
    uint32_t bytes; /* of it that have come */
    bool is_lost;   /* some did not: what else comes of it is dropped */
    uint32_t fragments;
    struct iovec fragment[PDU_FRAGMENTS];
    uint32_t stage; /* which of the two it lies in, if it was set aside */
    uint8_t stages[2][PDU_MOST];
};

struct packets {
    struct packet_place place[PACKETS_MOST];
    uint32_t places, used;
    uint64_t set_aside; /* bytes, so far */
};

/* Points the packet at these bytes of an opening. */
static inline void packets_add(struct packets *p, const struct landing *l, uint32_t opening,
                               size_t first, size_t last)
{
    struct packet_place *place = &p->place[p->places++];
    size_t at = 0;

    place->pieces = 0;
    for (uint32_t i = l->first[opening]; i < l->first[opening + 1]; i++) {
        size_t end = at + l->iov[i].iov_len;
        size_t from = first > at ? first : at, to = last < end ? last : end;
        if (from < to) {
            ck_assert_uint_lt(place->pieces, PACKET_PIECES);
            place->piece[place->pieces++] =
                (struct iovec){(uint8_t *)l->iov[i].iov_base + (from - at), to - from};
        }
        at = end;
    }
}

/* Points packets of `size` bytes at the plan, in its first opening those that go on with the PDU
 * under way. The last of an opening has its spill, too. */
static inline void packets_point(struct packets *p, const struct landing *l, const struct pdu *pdu,
                                 uint32_t size)
{
    p->places = p->used = 0;
    for (uint32_t d = 0; d < l->openings && p->places < PACKETS_MOST; d++) {
        size_t expected = PACKET_TAIL, at = 0;
        for (uint32_t i = l->first[d]; i + 1 < l->first[d + 1]; i++)
            expected += l->iov[i].iov_len;
        if (d == 0 && !pdu->is_lost && pdu->bytes < expected)
            at = pdu->bytes;
        for (; expected - at > size && p->places < PACKETS_MOST; at += size)
            packets_add(p, l, d, at, at + size);
        if (p->places < PACKETS_MOST)
            packets_add(p, l, d, at, SIZE_MAX);
    }
}

static inline void pdu_add(struct pdu *pdu, uint8_t *at, size_t bytes)
{
    struct iovec *last = pdu->fragments > 0 ? &pdu->fragment[pdu->fragments - 1] : NULL;

    if (last != NULL && (uint8_t *)last->iov_base + last->iov_len == at) {
        last->iov_len += bytes;
        return;
    }
    ck_assert_uint_lt(pdu->fragments, PDU_FRAGMENTS);
    pdu->fragment[pdu->fragments++] = (struct iovec){at, bytes};
}

/* A packet of this PDU did not come. */
static inline void pdu_lose(struct pdu *pdu)
{
    pdu->is_lost = true;
    pdu->fragments = 0;
}

/* The PDU is over; if it is whole it is the landing's next opening. */
static inline void pdu_end(struct pdu *pdu, struct landing *l, uint32_t payload)
{
    if (!pdu->is_lost) {
        uint32_t d = l->received++, first = l->first[d];
        ck_assert_uint_le(first + pdu->fragments, LANDING_IOV);
        memcpy(&l->iov[first], pdu->fragment, pdu->fragments * sizeof pdu->fragment[0]);
        l->first[d + 1] = (uint16_t)(first + pdu->fragments);
        l->bytes[d] = payload;
        l->segment[d] = 0;
    }
    pdu->bytes = pdu->fragments = 0;
    pdu->is_lost = false;
}

/* The next packet comes, of `size` bytes: of this PDU, or, if it is NULL, of nobody's. Where it
 * does not fit it is lost. */
static inline void packets_take(struct packets *p, struct pdu *pdu, const uint8_t *bytes,
                                uint32_t size)
{
    const struct packet_place *place = &p->place[p->used++];
    uint32_t left = size;

    for (uint32_t i = 0; i < place->pieces && left > 0; i++) {
        uint8_t *at = place->piece[i].iov_base;
        uint32_t run = place->piece[i].iov_len < left ? (uint32_t)place->piece[i].iov_len : left;
        memcpy(at, bytes + (size - left), run);
        if (pdu != NULL && !pdu->is_lost)
            pdu_add(pdu, at, run);
        left -= run;
    }
    if (pdu != NULL)
        pdu->bytes += size;
    if (pdu != NULL && left > 0)
        pdu_lose(pdu);
}

/* The call is over: what has come of the PDU goes to one place, behind what is there already. */
static inline void packets_set_aside(struct packets *p, struct pdu *pdu)
{
    if (pdu->fragments == 0)
        return;
    bool is_begun = pdu->fragment[0].iov_base == pdu->stages[pdu->stage];
    if (!is_begun)
        pdu->stage = !pdu->stage;
    uint8_t *stage = pdu->stages[pdu->stage];
    size_t at = is_begun ? pdu->fragment[0].iov_len : 0;
    for (uint32_t i = is_begun; i < pdu->fragments; i++) {
        memcpy(stage + at, pdu->fragment[i].iov_base, pdu->fragment[i].iov_len);
        at += pdu->fragment[i].iov_len;
        p->set_aside += pdu->fragment[i].iov_len;
    }
    pdu->fragment[0] = (struct iovec){stage, at};
    pdu->fragments = 1;
}

#endif
