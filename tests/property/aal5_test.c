/* A PDU that something happened to on its way is never taken for what was sent, nor for another.
 *
 * Two PDUs are sent one after the other; bits are flipped, cells lost, swapped, doubled, ends lost
 * so that both become one. What comes out at the other end has to be one of the two, or refused. */
#include "../support/random.h"
#include "../support/suite.h"
#include "core/wire/aal5.h"
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SLOW 1
#endif
#endif

#ifdef IS_SLOW
enum { DAMAGES = 50000 };
#else
enum { DAMAGES = 1000000 };
#endif

enum { PDU_CELLS = 12, STREAM_CELLS = 3 * PDU_CELLS };

struct pdu {
    uint8_t bytes[PDU_CELLS * AAL5_CELL];
    uint32_t cells;
};

/* Cells on their way: whose they were, and whether they end a PDU. */
struct stream {
    uint8_t cell[STREAM_CELLS][AAL5_CELL];
    bool is_end[STREAM_CELLS];
    uint32_t cells;
};

static void make(struct pdu *p, uint64_t *random)
{
    uint32_t payload = 1 + (uint32_t)random_below(random, PDU_CELLS * AAL5_CELL - AAL5_TRAILER);

    for (uint32_t i = 0; i < payload; i += 8) {
        uint64_t word = random_next(random);
        memcpy(p->bytes + i, &word, payload - i < 8 ? payload - i : 8);
    }
    p->cells = aal5_cells(payload);
    aal5_tail_encode(p->bytes + payload, payload, crc32_add(0, p->bytes, payload),
                     (struct aal5_user){0}, crc32_add);
}

static void add(struct stream *s, const struct pdu *p)
{
    for (uint32_t i = 0; i < p->cells; i++) {
        memcpy(s->cell[s->cells], p->bytes + i * AAL5_CELL, AAL5_CELL);
        s->is_end[s->cells++] = i == p->cells - 1;
    }
}

static void flip(struct stream *s, uint64_t *random)
{
    uint64_t flips = 1 + random_below(random, 8);

    for (uint64_t i = 0; i < flips; i++) {
        uint64_t bit = random_below(random, 8 * AAL5_CELL);
        s->cell[random_below(random, s->cells)][bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

static void lose(struct stream *s, uint32_t at)
{
    s->cells--;
    memmove(s->cell[at], s->cell[at + 1], (s->cells - at) * sizeof(s->cell[0]));
    memmove(&s->is_end[at], &s->is_end[at + 1], (s->cells - at) * sizeof(bool));
}

static void twice(struct stream *s, uint32_t at)
{
    memmove(s->cell[at + 1], s->cell[at], (s->cells - at) * sizeof(s->cell[0]));
    memmove(&s->is_end[at + 1], &s->is_end[at], (s->cells - at) * sizeof(bool));
    s->cells++;
}

static void swap(struct stream *s, uint32_t a, uint32_t b)
{
    uint8_t kept[AAL5_CELL];

    memcpy(kept, s->cell[a], AAL5_CELL);
    memcpy(s->cell[a], s->cell[b], AAL5_CELL);
    memcpy(s->cell[b], kept, AAL5_CELL);
}

static void damage(struct stream *s, uint64_t *random)
{
    uint32_t at = (uint32_t)random_below(random, s->cells);

    switch (random_below(random, 5)) {
    case 0:
        flip(s, random);
        break;
    case 1:
        lose(s, at);
        break;
    case 2:
        swap(s, at, (uint32_t)random_below(random, s->cells));
        break;
    case 3:
        twice(s, at);
        break;
    default: /* the first PDU loses its end, which may have been all of it */
        while (!s->is_end[0] && s->cells > 1 && random_chance(random, 50))
            lose(s, 0);
        for (uint32_t i = 0; i < s->cells; i++)
            if (s->is_end[i]) {
                lose(s, i);
                break;
            }
    }
}

static bool is_same(const struct pdu *p, const uint8_t *bytes, uint32_t cells)
{
    return cells == p->cells && memcmp(bytes, p->bytes, cells * AAL5_CELL) == 0;
}

/* Takes the stream apart at the ends; how many PDUs were accepted and are none that was sent. */
static unsigned accepted_wrongly(const struct stream *s, const struct pdu sent[2])
{
    unsigned wrong = 0;

    for (uint32_t i = 0, from = 0; i < s->cells; i++) {
        uint32_t cells = i + 1 - from, bytes = cells * AAL5_CELL, payload;
        const uint8_t *pdu = s->cell[from];
        if (!s->is_end[i])
            continue;
        from = i + 1;
        if (aal5_judge(pdu + bytes - AAL5_TRAILER, bytes, crc32_add(0, pdu, bytes), &payload) ==
            AAL5_OK)
            wrong += !is_same(&sent[0], pdu, cells) && !is_same(&sent[1], pdu, cells);
    }
    return wrong;
}

TEST(aal5__damage_is_detected, .is_random = true)
{
    uint64_t random = suite_seed(_i);
    static struct pdu sent[2];
    static struct stream whole, damaged;

    for (int i = 0; i < DAMAGES; i++) {
        if (i % 16 == 0) {
            make(&sent[0], &random);
            make(&sent[1], &random);
            whole.cells = 0;
            add(&whole, &sent[0]);
            add(&whole, &sent[1]);
            ck_assert_uint_eq(accepted_wrongly(&whole, sent), 0);
        }
        damaged = whole;
        damage(&damaged, &random);
        ck_assert_uint_eq(accepted_wrongly(&damaged, sent), 0);
    }
}
