/* Shared memory: how a peer in another process of this user on this host is reached. Units need no
 * socket: the receiver reads them straight from the sender's memory into the user's, one copy.
 *
 *     sender    shm_send           -- a note of where each unit lies (ring.h) -->       shm_receive
 *               small units are copied together first, a burst a note  process_vm_readv, or a
 *                                                                      copy of what both map
 *               shm_control     <-- acknowledgements, requests (control_ring.h) --        shm_reply
 *               shm_put_whole      -- small messages, each in a note ------------->      shm_whole
 *               shm_find_credit <-- buffers that are posted (credit_ring.h) ------- shm_show_credit
 *
 * It carries the protocol's own datagrams, of the session that began over the socket. So
 * order, sizes, cancelling, silence and all the rest are what they are over UDP, and a datagram may
 * take either way at any time. Hellos, offers and path probes take the socket. The socket also
 * wakes a peer that sleeps: an empty datagram says that there is something to read.
 *
 * A message of up to SHM_WHOLE bytes that has a buffer of the library's at the receiver crosses as
 * a whole, without any datagram. Its note has the same place in the ring as its units would have.
 * The slot says that the message has arrived. If the receiver declines the message, or does not
 * read, the sender sends it in units.
 *
 * Two ends meet once a session has begun over a socket whose ends have one address (rendezvous.h).
 * The sender hands in a sealed memfd, the shared page (page.h), and the address of a nonce. The
 * receiver checks these, reads the nonce from the sender's memory, and consents in the page. In a
 * session with keys both ends show that they have its secret, the receiver before anything is
 * handed in. Anything that forbids it leaves the datagrams where they are (enum shm_refusal).
 *
 * An end may have a shared arena (shared_arena.h): the sender hands it in, too. The receiver copies
 * from its own mapping of that, and into an arena of its own without a call. A receiver that may
 * not read the sender's memory reads the sender's arena only: then the sender copies what lies
 * elsewhere to the staging buffer.
 *
 * A sender that has nothing else to do pushes some of the bytes itself, to where the receiver has
 * opened slots for them (push_slots.h): so both copy, on a processor each.
 *
 * Each call that reads from the sender reads a nonce, too, and before each push the sender reads
 * one of the receiver's (peer_process.h). So each end notices that the other has ended, or become
 * another program. A receiver then still reads what both map, and is away behind that.
 *
 * Threads: one at a time sends, reaps, pushes, receives, and replies; each of them beside the
 * others. */
#ifndef ZCRP_TRANSPORT_SHM_SHM_H
#define ZCRP_TRANSPORT_SHM_SHM_H

#include "transport/channel.h"
#include "transport/whole.h"

struct shared_arena;
struct shm;

enum {
    SHM_STAGING = 1 << 20, /* bytes that a sender copies small units to; both map them */
    SHM_SECRET = 32,       /* bytes */
    SHM_WHOLE = 4096,      /* bytes of a message that may cross as a whole */
    SHM_CREDIT = 256,      /* buffers that are shown at once */
};

enum shm_refusal {
    SHM_FINE,
    SHM_ELSEWHERE, /* the peer is on another host, or does not listen */
    SHM_STRANGER,  /* it is of another user, or in another namespace of processes */
    SHM_FORBIDDEN, /* this process may not read its memory (Yama, seccomp, not dumpable) */
    SHM_LIMITED,   /* this process lacks memory or descriptors */
    SHM_FALSE,     /* what it handed in is not what it should be */
};

enum shm_state {
    SHM_MEETING, /* a receiver listens, a sender has connected */
    SHM_HERE,
    SHM_AWAY, /* refused, or gone */
};

/* Are both ends of this channel on one host, by their addresses? And is it one that carries the
 * datagrams as they are? */
bool shm_is_possible(const struct channel *c);

/* On what terms two ends meet. */
struct shm_terms {
    struct pairing pairing;   /* of the session */
    const uint8_t *secret;    /* SHM_SECRET bytes that only the two ends know; NULL: no keys */
    struct shared_arena *own; /* this end's, held meanwhile; NULL: it has none */
    bool lets_read;           /* if the kernel does not let the receiver read, the sender asks it to
                                 (PR_SET_PTRACER), once it knows who that is */
};

/* A receiver begins to listen for its sender, or a sender connects to its receiver. `units` is the
 * channel that the units would take. `*made` is to be freed, unless it is NULL. */
enum shm_refusal shm_meet(struct shm **made, bool is_sender, struct channel *units,
                          const struct shm_terms *terms);

/* Nobody uses it any more. */
void shm_free(struct shm *n);

/* In a child of the process that made it. */
void shm_abandon(struct shm *n);

/* How it stands. A sender learns here that the receiver may not read any more. */
enum shm_state shm_state(struct shm *n);

/* While they meet: looks at the socket, or for the answer, if it is time to. Some system calls, by
 * one thread at a time. How it stands then. */
enum shm_state shm_look(struct shm *n);

/* A receiver's peer cannot come yet (`is_early`), or can from now on: then the time begins in which
 * this end is there for it. Before that, it looks eight times a second at least. By the thread that
 * is about to look. */
void shm_put_off(struct shm *n, bool is_early);

/* Has a look said something that the peer waits for? Then it is to be woken; this forgets it. By
 * the thread that looked. */
bool shm_must_wake(struct shm *n);

/* When it is time to look; NEVER: they do not meet. The longer they meet, the more rarely. */
instant shm_look_at(const struct shm *n);
enum shm_refusal shm_why(const struct shm *n);

/* Is it of this pairing? */
bool shm_is_of(const struct shm *n, struct pairing pairing);

/* ---- the sender's side ---- */

/* Is there room for any burst? If not, wait until something was reaped. */
bool shm_has_room(const struct shm *n);

/* Has the receiver read nothing for some time, although there was something? It is stopped, or
 * dead, and must not keep the units. */
bool shm_stands_still(struct shm *n);

/* Sends a burst of units. `*sent` as of channel_send; `*held`: the user's memory is read later, so
 * the first `*sent` units hold their messages until they are reaped. CROWDED: there is no room now.
 * BLOCKED: the receiver is stopped, or this process lacks memory or a right; `*sent` is 0, and
 * the burst takes the socket. FAULT as of channel_send.
 * `*wakes`: the peer sleeps, and is to be woken. */
enum channel_verdict shm_send(struct shm *n, const struct burst *b, uint32_t *sent, bool *held,
                              bool *wakes);

/* The oldest unit that was held and is not any more, or message that went as a whole, and the
 * receiver has taken or declined it. False if there is none. */
bool shm_reap(struct shm *n, struct released *released);

/* As many whole messages, the oldest, as the receiver has taken, and that are all there is to reap
 * before them, whose owners count on from `*owner`; `most` at most. How many. */
uint32_t shm_reap_wholes(struct shm *n, uint32_t most, uint64_t *owner);

/* A whole message that the receiver has taken, also behind a unit that is not reaped yet, because a
 * thread pushes it. False if there is none. */
bool shm_take_arrived(struct shm *n, struct released *released);

/* Revokes a unit of this message, or of any (SHM_ANY), that was held, or the whole message, or
 * any whole one (SHM_ANY_WHOLE): if the receiver has not read it by now, it does not count. False
 * if there is none. */
#define SHM_ANY UINT64_MAX
#define SHM_ANY_WHOLE (UINT64_MAX - 2)
bool shm_take_back(struct shm *n, uint64_t message, struct released *released);

/* The message that the first note holds, from `*ahead` behind the oldest on; then `*ahead` is
 * behind that note. False: there is none. By the thread that reaps. */
bool shm_find_held(const struct shm *n, uint32_t *ahead, uint64_t *message);

/* Is there room for this many messages, of `bytes` together? */
bool shm_has_whole_room(struct shm *n, uint32_t messages, uint32_t bytes);

/* Sends a message as a whole: number `in_session` to the peer, `owner` to whoever reaps. False if
 * there is no room for it now. By the thread that sends. */
bool shm_put_whole(struct shm *n, uint64_t in_session, uint64_t owner, struct iovec bytes,
                   bool *wakes);

/* Are there any that were not reaped; is the oldest of all to be reaped? By the thread that reaps.
 */
bool shm_has_wholes(const struct shm *n);
bool shm_has_whole_to_reap(const struct shm *n);

/* Does the receiver show a buffer for this message? If not, the sender may want one: then the
 * receiver sends a request when it has one, if the sender sleeps by then. */
bool shm_find_credit(struct shm *n, uint64_t in_session, uint64_t *size);
void shm_want_credit(struct shm *n);

/* Was any found? Then the receiver reads messages as a whole, too. */
bool shm_has_credit(const struct shm *n);

/* Claims something to push, if there is something: by the thread that reaps. Then shm_push
 * copies it, by one thread, which need not be that. Then whoever reaps lets go of one after the
 * other: false if there is none; `*message` is whose memory it was. A note that was revoked
 * meanwhile is held until then. */
bool shm_claim(struct shm *n);
void shm_push(struct shm *n);
bool shm_let_go(struct shm *n, uint64_t *message);

/* The next control datagram; its bytes, or 0. `buffer` has room for CONTROL_BYTES. */
size_t shm_control(struct shm *n, uint8_t *buffer);

/* Is there one? By the thread that receives. */
bool shm_has_control(const struct shm *n);

/* ---- the receiver's side ---- */

/* Finds something to receive; skips revoked notes. False: there is nothing, or,
 * for units, a whole message comes first. A receiver that cannot read its sender any more is away
 * once there are neither. By the thread that receives, as all of these. */
bool shm_has_notes(struct shm *n);
bool shm_find_units(struct shm *n);

/* A look: is there anything that the peer has written or read lately? Either side. */
bool shm_has_moved(const struct shm *n);

/* What that is, looking at `most` notes at most: each fills an opening of a landing. */
struct notes {
    uint32_t count;
    uint32_t units; /* most that one has */
};
struct notes shm_notes(struct shm *n, uint32_t most);

/* Is the note `ahead` behind the next a message as a whole? Skips revoked notes, if
 * they are the next. shm_end_whole is done with the next. By the thread that receives, as all of
 * these. */
bool shm_whole(struct shm *n, uint32_t ahead, struct whole_arrived *whole);

/* The receiver has its bytes, or declines it. True if that counts; false: it was revoked. */
bool shm_end_whole(struct shm *n, bool is_taken);

/* Some have ended: true if the sender sleeps, and is to be woken. */
bool shm_must_tell(struct shm *n);

/* Shows a buffer of `size` for this message; true if the sender wants one and sleeps: it is to get
 * a request. */
bool shm_show_credit(struct shm *n, uint64_t in_session, uint64_t size);

/* As channel_receive, of what the sender has sent this way. 0: nothing. */
int shm_receive(struct shm *n, struct landing *l);

/* Looks whether the sender still writes, or so it seems, to openings of a landing that is over;
 * what it has settled meanwhile is forgotten. While that is true nothing is received, and no
 * message may end. By the thread that receives. A system call or two, if it is true. */
bool shm_look_late(struct shm *n);

/* Sends a control datagram of the session; false if it is another, or there is no room: then it
 * takes the socket. */
bool shm_reply(struct shm *n, const struct burst *b, bool *wakes);

/* ---- either side ---- */

/* Whoever reads says that it sleeps, and wants to be woken: false if there is something to read. */
bool shm_say_asleep(struct shm *n);
void shm_say_awake(struct shm *n);

/* A sender that nobody waits for says so: the end of whole messages does not wake it. Or somebody
 * waits from now on: then look for those that have ended (control_ring.h). */
bool shm_say_idle(struct shm *n);
void shm_say_awaited(struct shm *n);

/* A descriptor that is readable once the peer's process has ended; the caller closes it. -1: the
 * system does not say, this process may not look at the peer, or it has many descriptors open and
 * may need the others. Once they have met, by the thread that looked. Some system calls. */
__attribute__((warn_unused_result)) int shm_open_peer(const struct shm *n);

/* Has the peer's process ended, or become another program, of which this process knew that it was
 * there? A system call. */
bool shm_has_lost_peer(const struct shm *n);

/* Bytes that were read straight from the sender's memory into the user's. */
uint64_t shm_bytes(const struct shm *n);

#endif
