/* Where TCP clients come in. A SOCKS5 client (RFC 1928, without authentication) says before where
 * it wants to go. */
#ifndef ZCRP_TUNNEL_DOOR_H
#define ZCRP_TUNNEL_DOOR_H

#include "loop.h"
#include "spec.h"

struct door {
    struct watch watch;
    bool is_started;
    uint16_t port; /* in use */

    /* The owner's, which sets them before it starts the door. */
    bool is_socks;
    uint16_t number; /* of the forward */
    void *context;
    /* The callee has `fd` from now on, which does not block. `host`: "" but of a SOCKS client. */
    void (*on_client)(struct door *door, int fd, const char *host, uint16_t port);
};

/* Listens at bind.host ("": 127.0.0.1; "*": any; else an address, or localhost) and port; does not
 * accept yet. NULL, and a text that says why. */
struct door *door_open(const struct address *bind, const char **why);

/* In a turn or a tick; not if it has SOCKS clients. NULL is fine. */
void door_close(struct door *door);

/* Those of FORWARDS_MOST doors that are open (not NULL) accept clients from now on, or no more:
 * then they wait in the kernel. To be called now and then, too: a door stops by itself when there
 * is no descriptor for a client. */
void doors_tend(struct door *const doors[FORWARDS_MOST], bool may_come);

/* Tells a SOCKS client how its request ended: 0; or an enum refusal, and closes it. False: the
 * client is gone, and this has taken the error that a read would have told of. */
bool door_answer_socks(int fd, uint8_t code);

/* To be called now and then: closes SOCKS clients that say nothing for 10 s. One whose request
 * waits for its door to accept clients is kept. */
void door_tick(int64_t now_ns);

#endif
