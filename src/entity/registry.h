/* The entities that are open in this process, by role and socket: one socket has at most one sender
 * and one receiver, or either would take what is for the other. Sockets are known by the kernel's
 * cookie, so that duplicates of a descriptor are the same.
 *
 * One mutex, never held together with another. */
#ifndef ZCRP_ENTITY_REGISTRY_H
#define ZCRP_ENTITY_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

struct zcrp_entity;

/* The two sockets of an entity; the same twice if its channel is duplex. 0: the kernel does not
 * say. */
struct registry_entry {
    uint64_t socket[2];
    struct zcrp_entity *next;
};

/* The kernel's cookie for a socket, or 0. */
uint64_t registry_cookie(int fd);

/* Enters the entity, whose entry has its sockets; false if one of them has such an entity already.
 */
bool registry_add(struct zcrp_entity *e);

/* Takes it out; it was added. */
void registry_remove(struct zcrp_entity *e);

/* In a child: none is open. */
void registry_after_fork(void);

#endif
