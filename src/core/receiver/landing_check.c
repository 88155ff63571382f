/* The invariants of a landing. */
#include "core/check.h"
#include "landing.h"

static bool is_apart(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
    return (uintptr_t)a + a_bytes <= (uintptr_t)b || (uintptr_t)b + b_bytes <= (uintptr_t)a;
}

static void check_pieces(const struct landing *l)
{
    for (uint32_t i = 0; i < l->pieces; i++) {
        const struct iovec *a = &l->iov[i];
        for (const struct iovec *b = a + 1; b < l->iov + l->pieces; b++)
            CHECK(is_apart(a->iov_base, a->iov_len, b->iov_base, b->iov_len));
    }
}

/* I2 and I3. */
static void check_opening(const struct landing *l, uint32_t opening)
{
    CHECK(l->first[opening] < l->first[opening + 1]);
    const struct iovec *last = &l->iov[l->first[opening + 1] - 1];
    const uint8_t *spill = l->spill + (size_t)opening * LANDING_SPILL;
    CHECK((const uint8_t *)last->iov_base + last->iov_len == spill + LANDING_SPILL);
    size_t bytes = 0;
    for (uint32_t i = l->first[opening]; i < l->first[opening + 1]; i++)
        bytes += l->iov[i].iov_len;
    CHECK(bytes >= LANDING_DATAGRAM);
}

static void check_openings(const struct landing *l)
{
    CHECK(l->openings <= l->max_openings);
    CHECK(l->first[0] == 0);
    for (uint32_t d = 0; d < l->openings; d++)
        check_opening(l, d);
    CHECK(l->first[l->openings] <= l->pieces);
    CHECK(l->pieces <= LANDING_IOV);
    CHECK(l->units <= l->pairs);
    CHECK(l->pairs <= LANDING_UNITS);
}

/* I4 and I5. */
static void check_moves(const struct landing *l)
{
    CHECK(l->moves <= LANDING_MOVES);
    for (uint32_t i = 0; i < l->moves; i++) {
        const struct landing_move *a = &l->move[i];
        CHECK(a->length > 0);
        CHECK(a->state == MOVE_ASKED);
        for (const struct landing_move *b = a + 1; b < l->move + l->moves; b++) {
            CHECK(a->to == NULL || b->to == NULL || is_apart(a->to, a->length, b->to, b->length));
            CHECK(is_apart(a->from, a->length, b->from, b->length));
        }
    }
}

void landing_check(const struct landing *l)
{
    check_pieces(l);
    check_openings(l);
    check_moves(l);
}
