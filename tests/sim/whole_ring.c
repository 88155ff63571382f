#include "whole_ring.h"

#include "chance.h"

#include <string.h>

static const duration UNREAD_FOR = 100 * MILLISECOND; /* then the sender takes it back */

enum { AWAY_ONE_IN = 300, BACK_ONE_IN = 30, REVOKED_ONE_IN = 16 };

void whole_ring_init(struct whole_ring *m, struct scene *scene)
{
    *m = (struct whole_ring){.scene = scene};
}

static struct element *element(struct whole_ring *m, uint64_t i)
{
    return &m->ring[i % WHOLE_RING_SIZE];
}

static bool is_same(struct pairing a, struct pairing b)
{
    return a.session == b.session && a.tag == b.tag;
}

void whole_ring_tend(struct whole_ring *m, struct pairing of_sender, struct pairing of_receiver)
{
    uint64_t *random = &m->scene->random;
    if (!m->scene->setup->has_memory)
        return;
    m->is_away =
        chance_one_in(random, m->is_away ? BACK_ONE_IN : AWAY_ONE_IN) ? !m->is_away : m->is_away;
    bool is_there = !m->is_away && of_sender.session != 0 && is_same(of_sender, of_receiver);
    bool is_new = !is_same(m->pairing, of_sender);
    if (is_there && (!m->is_here || is_new) && m->reaped == m->head) {
        memset(m->credit, 0, sizeof m->credit);
        m->pairing = of_sender;
        m->is_wanted = false;
        m->is_here = true;
    } else if (!is_there || is_new) {
        m->is_here = false;
    }
}

void whole_ring_forget(struct whole_ring *m)
{
    m->tail = m->reaped = m->head;
    m->is_here = false;
}

/* ---- the sender */

bool whole_ring_has_room(const struct whole_ring *m)
{
    return m->is_here && m->head - m->reaped < WHOLE_RING_SIZE;
}

void whole_ring_put(struct whole_ring *m, const struct whole *whole)
{
    struct element *e = element(m, m->head++);
    *e = (struct element){.number = whole->number,
                          .in_session = whole->in_session,
                          .size = (uint32_t)whole->size,
                          .put_at = m->scene->now};
    uint8_t *to = e->bytes;
    struct iovec piece;
    for (uint32_t i = 0; pieces_of_memory(whole->pieces, whole->buffer, whole->size, i, &piece);
         i++) {
        memcpy(to, piece.iov_base, piece.iov_len);
        to += piece.iov_len;
    }
}

/* The sender is done with the oldest, and with those behind it that it had taken back before. */
static void pass(struct whole_ring *m)
{
    m->reaped++;
    if (m->tail < m->reaped)
        m->tail = m->reaped;
}

instant whole_ring_reaps_at(const struct whole_ring *m)
{
    const struct element *e = &m->ring[m->reaped % WHOLE_RING_SIZE];
    if (m->reaped == m->head)
        return NEVER;
    return e->state == ELEMENT_OFFERED && m->is_here ? e->put_at + UNREAD_FOR : m->scene->now;
}

bool whole_ring_reap(struct whole_ring *m, uint64_t *number, bool *has_arrived)
{
    while (whole_ring_reaps_at(m) <= m->scene->now) {
        const struct element *e = element(m, m->reaped);
        bool is_told = e->state == ELEMENT_REVOKED && e->number == UINT64_MAX;
        *number = e->number;
        *has_arrived = e->state == ELEMENT_TAKEN;
        pass(m);
        if (!is_told)
            return true;
    }
    return false;
}

bool whole_ring_take_back(struct whole_ring *m, uint64_t number, bool *has_arrived)
{
    for (uint64_t i = m->reaped; i < m->head; i++) {
        struct element *e = element(m, i);
        if (e->number != number)
            continue;
        *has_arrived = e->state == ELEMENT_TAKEN;
        e->state = ELEMENT_REVOKED;
        e->number = UINT64_MAX; /* nobody's any more */
        return true;
    }
    return false;
}

bool whole_ring_find_credit(struct whole_ring *m, uint64_t message, uint64_t *size)
{
    bool is_shown = m->is_here && m->credit[message % WHOLE_RING_CREDIT].message == message + 1;
    m->is_wanted = !is_shown;
    *size = m->credit[message % WHOLE_RING_CREDIT].size;
    return is_shown;
}

/* ---- the receiver */

const struct element *whole_ring_next(struct whole_ring *m)
{
    while (m->tail < m->head && element(m, m->tail)->state != ELEMENT_OFFERED)
        m->tail++;
    return m->is_here && m->tail < m->head ? element(m, m->tail) : NULL;
}

bool whole_ring_end(struct whole_ring *m, bool is_taken)
{
    struct element *e = element(m, m->tail++);
    if (chance_one_in(&m->scene->random, REVOKED_ONE_IN)) {
        e->state = ELEMENT_REVOKED;
        return false;
    }
    e->state = is_taken ? ELEMENT_TAKEN : ELEMENT_DECLINED;
    return true;
}

bool whole_ring_show(struct whole_ring *m, const struct credit *credit)
{
    bool was_wanted = m->is_wanted;
    m->credit[credit->in_session % WHOLE_RING_CREDIT].message = credit->in_session + 1;
    m->credit[credit->in_session % WHOLE_RING_CREDIT].size = credit->size;
    m->is_wanted = false;
    return was_wanted;
}
