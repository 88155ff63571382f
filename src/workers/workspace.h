/* What a thread needs for turns, and an entity does not: the landing that datagrams are received
 * into, its memory, and the wake that ends the thread's sleep. A thread takes a workspace for a
 * turn, or for as long as it waits; so there are as many as threads, however many entities there
 * are. They are kept for the next turn, until the last entity is closed.
 *
 * How many openings the next plan has, and for how many units each, depends on how an entity's
 * datagrams came:
 *
 *     datagrams come                     openings            units in each
 *     joined by the kernel (GRO)         one                 as many as a burst may have
 *     the same, n each, amid a message   LANDING_UNITS / n   n
 *     too large to be joined             OPENINGS_LARGE      the same
 *     each by itself                     LANDING_OPENINGS    one
 *
 * Nobody knows where a joined burst ends and the next begins, so a plan expects only one. But where
 * bursts reach the socket as the sender's kernel cut them (virtual Ethernet), all amid a message
 * have as many datagrams. When OPENINGS_WHOLE in a row did, one call receives several. A socket
 * without GRO never joins any. With GRO the path decides: a tunnel may hand over datagrams one by
 * one, and each of them would cost a plan for a whole burst, and a system call. So when
 * OPENINGS_ALONE in a row came alone, the plan expects single ones, until two come joined. All but
 * the first of those have to be moved: at most a burst, once in OPENINGS_ALONE datagrams. */
#ifndef ZCRP_WORKERS_WORKSPACE_H
#define ZCRP_WORKERS_WORKSPACE_H

#include "core/receiver/landing.h"
#include "platform/waking.h"

#include <stdbool.h>
#include <stdint.h>

struct workspace {
    struct landing landing;
    uint8_t *memory; /* of the landing; for control alone its first LANDING_DATAGRAM bytes */
    struct landing_mail mail; /* for a connection's sender, of what its receiver received; or for a
                                 handshake of the receiver's */
    struct wake wake;
    struct workspace *next_free, *next_made;
};

/* An entity will need some: sees to it that there is one for each of the library's threads that
 * receive, and for a waiting thread beside each; so a program that waits in one thread takes
 * nothing later. 0, or the system's negative error number (-ENOMEM, -EMFILE). Most of the memory is
 * never touched while the network behaves, so the system never gives it. */
__attribute__((warn_unused_result)) int workspace_reserve(void);

/* That entity needs none any more. The last one frees them all; each has been given back. */
void workspace_release(void);

/* One that nobody has, until it is given back; NULL if there is none and no memory for another. Its
 * wake is clear, or was signalled to whoever had it before: a sleeper looks again. Any thread. */
__attribute__((warn_unused_result)) struct workspace *workspace_take(void);
void workspace_give(struct workspace *w);

/* In a child: frees the copies of the parent's. */
void workspace_after_fork(void);

/* ---- openings; cannot fail, O(openings) ---- */

enum {
    OPENINGS_LARGE = 16, /* such units that one call receives: with more the cache is left behind */
    OPENINGS_ALONE = 256, /* datagrams, each by itself: then they are expected to come so; */
    OPENINGS_JOINED = 8,  /* two joined bursts count against this many */
    OPENINGS_WHOLE = 32,  /* joined bursts, each of as many datagrams as the others */
    OPENINGS_SMALL = 512, /* bytes of a unit: to move a smaller one costs no more than to plan it */
    OPENINGS_FADE = 8,    /* parts: one is forgotten each time that fewer come */
    OPENINGS_SPARE = 4,   /* times as many small units are planned as came at once lately */
};

struct openings {
    bool has_gro;
    uint32_t alone;    /* datagrams that came by themselves lately, less those that were joined */
    bool are_alone;    /* one opening each */
    uint32_t together; /* datagrams that one opening received lately, at most, */
    uint32_t filled;   /* and openings that one call filled: less by an eighth with each that has
                          fewer; 0: not known */

    uint32_t cut;     /* datagrams of a joined burst, */
    uint32_t segment; /* of this many bytes each, */
    uint32_t whole;   /* and this many such bursts in a row */
};

struct openings_choice {
    uint32_t openings; /* 1 .. LANDING_OPENINGS */
    uint32_t units;    /* 1 .. LANDING_UNITS */
};

void openings_init(struct openings *o, bool has_gro);

/* The channel has filled the landing, or nothing of it. */
void openings_learn(struct openings *o, const struct landing *l);

/* For the next plan, when units had `recent_bytes` bytes of data lately, and `rest` bytes of a
 * message are on their way (0: not known). */
struct openings_choice openings_choose(const struct openings *o, uint32_t recent_bytes,
                                       uint64_t rest);

#endif
