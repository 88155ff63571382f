/* The stage of an attack: two network namespaces of the test's own, and a cable between them.
 *
 *     left  198.18.0.1  zcrp0 ---------------- zcrp0  198.18.0.2  right      or IPv6 (place.h)
 *
 * The default route of either end leads over the cable. So a raw socket on one side reaches the
 * other side with any source address, and whatever the other side answers, to whomever, arrives
 * where a test can count it. Both interfaces have one hardware address and no ARP, so an address
 * that nobody has is sent to like any other. Neither side forwards.
 *
 * The namespaces have no names: they are gone with the last process in them, however that ends.
 * Without the rights of root they lie in a user namespace, also the test's own. */
#ifndef ZCRP_TESTS_ATTACK_STAGE_H
#define ZCRP_TESTS_ATTACK_STAGE_H

#include <stdbool.h>
#include <stdint.h>

enum stage_side { STAGE_LEFT, STAGE_RIGHT, STAGE_SIDES };

/* Addresses as numbers in the host's order. Those of STAGE_STRANGERS, 2^16 of them, are nobody's.
 */
#define STAGE_LOOPBACK 0x7F000001u
#define STAGE_STRANGERS 0xC6130000u /* 198.19.0.0 */

struct stage {
    int namespace[STAGE_SIDES]; /* descriptors */
};

/* Can this process make a stage? False: says why on standard output. */
bool stage_is_permitted(void);

/* Makes a stage whose cable carries packets of `mtu` bytes, and enters its left side. It is one of
 * IPv4; or of IPv6 (place.h), where both sides have the addresses of IPv4, too. */
void stage_open(struct stage *stage, unsigned mtu);
void stage_open_ipv6(struct stage *stage, unsigned mtu);

/* From now on this process, and what it starts or opens, is on that side. */
void stage_enter(const struct stage *stage, enum stage_side side);

/* The address of a side. */
uint32_t stage_address(enum stage_side side);

/* Limits what that side sends to `megabits` a second, with a queue of 50 ms. False where the kernel
 * cannot. */
bool stage_limit(const struct stage *stage, enum stage_side side, unsigned megabits);

static inline enum stage_side stage_other(enum stage_side side)
{
    return side == STAGE_LEFT ? STAGE_RIGHT : STAGE_LEFT;
}

#endif
