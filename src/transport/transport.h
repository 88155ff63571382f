/* A transport: how one half of a link reaches its peer. It has sockets always, and between two
 * processes of one host also shared memory (shm/shm.h). It moves bursts and datagrams, and
 * knows nothing of machines: what they have to learn it returns.
 *
 *     SOCKET --meets--> MEETING --both agree--> DRAINING ----> MEMORY
 *       ^                  |                       |             |
 *       |                  v                       v             v
 *       \------------------------ LEAVING <----------------------/
 *
 *     SOCKET, MEETING    everything takes the socket
 *     DRAINING           a sender sends nothing until all that took the socket has arrived, or for
 *                        100 ms; a receiver reads its socket until that is empty
 *     MEMORY             units, and answers to them, take memory, but for those that it does not
 *                        take; hellos, offers and probes take the socket
 *     LEAVING            the memory's content does not count any more; the memory goes as soon as
 *                        no thread uses it
 *
 * The two halves of a connection have a transport each, over one socket. Each meets its peer's
 * other half by itself, because rights can forbid one direction only.
 *
 * With keys everything that takes the socket is sealed. Data in memory are not: both ends proved
 * their keys when they met there.
 *
 * Letters: (c) constant while it is used; (m) the link's mutex; (tx), (rx) the claim to send, to
 * receive. "Locked" is the link's mutex; without it nobody calls those functions. */
#ifndef ZCRP_TRANSPORT_TRANSPORT_H
#define ZCRP_TRANSPORT_TRANSPORT_H

#include "channel.h"
#include "whole.h"

#include "core/keys/seal.h"
#include "core/wire/control.h"

struct shared_arena;
struct shm;
struct presence;

enum transport_way { WAY_SOCKET, WAY_MEETING, WAY_DRAINING, WAY_MEMORY, WAY_LEAVING };

/* Where both ends met last, or tried to; all (m). */
struct meeting {
    struct pairing tried; /* the last session in which this was tried; a sender that finds */
    instant again;        /* nobody tries again, at this time, */
    duration patience; /* the pause before that, which doubles up to MEETING_LAST, the last try */
    bool is_watched;   /* its peer's process: the end of that is the session's, also once it was
                          left, because the peer's memory may go before its process does */
    uint32_t why;      /* memory is not used: enum shm_refusal */
};

struct transport {
    struct channel *in, *out;   /* (c) where datagrams come from, and go to; may be one */
    bool is_sender;             /* (c) of units */
    bool is_possible;           /* (c) both ends are on one host */
    bool is_required;           /* (c) units take no other way than memory */
    bool lets_read;             /* (c) see shm_terms */
    struct keyring *keyring;    /* (c) NULL: nothing is sealed */
    uint8_t *staging;           /* (tx) SEAL_STAGING bytes; NULL: the same */
    struct shared_arena *arena; /* (c) of the connection's messages; NULL: none */

    enum transport_way way;    /* (m) */
    bool is_out_meeting;       /* (m) a thread asks the system about it: transport_meet */
    bool is_pushing;           /* (m) a thread pushes */
    bool is_late;              /* (m) see transport_look_late */
    bool is_idle;              /* (m) somebody has said so, and nobody that it is not */
    bool must_wake_peer;       /* (tx) the peer sleeps */
    _Atomic bool has_pushed;   /* (a) since its waiter slept last */
    instant found;             /* (m) when DRAINING began */
    instant watch_at;          /* (m) notes hold messages: does the peer read them then? */
    instant ended_at;          /* (m) the peer's process has: then the session does, */
    uint32_t put_off;          /* (m) which was put off so often */
    uint64_t crossings;        /* (m) receives, or pushes, that began so far */
    uint64_t bytes;            /* (m) that memory which has gone carried */
    struct meeting meeting;    /* (m) */
    struct shm *shm;           /* (m) NULL: there is no memory */
    struct presence *presence; /* (tx) of a sender's pages; NULL: a receiver */
};

struct transport_options {
    bool is_sender;
    bool may_use_memory;
    bool must_use_memory;
    bool lets_read;
    struct keyring *keyring; /* NULL: there are no keys */
};

/* Over channels that are open, and stay the caller's. 0, -ENOMEM, or -EREMOTE: memory is required,
 * and the peer is on another host. */
__attribute__((warn_unused_result)) int transport_init(struct transport *t, struct channel *in,
                                                       struct channel *out,
                                                       const struct transport_options *options);

/* Nobody uses it any more. Fine for one that is all zero. */
void transport_fini(struct transport *t);

/* The same in a child of the process that made it. */
void transport_abandon(struct transport *t);

/* ---- the way, locked ---- */

/* Memory is there, and units may be in it. */
static inline bool transport_is_memory(const struct transport *t)
{
    return t->way == WAY_DRAINING || t->way == WAY_MEMORY;
}

/* Does what is sent take memory? A receiver answers there at once. */
static inline bool transport_sends_memory(const struct transport *t)
{
    return t->way == WAY_MEMORY || (t->way == WAY_DRAINING && !t->is_sender);
}

/* Nothing is sent for a moment: a sender lets arrive what it has sent over the socket, and a
 * receiver is about to be there for its peer, which comes as soon as it hears of the session. */
bool transport_holds_back(const struct transport *t);

/* What the owner knows. */
struct transport_facts {
    struct pairing pairing; /* of the session; no session: there is none yet */
    bool is_idle;           /* a sender has nothing in transit */
    bool is_early;          /* a receiver's peer cannot meet it yet, however long that lasts */
    bool may_meet;          /* this thread may, once the mutex is free */
};

/* What has changed, as bits. */
enum transport_change {
    TRANSPORT_HERE = 1,   /* memory is there: bursts come joined, and the peer may have woken us */
    TRANSPORT_TAKEN = 2,  /* units take memory from now on */
    TRANSPORT_LEFT = 4,   /* they do not any more */
    TRANSPORT_MISSED = 8, /* memory is required, and there is none */
};

/* Is the peer of that session to be met now? A receiver has to be there before its peer is told of
 * the session: that comes at once. */
bool transport_must_meet(const struct transport *t, struct pairing pairing);

/* What is left to do when the mutex is free, because it takes system calls. */
struct transport_errand {
    struct shm *gone;       /* for transport_free; NULL: none */
    bool meets;             /* for transport_meet; if not, the rest is not set: */
    bool is_early;          /* as in the facts */
    struct pairing pairing; /* of the session to meet in; no session: one looks how it goes on */
    uint8_t secret[32];     /* of the session; where there are keys */
};

/* Moves the way on as far as it goes, within a locked section that is about to end. The owner has
 * reaped before. Bits of enum transport_change. */
uint32_t transport_tend(struct transport *t, const struct transport_facts *facts,
                        struct transport_errand *errand);

/* The receiver has read all that the sender had sent by the socket: memory is next. */
void transport_on_drained(struct transport *t);

/* After transport_tend, while the way is LEAVING, and all was revoked: memory goes, unless a thread
 * uses it, which sends or receives (`is_used`), or pushes. Bits as above. */
uint32_t transport_leave(struct transport *t, bool is_used, struct transport_errand *errand);

/* Not locked. Meets the peer, or looks how that goes on: what it made is for transport_met. */
struct transport_met {
    struct shm *made;
    uint32_t why;  /* enum shm_refusal */
    int peer_file; /* they have met just now: see shm_open_peer; else -1 */
};
struct transport_met transport_meet(struct transport *t, struct transport_errand *errand);
void transport_free(struct shm *gone);

/* Locked. The peer's process has ended, says its descriptor. What it has sent is received for a
 * moment still. When that is over, which is a transport_deadline, take returns true, once. If
 * something is unread by then the caller may put it off, for another moment; false: the moment is
 * not over, or was put off for ten seconds already. */
void transport_on_peer_ended(struct transport *t);
bool transport_put_off_peer_end(struct transport *t, instant now);
bool transport_take_peer_end(struct transport *t, instant now);

/* Locked, behind transport_meet. Bits as above. */
uint32_t transport_met(struct transport *t, const struct transport_errand *errand,
                       struct transport_met met);

/* When somebody has to look at the way, by the time; NEVER: nothing waits for it. */
instant transport_deadline(const struct transport *t);

/* ---- sending; (tx) ---- */

/* Is there room for a burst? Locked. If not, and nothing that was reaped makes any, wait, unless
 * the peer is stopped: then units take the socket. */
bool transport_has_room(const struct transport *t);
bool transport_stands_still(const struct transport *t);

/* Sends a burst, through memory (if `by_memory`, which is what transport_sends_memory said as it
 * was taken) or else, or if memory does not take it, over the socket. As channel_send, and
 *   `*held`   the user's memory is read later: the first `*sent` units hold their messages
 *   CROWDED   also: memory has no room now, and nothing else is allowed
 *   ABSENT    pages of the user's memory are to come first: see transport_fetch.
 * What is sealed, the burst's memory included, is the transport's own until the next send. */
enum channel_verdict transport_send(struct transport *t, bool by_memory, struct burst *burst,
                                    uint32_t *sent, bool *held);

/* Sends a datagram that no machine made, and that is never sealed. */
enum channel_verdict transport_send_plain(struct transport *t, const struct burst *burst,
                                          uint32_t *sent);

/* Sends a burst of control, sealed, to an address that need not be the peer's. What cannot be sent
 * is lost. */
void transport_send_to(struct transport *t, struct burst *burst, const union address *to);

/* Wakes a peer that sleeps and was sent something, or has to look. */
void transport_wake_peer(struct transport *t);

/* The next unit or whole message that the receiver does not read any more. Locked. False: there is
 * none. */
bool transport_reap(struct transport *t, struct released *released);

/* Messages that went as a whole, which the receiver has, and that are all there is to reap before
 * them: as many as have numbers that count on from `*first`, `most` at most. How many. Locked. */
uint32_t transport_reap_wholes(struct transport *t, uint32_t most, uint64_t *first);

/* The same of a whole message that the receiver has, also behind a unit that a thread pushes.
 * Locked. */
bool transport_take_arrived(struct transport *t, struct released *released);

/* Revokes a unit of the message, or all of it if it went as a whole; or of any, or any that went
 * as a whole. It does not count, unless the receiver has it. Locked. False: there is none. */
#define TRANSPORT_ANY UINT64_MAX
#define TRANSPORT_ANY_WHOLE (UINT64_MAX - 2)
bool transport_take_back(struct transport *t, uint64_t message, struct released *released);

/* The first message that a note holds, which is a unit's or of all of it, from note `*ahead` on;
 * then `*ahead` is behind that note. Locked. False: there is none. */
bool transport_find_held(const struct transport *t, uint32_t *ahead, uint64_t *message);

/* Does a deadline show that the peer does not read what was put into memory? If not, a thread that
 * has put something begins one, and has to ask for it. */
static inline bool transport_is_watched(const struct transport *t)
{
    return t->watch_at != NEVER;
}
void transport_begin_watch(struct transport *t);

/* When it is time, looks whether the peer reads what holds messages. True: it has stopped to. */
bool transport_watch(struct transport *t);

/* ---- messages as a whole, locked ---- */

enum { TRANSPORT_WHOLE = 4096, TRANSPORT_CREDIT = 256 }; /* as SHM_WHOLE, SHM_CREDIT */

/* Do messages go as a whole, where the peer shows a buffer that takes them? Nobody sends meanwhile,
 * or the caller does. */
static inline bool transport_takes_wholes(const struct transport *t)
{
    return t->is_sender && t->way == WAY_MEMORY;
}

/* Does the peer show a buffer for this message of the session? Only where messages go as a whole.
 */
bool transport_find_credit(const struct transport *t, uint64_t in_session, uint64_t *size);

/* Has the peer shown any buffer in this memory? Before that it may read units only. */
bool transport_has_credit(const struct transport *t);

/* The peer shows none: asks it to say when it has one, if this side sleeps by then. So look once
 * more behind this, and behind transport_say_asleep. Only there, too. */
void transport_want_credit(struct transport *t);

/* Is there room for this many messages, of `bytes` together? Only there, too. */
bool transport_has_whole_room(struct transport *t, uint32_t messages, uint32_t bytes);

/* Sends a message of up to TRANSPORT_WHOLE bytes as a whole; reap returns `owner`. False if there
 * is no room now. */
bool transport_put_whole(struct transport *t, uint64_t in_session, uint64_t owner,
                         struct iovec bytes);

/* Are there any whose end is not known? Has the oldest arrived, or come back? */
bool transport_has_wholes(const struct transport *t);
bool transport_has_arrived(const struct transport *t);

/* A receiver: does it read such messages? Nobody receives meanwhile, or the caller does. */
static inline bool transport_reads_wholes(const struct transport *t)
{
    return !t->is_sender && t->way == WAY_MEMORY && !t->is_late;
}

/* Only then: the message that has come as a whole `ahead` behind the next, with nothing but such
 * messages before it. The caller has the bytes of the next, or declines it. */
bool transport_whole(struct transport *t, uint32_t ahead, struct whole_arrived *whole);
bool transport_end_whole(struct transport *t, bool is_taken); /* true: it counts */

/* Some have ended. True if the peer sleeps, and is to be woken with channel_wake_peer. */
bool transport_must_tell(struct transport *t);

/* Shows a buffer, while the way is MEMORY. True if the peer wants it, and is to get a request. */
bool transport_show_credit(struct transport *t, uint64_t in_session, uint64_t size);

/* Pages that are missing: what a burst that was ABSENT waits for. Is the piece still to come?
 * Locked. */
bool transport_awaits_pages(const struct transport *t);

/* The missing piece, and of which message. */
struct iovec transport_missing(const struct transport *t, uint64_t *message);

/* Starts to bring that memory. `told` may be called by another thread, without a lock, until
 * transport_end_fetch. Not locked. */
void transport_fetch(struct transport *t, struct iovec memory, void (*told)(void *context),
                     void *context);
void transport_end_fetch(struct transport *t);

/* ---- pushing ---- */

/* Claims what this sender can copy to the peer's buffers itself. Locked. True: the caller is to
 * call transport_push, and then, locked, transport_pushed until that is false: `*message` is whose
 * memory it was. */
bool transport_claim_push(struct transport *t);
void transport_push(struct transport *t);
bool transport_pushed(struct transport *t, uint64_t *message);

/* ---- receiving; (rx) ---- */

/* Where a turn looks. HEAR_MEMORY saves a system call where something is expected from memory only;
 * without memory it is as HEAR_ALL. What is received:
 *
 *     way                 without keys               with keys
 *     SOCKET, MEETING     the socket                 the socket
 *     DRAINING            the socket; if empty,      the socket, until it is empty
 *                         memory
 *     MEMORY              memory; if empty, with     what was planned for: memory if it has units
 *                         HEAR_ALL, the socket       (landing->is_near), else the socket, with
 *                                                    HEAR_ALL */
enum hearing { HEAR_ALL, HEAR_MEMORY };

/* One receive, from the plan to what it brought. */
struct transport_turn {
    bool has_memory; /* it was there when the turn began, */
    bool is_first;   /* and comes before the socket */
    bool has_notes;
    bool is_drained; /* the socket is empty: from now on memory comes first */
};

/* Begins a turn; locked. `*openings` and `*units`, as planned for the socket, become what memory
 * has. True if the plan is for memory alone: its units are not sealed. */
bool transport_begin_receive(struct transport *t, struct transport_turn *turn, uint32_t *openings,
                             uint32_t *units);

/* The same for a sender that reads for itself. */
void transport_begin_hear(const struct transport *t, struct transport_turn *turn);

/* As channel_receive, into a landing that was planned so. Not locked. */
int transport_receive(struct transport *t, struct transport_turn *turn, struct landing *landing,
                      enum hearing hearing);

/* Ends the turn; locked. `most` openings were planned, and the receive returned `received`. */
enum transport_more { MORE_NONE, MORE_SOON, MORE_NOW };
enum transport_more transport_end_receive(struct transport *t, const struct transport_turn *turn,
                                          int most, int received);

/* The next control datagram for a sender from memory, which is not sealed: its bytes, or 0.
 * `buffer` has room for CONTROL_BYTES. Locked. */
size_t transport_answer(struct transport *t, uint8_t *buffer);

/* Has memory a control datagram for this sender? Locked. */
bool transport_has_control(const struct transport *t);

/* A look: is there nothing at all in memory for this half? True also without memory. A receiver
 * whose way drains is still, too: its socket is watched, and is read before the first note. Locked,
 * while nobody receives. */
bool transport_is_still(const struct transport *t);

/* Finds out whether memory has something for this half; skips revoked notes. Memory is there.
 * Locked. */
bool transport_find_news(const struct transport *t);

/* Has memory something of the peer's that this half has not read? Or is a thread at a push to it,
 * or the peer late (`is_late`)? Then nobody knows yet. Locked, while nobody receives. */
bool transport_has_unread(const struct transport *t);

/* Looks whether the peer still writes, or so it seems, to a landing that is over, and notes it
 * (`is_late`). While that is true nothing is received and no message may end. Locked. */
bool transport_look_late(struct transport *t);

/* ---- sleeping, locked ---- */

/* Says in memory that no thread polls it from now on, so that the peer sends a wake-up. False if
 * there is something already. */
bool transport_say_asleep(struct transport *t);

/* The same, but messages of a sender's that went as a whole may end meanwhile, because nobody waits
 * for that. Whoever does later says so, and looks for those that have. Locked. */
bool transport_say_idle(struct transport *t);
void transport_say_awaited(struct transport *t);

/* Says that a thread polls memory again. True if there is memory. */
bool transport_say_awake(struct transport *t);

/* ---- statistics, locked ---- */

uint64_t transport_copied(const struct transport *t);

#endif
