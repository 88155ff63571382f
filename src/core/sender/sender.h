/* The sender protocol entity (ZCRP 1.7.1) as a pure machine: facts and the time go in, bursts and
 * events come out. It owns no thread, clock or socket; the caller serialises the calls.
 *
 *     submit ---> messages ---> units to send ---take---> (channel) ---sent--->
 *                                     ^                                  units in transit
 *     event <--- outcome              \--- lost, timed out ----------------/   |
 *                                                        receive (acks) --------/
 *
 * `take` pins the messages of a burst and enters its units in transit at once: an acknowledgement
 * may arrive while the channel still reads the user's memory. A message's event leaves only when
 * all is acknowledged and nothing is pinned. So every burst taken must be given to `sent`.
 *
 * I1  the invariants of the parts (sender_state.h shows them).
 * I2  congestion control counts in units of the size that the path has.
 * I3  at most min(congestion window, receiver's capacity, own limit) bytes are in transit, or one
 *     unit, plus two units a probe timeout. */
#ifndef ZCRP_CORE_SENDER_H
#define ZCRP_CORE_SENDER_H

#include "core/adt/arena.h"
#include "core/adt/pieces.h"
#include "core/congestion/congestion.h"
#include "core/instant.h"
#include "core/keys/seal.h"
#include "core/outcome.h"
#include "core/wire/burst.h"
#include "core/wire/secret.h"

struct sender;

struct sender_config {
    uint32_t unit_bytes; /* largest datagram at first, trailer included; at least 64, */
    uint32_t unit_most;  /* and ever: at least that; 0: as much */
    bool stays;        /* it wants its peer also when there is nothing to send, and ends with it */
    bool is_caller;    /* it has keys, and may come to another address: it answers challenges */
    bool was_called;   /* its peer has called this end: if they are never paired, it is silent */
    bool is_cut;       /* on the way, into pieces that can be lost each by itself: as cells */
    bool is_offloaded; /* the kernel cuts bursts, as far as it can (offload_path.h) */
    uint32_t burst_units;   /* most datagrams in a burst, 1 .. BURST_UNITS */
    uint32_t burst_bytes;   /* most bytes in a burst; at least unit_bytes */
    uint32_t call_bytes;    /* of them, that are worth a call by themselves; 0: all */
    uint32_t messages;      /* in the table; rounded up to a power of two */
    uint32_t transit_units; /* in transit; rounded up to a power of two */
    uint64_t window_bytes;  /* largest window */
    duration connect;       /* not paired by then, with something outstanding: fail */
    duration refusal;   /* refused by the system for this time, and never answered: fail; 0: that
                           changes nothing */
    duration silence;   /* paired once, and nothing from the peer for this time: fail */
    duration gone;      /* the same, but refused by the system; 0: that changes nothing */
    duration progress;  /* nothing in transit acknowledged for this time: fail */
    duration keepalive; /* of a sender that stays: a sign of life at least so often; 0: five
                           seconds */
    /* None of these, added to the time, may pass NEVER. */
    enum congestion_kind congestion;
    struct secret secret;    /* tags, nonces and what is left out come from here */
    struct keyring *keyring; /* (c) NULL: nothing is sealed. What it sends is sealed by whoever
                                takes it; it asks for no receiver, but takes the keyring's
                                pairing once something comes that was sealed in it */
    uint32_t first_message;  /* 0; a test starts elsewhere, both ends alike */
    uint32_t first_seq;
};

struct sender_counters {
    uint64_t bytes;      /* of data acknowledged */
    uint64_t units;      /* sent, first time or again */
    uint64_t repeated;   /* of those, again */
    uint64_t lost;       /* given up on a negative acknowledgement or by time */
    uint64_t spurious;   /* of those, acknowledged after all */
    uint64_t marks;      /* datagrams that met congestion, as the receiver says */
    uint64_t probes;     /* probe timeouts */
    uint64_t persistent; /* times that congestion was, RFC 9002, 7.6 */
    uint64_t bursts;
    uint64_t acks, requests, hellos, offers;
    uint64_t path_probes, path_answers; /* of larger units, sent and answered */
    uint64_t path_falls;                /* the path took large units no more, without a word */
    uint64_t offload_failures;          /* bursts that the kernel cuts do not arrive */
    uint64_t moves;                     /* to another address of the peer's, or of its own */
    uint64_t wholes;                    /* messages that went as a whole */
    uint64_t left_out;                  /* sequence numbers */
    uint64_t drop_short, drop_version, drop_type, drop_malformed, drop_session, drop_number;
    uint64_t table_full; /* submits refused */
};

/* Bytes of memory for a sender; O(1). */
struct arena_bytes sender_bytes(const struct sender_config *config);

/* Makes a sender in the caller's memory, which must outlive it, and at whose start it lies: the
 * near and the far block (arena.h), aligned to ARENA_ALIGNMENT. Cannot fail. */
struct sender *sender_init(void *near, void *far, const struct sender_config *config, instant now);

/* Has nothing been heard or sent for so long that a sign of life is due? O(1). */
bool sender_is_quiet(const struct sender *s, instant now);

/* Moves tables back to the near block as far as possible, and forgets what was only of use while
 * datagrams were under way. Returns how many bytes of the far block are in use, from its start on:
 * the others need not keep what they hold. SIZE_MAX if the sender has anything to do: then nothing
 * happened. */
size_t sender_rest(struct sender *s);

/* Queues a message; `*number` names it for cancel. False when the table is full or a close is under
 * way; then nothing happened. The buffer is borrowed until the message's event. The message fails
 * at once (PEER_CLOSED) while a peer that has closed is asked what it has (sender_parting.c). */
bool sender_submit(struct sender *s, instant now, void *user, const uint8_t *buffer, uint64_t size,
                   uint64_t *number);

/* The same of a message whose first `size` bytes lie in these pieces, which are borrowed until
 * then, too, with their table. They may overlap. */
bool sender_submit_pieces(struct sender *s, instant now, void *user, const struct pieces *pieces,
                          uint64_t size, uint64_t *number);

/* May submit look at `now`? If not, and something is in transit, it moves no deadline. */
bool sender_times_submit(const struct sender *s);

/* Is there an event to take? Submit ends a message at once for which the peer is known to have too
 * small a buffer, or to have withdrawn it. */
bool sender_has_event(const struct sender *s);

/* Is anything on its way that was not acknowledged yet? */
bool sender_is_in_transit(const struct sender *s);

/* Cancels a message; its event follows (at once, unless it is pinned). False if it is over, or
 * its end is decided already. */
bool sender_cancel(struct sender *s, instant now, uint64_t number);

/* Fills the next burst; false if there is nothing to send now. */
bool sender_take(struct sender *s, instant now, struct burst *burst);

/* Would take fill a burst? Time aside: it may say yes until take has asked the pace, and no until
 * expire has. O(1) but for repeats of messages that are over. */
bool sender_has_burst(struct sender *s);

/* Does this message, which was submitted, give nothing to send? No buffer of the peer's is known
 * for it, and the peer does not ask for offers. */
bool sender_awaits_buffer(const struct sender *s, uint64_t number);

/* May take fill another burst, where one has just left? If not, nothing but time or news changes
 * that. */
bool sender_has_more(struct sender *s);

/* The keyring is ready, and the peer is known to have it: the session begins. */
void sender_admit(struct sender *s, instant now);

/* ---- before the peer has admitted this side ----
 *
 * The handshake may give credit: the peer names its first buffers before it knows who calls. So
 * some units may leave with the last bytes of the handshake. They come to a listener that has no
 * connection yet, and that keeps a few small datagrams for it. */

enum {
    EARLY_DATA = 1024, /* most bytes of data in a unit, */
    EARLY_UNITS = 10,  /* and units in transit, without a probe timeout's (RFC 6928) */
};

/* The keyring is ready, and the peer has `count` buffers of `size` bytes. The session begins.
 * The sender goes on looking for its peer, with the limit of time that this has, until something
 * comes that was sealed in the session, or sender_admit. */
void sender_admit_early(struct sender *s, instant now, uint32_t count, uint64_t size);

/* The keyring is not ready any more: the peer has forgotten the handshake before this side was
 * admitted. The session counts as never begun, and the limit of time goes on. False, and nothing
 * has changed, if units were sent early: nobody knows what has become of them. */
bool sender_unbind(struct sender *s, instant now);

/* Has the session begun, and is the peer known to be in it? */
bool sender_is_admitted(const struct sender *s);

/* The channel took the first `sent` datagrams of the burst; the others are sent again. */
void sender_sent(struct sender *s, instant now, const struct burst *burst, uint32_t sent);

/* As sender_sent, for a burst in which each unit pins its message, and whose first `sent` units the
 * channel reads later: each holds its message until it is let go. */
void sender_held(struct sender *s, const struct burst *burst, uint32_t sent);
void sender_let_go(struct sender *s, uint64_t message);

/* Is the message's outcome known already, or is it over? */
bool sender_is_decided(struct sender *s, uint64_t number);

/* ---- another address ----
 *
 * With keys the side that connected may come to another address, which the other side finds out
 * (core/path/address_check.h). Its sender answers challenges by itself. */

/* The path is another one from now on, which takes datagrams as config.unit_bytes and .unit_most
 * say: the size of units, congestion control and all that was learnt of the path begin anew.
 * Whatever is in transit is lost, and sent again. Says hello at once. */
void sender_on_moved(struct sender *s, instant now, uint32_t unit_bytes, uint32_t unit_most);

/* Says hello within the pairing, whatever is in transit: to be seen where it is. */
void sender_show(struct sender *s);

/* When the peer's last datagram came, or the first unit in transit left, whichever is later. */
instant sender_awaits_since(const struct sender *s);

/* ---- messages as a whole ----
 *
 * Where both ends share memory that loses nothing, a small message may go as a whole, beside
 * everything else: it is no datagram, has no sequence number, and nothing acknowledges it. It comes
 * back if the receiver declines it, or does not read, and is then sent in units. */

struct whole {
    uint64_t number;     /* this machine's */
    uint64_t in_session; /* the same, counted from the session's first: the peer's is the same */
    void *user;
    const uint8_t *buffer;
    const struct pieces *pieces; /* NULL: it lies in the buffer */
    uint64_t size;
};

/* The next message, if it may go as a whole: it has `most` bytes at most, a buffer at the receiver,
 * and nothing is to be sent before it. False if not. O(1) but for repeats of what is over. */
bool sender_whole(struct sender *s, uint32_t most, struct whole *whole);

/* That message goes so; its buffer is not read any more. */
void sender_put_whole(struct sender *s, const struct whole *whole);

/* Is nothing to be done before a message that is submitted now, which so may go as a whole at once?
 * If so it stays so while only the next two functions and sender_wholes_arrived are called. O(1).
 */
bool sender_lets_pass(struct sender *s);

/* While it lets pass. Is there room for that message? Then `*whole` has its numbers, and `*posted`
 * the size of the buffer that the receiver has for it, or SENDER_UNKNOWN. Larger is only a buffer
 * that was withdrawn. False also for the first of a sender that does not stay. O(1). */
#define SENDER_UNKNOWN (UINT64_MAX - 1)
bool sender_next_whole(struct sender *s, struct whole *whole, uint64_t *posted);

/* Submits that message, whose user, buffer and size `whole` has by now, to a buffer of `posted`
 * bytes, which are enough: it goes so. As sender_submit and sender_put_whole. */
void sender_submit_whole(struct sender *s, const struct whole *whole, uint64_t posted);

/* Somebody copies its bytes, for which it stays out until sender_let_go. Then: is it out as a whole
 * still? Not if it was cancelled or failed meanwhile. */
void sender_pin_whole(struct sender *s, uint64_t number);
bool sender_is_whole(struct sender *s, uint64_t number);

/* The receiver has taken it; or it comes back. Nothing happens if it is over meanwhile. */
void sender_whole_arrived(struct sender *s, instant now, uint64_t number);
void sender_whole_came_back(struct sender *s, instant now, uint64_t number);

/* The receiver has taken `count` of them, from `number` on. They are over; each one's user is to be
 * told now, and its length is what it was submitted with. How many: the others count as arrived,
 * and what becomes of them is an event. */
uint32_t sender_wholes_arrived(struct sender *s, instant now, uint64_t number, uint32_t count,
                               void *user[]);

/* Credit: the receiver has a buffer of `size` for the message of this number in the session. False
 * if it is too far ahead to be kept. */
bool sender_credit(struct sender *s, uint64_t in_session, uint64_t size);

/* Which buffer the sender needs next, because something is to be sent; false if none. */
bool sender_lacks_buffer(struct sender *s, uint64_t *in_session);

/* The first message for which the receiver of a pairing has announced no buffer yet, counted from
 * 1; 0: there is none. */
uint64_t sender_blocked_message(const struct sender *s);

/* From now on units go straight to the receiver's memory, or by the network again: without a path
 * there is nothing to control but how much is in transit. */
void sender_set_near(struct sender *s, bool is_near);

/* The session that it is paired in, and its peer, too; 0, 0: none. */
struct pairing sender_pairing(const struct sender *s);

/* A datagram arrived on the acknowledgement channel. */
void sender_receive(struct sender *s, instant now, const uint8_t *datagram, size_t size);

/* The same, through memory that only the peer can have written: it is not sealed, whether there are
 * keys or not. */
void sender_receive_near(struct sender *s, instant now, const uint8_t *datagram, size_t size);

/* Does what is due by the time. */
void sender_expire(struct sender *s, instant now);

/* When expire has something to do next; NEVER if nothing. O(1). */
instant sender_deadline(const struct sender *s);

/* The next event; false if there is none. */
bool sender_event(struct sender *s, struct event *event);

/* This machine's interface takes no datagram of `bytes`: units are smaller from now on. False if
 * they cannot be (they have 64 bytes). */
bool sender_on_refused_size(struct sender *s, instant now, uint32_t bytes);

/* The kernel has refused to cut bursts, and is not asked again. */
void sender_on_uncut(struct sender *s);

/* Hints of the system, which anybody on the network may have caused: a datagram was too big, or
 * could not be delivered. The first hint starts a probe of the path. The second one names the
 * failure of a sender that is never paired, and brings the failure forward if several hellos get no
 * other answer (config.refusal). Neither does more. */
void sender_on_path_hint(struct sender *s, instant now);
void sender_on_refused(struct sender *s, instant now);

/* A hint, too: nobody listens at the peer's port. A sender that is paired asks whether the peer is
 * there. If all questions get only this hint in reply, the peer is silent (config.gone). */
void sender_on_closed_port(struct sender *s, instant now);

/* With keys: something of the handshake has left, in place of a hello. */
void sender_on_handshake_sent(struct sender *s, instant now);

/* The sender has received all that had arrived for it, or nothing had. True if that brings the
 * deadline forward. */
bool sender_on_listened(struct sender *s);

/* The connection's receiver has a datagram of the peer: it is there. */
void sender_on_peer_heard(struct sender *s);

/* The peer is there, as its handshake shows. `unpaired` is why a sender that is never paired fails
 * from now on: KEYS: the peer does not take the keys of this side (yet); NOT_ADMITTED: it does;
 * UNREACHABLE: that was another peer, and nothing is known of the one that is there now. */
void sender_on_keys(struct sender *s, enum outcome unpaired);

/* The memory of a message in flight cannot be read. It fails at both ends; the others go
 * on. False if it is over. */
bool sender_fault(struct sender *s, uint64_t number);

/* Piece i of the memory of a message whose event was not taken; there is one if it lies in one
 * place. False: there are no more, or the message's event was taken. */
bool sender_piece(struct sender *s, uint64_t number, uint32_t i, struct iovec *piece);

/* When a sender that is not paired gives up; NEVER: it does not. */
instant sender_gives_up_at(const struct sender *s);

/* When something in transit was last acknowledged, or the sender was made. */
instant sender_progress_at(const struct sender *s);

/* Should units be sent as capable of ECN? Not early ones, nor any once the path turns out to erase
 * that, or to swallow them (ecn_path.h), until an end moves. */
bool sender_wants_ecn(const struct sender *s);

/* Starts to close: no submit any more; when all that the peer has buffers for is over it is told.
 */
void sender_close(struct sender *s, instant now);

/* Both ends know that the connection ends: the peer closes it, too. It may be gone before its
 * confirmation has arrived, and repeat it for nobody. So a close that is not confirmed is not said
 * as often, and counts as confirmed. Before the close or after it began. */
void sender_agree_close(struct sender *s);

/* Does the peer know of the close, once that is confirmed? Else there was nobody to tell. */
bool sender_has_told_close(const struct sender *s);

/* Is a message left whose event was not taken? Or one that was neither refused nor ended? */
bool sender_has_messages(const struct sender *s);
bool sender_has_live(const struct sender *s);

/* A close is under way and takes too long: what is left fails with CLOSED, and with the next burst
 * the peer is told, once: also that it was cut off, if messages are left that it waits for, or
 * `is_cut`: others that never came here. */
void sender_give_up(struct sender *s, bool is_cut);

/* Does it ask for a receiver: also while it closes, if messages are left? */
bool sender_is_asking(const struct sender *s);

/* How a sender that stays is linked to its peer; and with what outcome that ended. */
enum peer_link sender_link(const struct sender *s);
enum outcome sender_ended(const struct sender *s);

/* The peer has confirmed the close, or there is none, or it does not answer. */
bool sender_is_closed(const struct sender *s);

/* True if the peer confirmed, or there never was one. */
bool sender_is_confirmed(const struct sender *s);

/* Ends all messages with this outcome and leaves the session, if any. What else becomes of a peer
 * that has closed (sender_parting.c) changes nothing: that counts as PEER_CLOSED. */
void sender_fail(struct sender *s, instant now, enum outcome reason);

const struct sender_counters *sender_counters(const struct sender *s);

/* Present values: all in bytes or ns. */
struct sender_gauges {
    uint64_t window, in_transit, capacity, unit, path;
    uint64_t rate; /* bytes a second; 0: not paced */
    duration rtt_smoothed, rtt_lowest;
};
struct sender_gauges sender_gauges(const struct sender *s);

/* CHECKs the invariants, also of every ADT inside. O(everything); for tests. */
void sender_check(const struct sender *s);

#endif
