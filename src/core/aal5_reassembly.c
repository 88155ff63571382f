#include "aal5_reassembly.h"

#include "check.h"

void aal5_reassembly_init(struct aal5_reassembly *r)
{
    *r = (struct aal5_reassembly){.bytes = 0};
}

/* Forgets the PDU under way if the piece cannot be its next. */
static void look_back(struct aal5_reassembly *r, instant now, const struct aal5_head *head)
{
    bool is_next = head->number == 0 || r->expected == 0 || head->number == r->expected;
    bool is_late = now - r->latest > AAL5_PATIENCE;

    if (is_next && !is_late)
        return;
    if (r->bytes > 0 && is_next)
        r->stalled++;
    else if (r->bytes > 0)
        r->gaps++;
    r->bytes = 0;
    r->is_skipping = false;
}

/* The PDU under way will never be whole. */
static void give_up(struct aal5_reassembly *r, uint64_t *counter)
{
    (*counter)++;
    r->bytes = 0;
    r->is_skipping = true;
}

static struct aal5_step place(struct aal5_reassembly *r, uint32_t bytes)
{
    if (bytes == 0 || bytes % AAL5_CELL != 0)
        give_up(r, &r->odd);
    else if (!r->is_skipping && bytes > AAL5_PDU_MOST - r->bytes)
        give_up(r, &r->overlong);
    if (r->is_skipping)
        return (struct aal5_step){.is_taken = false};
    struct aal5_step step = {.offset = r->bytes, .is_taken = true};
    r->bytes += bytes;
    return step;
}

struct aal5_step aal5_reassembly_take(struct aal5_reassembly *r, instant now,
                                      const struct aal5_head *head, uint32_t bytes)
{
    look_back(r, now, head);
    r->expected = head->number == 0 ? 0 : aal5_next_number(head->number);
    r->latest = now;
    struct aal5_step step = place(r, bytes);
    if (!head->is_end)
        return step;
    step.is_whole = step.is_taken;
    r->bytes = 0;
    r->is_skipping = false;
    return step;
}

void aal5_reassembly_check(const struct aal5_reassembly *r)
{
    CHECK(r->bytes % AAL5_CELL == 0);
    CHECK(r->bytes <= AAL5_PDU_MOST);
}
