/* The control ring (control_ring.h), each side against a hostile other side, and both together:
 * what was put is taken as it was, and leaves room.
 *
 * bound: any words at any look, any place; a ring of 4 slots of 4 bytes, datagrams of up to 10
 * sources: transport/shm/control_ring.c
 * smaller: core/wire/burst.h CONTROL_BYTES 10
 * smaller: transport/shm/control_ring.h CONTROL_PART 4
 * smaller: transport/shm/control_ring.h CONTROL_SLOTS 4
 * smaller: transport/shm/control_ring.h CONTROL_NEAR 1
 * flags: -D memcpy=move_units -D UNIT=uint8_t -D UNITS=4
 * unwind: 6
 * stage: quick
 */
#include "proof.h"

#include "transport/shm/control_ring.h"

static struct {
    struct control_ring near;
    struct control_far far;
} page;

static struct control_ring_place any_place(void)
{
    return (struct control_ring_place){.ring = &page.near, .far = &page.far, .next = nondet_u32()};
}

static void show_hostile(void)
{
    struct control_ring_place p = any_place();
    const uint32_t next = p.next;
    size_t size = nondet_size();
    bool wakes;

    proof_hostile = &page;
    if (nondet_bool()) {
        uint8_t *buffer = any_bytes(CONTROL_BYTES);
        size_t bytes = control_ring_take(&p, buffer);
        SHOW(bytes <= CONTROL_BYTES);
        SHOW(p.next - next == (bytes + CONTROL_PART - 1) / CONTROL_PART);
    } else {
        ASSUME(size <= 2 * CONTROL_BYTES); /* no burst is larger than 64 KiB; here that is enough */
        uint8_t *datagram = any_bytes(size);
        bool is_put = control_ring_put(&p, datagram, size, &wakes);
        SHOW(!is_put || (size > 0 && size <= CONTROL_BYTES));
        SHOW(p.next - next == (is_put ? (size + CONTROL_PART - 1) / CONTROL_PART : 0));
    }
    (void)control_ring_say_asleep(&p);
    (void)control_ring_say_idle(&p);
    control_ring_say_awaited(&p);
    (void)control_ring_take_waiter(&p);
}

/* The ring before is any: so others may stand before this one, or behind it. */
static void show_both(void)
{
    struct control_ring_place out = any_place(), in = out;
    uint8_t datagram[CONTROL_BYTES], buffer[CONTROL_BYTES];
    size_t size = nondet_size(), at = any_below(CONTROL_BYTES);
    bool wakes;

    proof_hostile = NULL;
    ASSUME(size > 0 && size <= CONTROL_BYTES);
    if (!control_ring_put(&out, datagram, size, &wakes))
        return;
    SHOW(control_ring_has(&in));
    SHOW(control_ring_take(&in, buffer) == size && in.next == out.next);
    ASSUME(at < size);
    SHOW(buffer[at] == datagram[at]);
    in.next -= (uint32_t)((size + CONTROL_PART - 1) / CONTROL_PART);
    SHOW(!control_ring_has(&in));
    SHOW(control_ring_put(&in, datagram, size, &wakes));
    REACHED();
}

int main(void)
{
    struct control_far far;
    struct control_ring near;

    page.far = far;
    page.near = near;
    if (nondet_bool()) {
        show_hostile();
        REACHED();
    } else {
        show_both();
    }
}
