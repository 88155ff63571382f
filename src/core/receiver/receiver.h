/* The receiver protocol entity (ZCRP 1.7.2) as a pure machine.
 *
 *     post ---> messages ---> request to send ---take---> (channel)
 *                  |                                          ^
 *                  v                                          | block acknowledgement
 *     plan ---> landing ---> (channel scatters) ---landed---> arrived
 *                                                   |
 *     event <------------------------------- complete
 *
 * I1  *the* safety invariant: a plan offers only slots that are still missing in a POSTED message,
 *     and no event leaves between plan and landed. Wrong bytes there are overwritten by the
 *     right data before the message completes.
 * I2  a unit is acknowledged only if its bytes are in place (or were before).
 * I3  every message posted gives exactly one event.
 * I4  behind the end of a message nothing stays of what landed there. */
#ifndef ZCRP_CORE_RECEIVER_H
#define ZCRP_CORE_RECEIVER_H

#include "core/adt/arena.h"
#include "core/adt/pieces.h"
#include "core/instant.h"
#include "core/keys/seal.h"
#include "core/outcome.h"
#include "core/wire/burst.h"
#include "core/wire/cookie.h"
#include "landing.h"

struct receiver;

struct receiver_config {
    uint32_t unit_bytes; /* what a unit is guessed to be before the first arrives */
    uint32_t messages;   /* in the table; rounded up to a power of two */
    uint32_t holes;      /* missing ranges over all messages, beside one each */
    uint32_t intervals;  /* of arrived sequence numbers */
    uint32_t capacity;   /* bytes of units the socket can hold; told to the sender */
    bool stays;          /* it has one sender, and binds no other after it */
    duration silence;    /* bound once, and nothing from the sender for this time: fail */
    duration gone;       /* the same, but refused by the system; 0: that changes nothing */
    duration keepalive;  /* of one that stays: a sign of life at least so often; 0: five seconds */
    /* Added to the time neither may pass NEVER. */
    struct secret secret;    /* sessions come from here */
    struct cookie_jar jar;   /* cookies: the same as whoever answers hellos before it is opened */
    uint64_t peer;           /* stands for the sender's address, in cookies */
    struct keyring *keyring; /* (c) NULL: nothing is sealed. What it sends is sealed by whoever
                                takes it; it binds only the keyring's sender */
    uint32_t first_message;  /* 0; a test starts elsewhere, both ends alike */
    uint32_t first_seq;
};

struct receiver_counters {
    uint64_t bytes;    /* of data accepted */
    uint64_t wholes;   /* messages that came as a whole */
    uint64_t units;    /* accepted: something of them was missing */
    uint64_t in_place; /* of those, landed where they belong */
    uint64_t moved;    /* of those, moved */
    uint64_t bytes_moved;
    uint64_t bursts; /* receives with something of the pairing in it */
    uint64_t marks;  /* datagrams of the pairing that met congestion */
    uint64_t acks, requests, hellos, path_answers, offers;
    uint64_t offload_failures; /* what the kernel joins comes in wrong */
    uint64_t drop_short, drop_version, drop_type, drop_malformed, drop_session, drop_unposted,
        drop_beyond, drop_duplicate, drop_no_room, drop_cookie;
    uint64_t table_full;       /* posts refused */
    uint64_t forgotten;        /* intervals of arrived numbers that found no room */
    uint64_t forged, replayed; /* sealed units that were dropped, as the keyring counts them */
};

/* Bytes of memory for a receiver; O(1). */
struct arena_bytes receiver_bytes(const struct receiver_config *config);

/* Makes a receiver in the caller's memory, which must outlive it, and at whose start it lies: the
 * near and the far block (arena.h), aligned to ARENA_ALIGNMENT. Cannot fail. */
struct receiver *receiver_init(void *near, void *far, const struct receiver_config *config,
                               instant now);

/* Moves tables back to the near block as far as possible, and forgets what is useless by now.
 * Returns how many bytes of the far block are in use, from its start on: the others need not keep
 * what they hold. SIZE_MAX if a plan is out: then nothing happened. */
size_t receiver_rest(struct receiver *r);

/* May post look at `now`? If not, it brings no deadline forward. */
bool receiver_times_post(const struct receiver *r);

/* Posts a buffer for the next message; `*number` names it for cancel. False when the table is full
 * or a close is under way. The buffer is borrowed until the message's event. */
bool receiver_post(struct receiver *r, instant now, void *user, uint8_t *buffer, uint64_t size,
                   uint64_t *number);

/* The same of a buffer that is the first `size` bytes of these pieces, which are borrowed until
 * then, too, with their table. They do not overlap (CHECKed). */
bool receiver_post_pieces(struct receiver *r, instant now, void *user, const struct pieces *pieces,
                          uint64_t size, uint64_t *number);

/* Cancels a message; its event follows, after landed if a plan is out. False if it is over. */
bool receiver_cancel(struct receiver *r, instant now, uint64_t number);

/* The same, because the message's buffer cannot be written. */
bool receiver_fault(struct receiver *r, uint64_t number);

/* The messages, one after the other, whose buffers the plan that is out points at, or pointed at
 * last; both 0 if it points at none. */
struct interval receiver_planned(const struct receiver *r);

/* Piece i of the buffer of a message that is posted; there is one if it lies in one place. False:
 * there are no more, or no such message is posted. */
bool receiver_piece(struct receiver *r, uint64_t number, uint32_t i, struct iovec *piece);

/* Plans where the next datagrams go: up to `openings` openings of up to `pairs` units each, fewer
 * where units did not land in place lately. The plan is out until landed. */
void receiver_plan(struct receiver *r, struct landing *landing, uint32_t openings, uint32_t pairs);

/* Bytes of data in the units that come now; 0 before the first. O(1). */
uint32_t receiver_recent_bytes(const struct receiver *r);

/* Should the kernel join datagrams (UDP_GRO)? At first yes; for a while no once what it joins comes
 * in wrong. */
bool receiver_wants_joined(const struct receiver *r);

/* Bytes that are on their way by the newest trailer, to its message, and not because of anything
 * that this side says from here on; 0 if it foretells none. If the message is shorter than its
 * buffer it may be more than comes. */
uint64_t receiver_expected(struct receiver *r);

/* Does the newest trailer foretell more, also if that waits for what this side says next? */
bool receiver_awaits_more(struct receiver *r);

/* The shortest time in which the sender brought a cookie back, or answered a request; 0: not known.
 */
duration receiver_round_trip(const struct receiver *r);

/* The user wants to know how large messages are before it posts buffers: the sender is asked, now
 * and with every request. */
void receiver_ask_offers(struct receiver *r, instant now);

/* How large the message is that is posted next, as the sender says; false if that is not known. */
bool receiver_offer(const struct receiver *r, uint64_t *size);

/* Datagrams of the pairing in a landing. */
struct receiver_arrivals {
    uint32_t openings; /* that had something */
    uint64_t bytes;    /* of the datagrams in these */
};

/* The keyring is ready: its sender is bound. */
void receiver_admit(struct receiver *r, instant now);

/* The keyring is not ready any more: the peer has forgotten the handshake before it said anything.
 * What is posted stays, for the peer of the next one. Nothing changes if the receiver has no
 * session, or has heard something in it, or closes. No plan is out. */
void receiver_unbind(struct receiver *r, instant now);

/* A hello that arrived before the receiver was there; anything else is dropped. */
void receiver_welcome(struct receiver *r, instant now, const uint8_t *hello, size_t size);

/* The channel has filled the plan (maybe with nothing): what arrived is read, and moved where it
 * has to be.
 *
 * What is sealed is opened first. That takes long, and needs little of the receiver: whoever guards
 * it with a lock may call receiver_look with the lock, and while that is true receiver_open
 * without; and receiver_landed at last. receiver_landed alone does it all. */
bool receiver_look(struct receiver *r, instant now, struct landing *landing);
void receiver_open(struct receiver *r, struct landing *landing);
struct receiver_arrivals receiver_landed(struct receiver *r, instant now, struct landing *landing);

/* Is there something to be said that does not wait for its time? O(1). */
bool receiver_has_reply(const struct receiver *r);

/* The next control datagram to send, as a burst of one; false if there is none. */
bool receiver_take(struct receiver *r, instant now, struct burst *burst);

void receiver_expire(struct receiver *r, instant now);
instant receiver_deadline(const struct receiver *r);

/* A hint, which anybody on the network may have caused: nobody listens at the sender's port. A
 * sender that is bound is asked whether it is there. If request after request meets nothing else,
 * it is silent (config.gone). A connection's receiver need not be told: its sender asks for both.
 */
void receiver_on_closed_port(struct receiver *r, instant now);

/* The receiver has received all that had arrived for it, or nothing had. True if that brings the
 * deadline forward. */
bool receiver_on_listened(struct receiver *r);

/* With keys: the sender is at another address, and what was sent to the old one lately is lost. It
 * is told at once what has arrived, and what is posted. */
void receiver_on_moved(struct receiver *r, instant now);

/* When an acknowledgement has to go out at the latest; NEVER: there is no news. O(1). */
instant receiver_acks_at(const struct receiver *r);

/* The user waits from now on, and posts nothing meanwhile: what waits for more to be posted is
 * announced. True if there is something to be taken. */
bool receiver_on_wait(struct receiver *r);

/* Is nothing posted, so that no unit can land? */
bool receiver_is_idle(const struct receiver *r);

/* The next event; false if there is none, or a plan is out, or it is held. */
bool receiver_event(struct receiver *r, struct event *event);

/* ---- messages as a whole (sender.h) ---- */

enum whole_use {
    WHOLE_LANDS,    /* its bytes belong into the buffer, */
    WHOLE_OVER,     /* or nowhere, because the message is over, */
    WHOLE_DECLINED, /* or the sender is to send it in units, which shows why */
};

/* Where a message lands that has come as a whole. */
struct whole_place {
    uint64_t number; /* this machine's */
    void *user;
    uint8_t *buffer;
    const struct pieces *pieces; /* NULL: it lies in the buffer */
    struct message_in *message;  /* the machine's, until another function of it is called */
};

/* One has come, of `size` bytes, by its number in the session. The place is good only for one that
 * LANDS. No plan is out (CHECKed). */
enum whole_use receiver_whole(struct receiver *r, uint64_t in_session, uint64_t size,
                              struct whole_place *place);

/* Somebody copies some that LAND to their places, and the machine goes on meanwhile: a plan is out
 * from begin to end. Then receiver_whole has to say anew whether they LAND. */
void receiver_whole_begin(struct receiver *r);
void receiver_whole_end(struct receiver *r);

/* All its bytes are in place, so it has ended; or some may be, and it was cancelled. */
void receiver_whole_landed(struct receiver *r, uint64_t number, uint64_t size);
void receiver_whole_revoked(struct receiver *r, uint64_t number, uint64_t size);

/* As receiver_whole_landed, just behind receiver_whole. True: the message is over, and this is its
 * event. */
bool receiver_whole_ends(struct receiver *r, const struct whole_place *place, uint64_t size,
                         struct event *event);

/* Some have landed, which is a sign of life. */
void receiver_on_wholes(struct receiver *r, instant now);

/* A buffer for the message of this number in the session. */
struct credit {
    uint64_t in_session;
    uint64_t size;
    void *user;
};

/* From now on the sender reads in memory what is posted, or not any more. While it does, what is
 * posted needs no request: whoever posts takes it from receiver_publish. What the sender may not
 * know is requested nevertheless, by the time. True if something is posted that was neither shown
 * nor requested, and has to be requested now (receiver_call). */
bool receiver_set_credit(struct receiver *r, bool has_credit);

/* The next buffer that was not announced, which counts as announced from now on; false if there is
 * none, or it is `most` messages or more behind the oldest. */
bool receiver_publish(struct receiver *r, uint64_t most, struct credit *credit);

/* May a buffer that is posted now be shown to the sender at once, and nobody has to be told of it
 * who looks what is due by `looked_at`? If so it stays so while only the next two functions are
 * called. O(1). */
bool receiver_lets_pass(const struct receiver *r, instant looked_at);

/* While it lets pass. Are fewer than `most` messages posted? Then `*in_session` is the number that
 * the next one has there. O(1). */
bool receiver_next_credit(const struct receiver *r, uint64_t most, uint64_t *in_session);

/* Posts that buffer: as receiver_post, and receiver_publish. False: there is no room. `now` may be
 * some milliseconds late. */
bool receiver_post_shown(struct receiver *r, instant now, void *user, uint8_t *buffer,
                         uint64_t size, uint64_t *number);

/* The sender has something to send and no buffer: it is asked for all that it may not know of, with
 * the next take, or as soon as something is due. */
void receiver_call(struct receiver *r);
void receiver_call_soon(struct receiver *r, instant now);

/* Somebody may still write to memory that was planned, or not any more. Meanwhile there is no
 * event, and nothing is to be planned. */
void receiver_hold(struct receiver *r, bool is_held);

/* Starts to close: what is posted fails with CLOSED, the peer is told. */
void receiver_close(struct receiver *r, instant now);
bool receiver_is_closed(const struct receiver *r);

/* The peer has confirmed the close, or need not. In the second case the receiver may not be closed
 * yet, because the peer's sender may still ask what has arrived: a caller that waits no longer has
 * closed in order nevertheless. */
bool receiver_is_confirmed(const struct receiver *r);

/* Both ends know that the connection ends, as sender_agree_close. */
void receiver_agree_close(struct receiver *r);

/* Of a receiver that stays: how its sender has closed, and so closes the connection. PEER_CLOSED:
 * all that it sent is here, CUT_OFF: not all. OK: it has not closed. */
enum outcome receiver_told(const struct receiver *r);

/* Of a receiver that stays: how it ends where the connection's sender has ended so. A peer that
 * closes in order says that all is sent (receiver_told) before that sender hears of its close: if
 * it has sent of messages and not said this, it has given some up. */
enum outcome receiver_end_beside(const struct receiver *r, enum outcome sender_ended);

/* Ends all messages with this outcome and leaves the session, if any. A close that is under way is
 * over. */
void receiver_fail(struct receiver *r, instant now, enum outcome outcome);

/* Of a receiver that stays: another sender is where its own was. Its messages have failed with
 * RESTARTED, and the other one is not answered. */
bool receiver_is_replaced(const struct receiver *r);

/* Of a receiver with keys: with what outcome its only session ended; OK: it goes on, or has not
 * begun. */
enum outcome receiver_ended(const struct receiver *r);

/* The session that its sender is bound in; 0, 0: none is. */
struct pairing receiver_pairing(const struct receiver *r);

const struct receiver_counters *receiver_counters(const struct receiver *r);

/* CHECKs the invariants, also of every ADT inside. O(everything); for tests. */
void receiver_check(const struct receiver *r);

#endif
