/* Memory of the user's that the kernel could not access, and hints of the system's. */
#include "entity.h"

#include "core/adt/intervals.h"

#include "platform/clock.h"
#include "platform/memory.h"

enum { FAULTS_MOST = 3 }; /* in a row without a culprit, after which all are */

void entity_pass_hints(struct zcrp_entity *e)
{
    uint64_t hints = channel_count(e->out, CHANNEL_TOO_BIGS);
    uint64_t refusals = channel_count(e->out, CHANNEL_REFUSALS);

    if (e->in != e->out) {
        hints += channel_count(e->in, CHANNEL_TOO_BIGS);
        refusals += channel_count(e->in, CHANNEL_REFUSALS);
    }
    if (e->machine.role == MACHINE_SENDER && hints > e->hints)
        sender_on_path_hint(e->machine.sender, clock_now());
    if (e->machine.role == MACHINE_SENDER && refusals > e->refusals)
        sender_on_refused(e->machine.sender);
    e->hints = hints;
    e->refusals = refusals;
}

/* Of the pieces that lie in this buffer, can each be accessed? */
static bool are_accessible(const struct iovec *piece, uint32_t count, struct iovec buffer,
                           enum memory_access access)
{
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t at = (uintptr_t)piece[i].iov_base - (uintptr_t)buffer.iov_base;
        if (piece[i].iov_len > 0 && at < buffer.iov_len &&
            !memory_is_accessible(piece[i].iov_base, piece[i].iov_len, access))
            return false;
    }
    return true;
}

/* A call found a fault. Without a culprit the memory may have been put right meanwhile; but not for
 * ever. */
static bool is_final(struct zcrp_entity *e, bool has_culprit)
{
    e->faults = has_culprit ? 0 : e->faults + 1;
    return e->faults >= FAULTS_MOST;
}

void entity_on_burst_fault(struct zcrp_entity *e)
{
    const struct burst *b = &e->burst;
    bool has_culprit = false;

    for (uint32_t i = 0; i < b->pins; i++) {
        struct iovec buffer = sender_buffer(e->machine.sender, b->pin[i].message);
        if (!are_accessible(b->iov, 2 * b->datagrams, buffer, MEMORY_READ))
            has_culprit |= machine_fault(&e->machine, b->pin[i].message);
    }
    if (is_final(e, has_culprit))
        for (uint32_t i = 0; i < b->pins; i++)
            (void)machine_fault(&e->machine, b->pin[i].message);
}

void entity_on_plan_fault(struct zcrp_entity *e)
{
    const struct landing *l = &e->landing;
    struct interval planned = receiver_planned(e->machine.receiver);
    bool has_culprit = false;

    e->landing.is_spoilt = true;
    for (uint64_t n = planned.first; n < planned.last; n++) {
        struct iovec buffer = receiver_buffer(e->machine.receiver, n);
        if (!are_accessible(l->iov, l->first[l->openings], buffer, MEMORY_WRITE))
            has_culprit |= machine_fault(&e->machine, n);
    }
    if (is_final(e, has_culprit))
        for (uint64_t n = planned.first; n < planned.last; n++)
            (void)machine_fault(&e->machine, n);
}
