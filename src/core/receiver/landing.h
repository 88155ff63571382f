/* The landing: a plan of where the next datagrams are to land, and the moves of bytes that landed
 * elsewhere. It knows memory, segments and trailers; it knows no messages.
 *
 * One opening is for one receive: a datagram, or, where the kernel joins datagrams of one size
 * (UDP_GRO), a whole burst. Its pieces are a list of {slot, trailer scratch} pairs:
 *
 *     iov      slot 0    scratch 0   slot 1    scratch 1   ...   spill
 *     planned  data      trailer     data      trailer           (what was not planned)
 *     linear   |--------- segment 0 --------|--------- segment 1 ------- ...
 *
 * Arriving bytes fill the pieces in order, as if these were one linear space. Only a segment's size
 * says where it begins, and its trailer is at its end, so the landing also parses datagrams of
 * other sizes than planned. If all datagrams are as planned, each segment's data fill exactly one
 * slot, and nothing is moved. Otherwise the caller asks for moves, and `landing_move_all` does them
 * all at once: sources and targets may overlap in any way, cycles included.
 *
 * If a message lies in several pieces, a slot may have several pieces, too. Data that belong in
 * several pieces and landed elsewhere are copied to `bounce` when the caller asks for the move,
 * unless they are in the landing's own memory, and to their pieces when all other moves are done.
 *
 * I1  no two pieces of a landing overlap.
 * I2  opening d owns iov[first[d]] .. iov[first[d + 1] - 1]; its last piece is spill.
 * I3  the pieces of an opening hold at least LANDING_DATAGRAM bytes, more than any datagram has:
 *     the spill that a slot of NULL uses comes back as a piece of its own.
 * I4  targets of moves overlap neither each other nor data that the caller asked for and that are
 *     in place already.
 * I5  sources of moves do not overlap each other: the caller asks for no byte twice.
 *
 * If the user receives two messages into the same memory, I1, I4 and I5 do not hold. Then that
 * memory has any of their bytes, and all other memory the right ones: what is stashed is never more
 * than what was received.
 *
 * Order of calls: begin; {offer..., seal} for each opening; the channel receives; next for each
 * segment, and a move for each that landed elsewhere; move_all. */
#ifndef ZCRP_CORE_LANDING_H
#define ZCRP_CORE_LANDING_H

#include "core/adt/pieces.h"
#include "core/wire/datagram.h"

#include <sys/uio.h>

enum {
    LANDING_UNITS = 136,   /* pairs, over all openings: three joined bursts on Ethernet */
    LANDING_OPENINGS = 32, /* receives per system call at most */
    LANDING_IOV = 2 * LANDING_UNITS + LANDING_OPENINGS,
    LANDING_DATAGRAM = 65536,          /* room for any datagram or burst, and a byte more */
    LANDING_MOVES = 4 * LANDING_UNITS, /* contiguous pieces to move */
    LANDING_SPILL = LANDING_DATAGRAM,  /* spill bytes per opening */
    LANDING_SLOT_PIECES = 16,          /* pieces of memory in one slot */
};

/* Explicit congestion notification (RFC 3168, 5). */
enum landing_ecn {
    LANDING_ECN_NONE = 0,      /* not capable, or the channel cannot tell */
    LANDING_ECN_CONGESTED = 3, /* congestion experienced; 1 and 2: capable, and it has not */
};

/* How far a move has come; used while moving. */
enum landing_move_state {
    MOVE_ASKED,
    MOVE_WAITS, /* for those whose source lies in its target */
    MOVE_DONE,
};

/* One copy of contiguous bytes that is still to be done. */
struct landing_move {
    uint8_t *to;                 /* NULL: to several pieces, */
    const struct pieces *pieces; /* these, */
    uint64_t offset;             /* from this byte of them on */
    const uint8_t *from;         /* where it landed, or its copy in bounce */
    const uint8_t *stash;        /* its copy in bounce, or NULL; then `from` may be overwritten */
    uint32_t length;             /* bytes, not 0 */
    uint32_t obstacle;           /* index of the next move that may be in its way */
    enum landing_move_state state;
};

/* Copies of the datagrams that are not for this receiver: two bytes of length, then the datagram,
 * and so on. */
struct landing_mail {
    uint8_t *memory;
    size_t room, bytes;
};

struct landing {
    /* For the channel. It receives into first[d + 1] - first[d] pieces from iov[first[d]] on, and
     * fills `received`, and bytes and segment of the openings it filled, from 0 up. bytes[d] is
     * below LANDING_DATAGRAM; 0 drops the opening. segment[d] is the size of each datagram in the
     * opening but the last, which may be shorter; 0 means that all the bytes are one datagram.
     * ecn[d] is the ECN field of all their IP headers (enum landing_ecn). `is_spoilt`: bytes landed
     * that `received` does not count, because the channel dropped them. */
    struct iovec iov[LANDING_IOV];
    uint16_t first[LANDING_OPENINGS + 1];
    uint32_t openings;
    uint32_t received;
    uint32_t bytes[LANDING_OPENINGS];
    uint32_t segment[LANDING_OPENINGS];
    uint8_t ecn[LANDING_OPENINGS];
    bool is_spoilt;

    /* The plan is for units from shared memory. Only the peer can have written these, so they are
     * not sealed, whether there are keys or not. Set before each plan. */
    bool is_near;

    /* The memory of all messages planned stays mapped until they have landed. Set before each
     * plan. */
    bool cannot_fault;
    bool is_present; /* no page of it is to come; set by the link, too */

    /* May the bytes at this address be written? The landing asks before it moves bytes there. NULL:
     * all may. Set before each plan. */
    bool (*is_writable)(const void *at, size_t bytes);

    /* Takes control datagrams for the sender of a connection, and, before there are keys, datagrams
     * for the handshake. NULL: there is none. */
    struct landing_mail *mail;

    /* The newest plan's receiver, and what the plan was made from. The plan stays valid until
     * something lands, or one of these changes (receiver_plan). */
    struct landing_plan {
        const void *of; /* NULL: nobody's any more */
        uint64_t number, changes;
        uint32_t openings, pairs;
    } plan;

    /* The most pieces of a slot that the channel takes, 1 to LANDING_SLOT_PIECES. landing_init sets
     * the most; set before each plan if the channel takes fewer. */
    uint32_t slot_pieces;

    /* Its own. */
    uint32_t units;   /* slots offered so far, and their scratch */
    uint32_t pairs;   /* of pieces that these take, at most LANDING_UNITS */
    uint32_t pieces;  /* of iov in use, with the opening that is being planned */
    uint32_t spilled; /* bytes of that opening's spill that were given to slots of NULL */
    uint32_t max_openings;
    uint32_t bounced;      /* bytes of bounce in use, within move_all */
    struct iovec writable; /* the last memory for which is_writable was true */
    uint8_t *spill;        /* caller's memory: max_openings x LANDING_SPILL */
    uint8_t *bounce;       /* caller's memory: max_openings x LANDING_DATAGRAM, for cycles */
    uint8_t trailer[LANDING_UNITS][TRAILER_BYTES];
    uint32_t moves;
    struct landing_move move[LANDING_MOVES];
};

/* A place in the walk over what arrived; all zero at the start. */
struct landing_walk {
    uint32_t opening;
    uint32_t at;     /* linear start of the segment within its opening */
    uint32_t piece;  /* iov index where that is */
    uint32_t within; /* and the byte within that piece */
};

/* One datagram as it landed. Valid until move_all. */
struct segment {
    uint32_t bytes;              /* the whole datagram; not 0 */
    uint8_t tail[TRAILER_BYTES]; /* its last 32 bytes; of a shorter one all, behind zeros */
    const uint8_t *data;         /* where its first byte landed */
    bool is_contiguous;          /* all but the last 32 bytes landed in one piece from there */
    bool is_as_planned;          /* these fill a slot, of one piece or several, and the last 32 lie
                                    in scratch */
    uint8_t ecn;                 /* enum landing_ecn */
    struct landing_walk start;
};

/* Do its data fill a slot of one piece? Pieces that a channel has brought from several places
 * (AAL5) may look like a slot of several: only the first of them is known to lie where the data
 * begin. */
static inline bool segment_fills_piece(const struct segment *s)
{
    return s->is_as_planned && s->is_contiguous;
}

/* Bytes of caller's memory a landing needs for `openings` openings (spill and bounce). Most of it
 * is never touched while the network behaves. */
size_t landing_memory(uint32_t openings);

/* Binds the memory; 1 <= openings <= LANDING_OPENINGS (CHECKed). Cannot fail. */
void landing_init(struct landing *l, uint8_t *memory, uint32_t openings);

/* Forgets the last plan and starts a new one, with no opening. */
void landing_begin(struct landing *l);

/* Adds the pair {slot of `length` bytes, trailer scratch} to the opening that is being planned.
 * `slot` NULL: the data have no place in a message, and take the next bytes of the spill. A slot of
 * 0 bytes gets no piece of its own. False (nothing added) if the landing is full, or if `slot` is
 * NULL and less than `length` bytes of the opening's spill are left. */
bool landing_offer(struct landing *l, uint8_t *slot, uint32_t length);

/* The same with a slot of 1 to LANDING_SLOT_PIECES pieces (CHECKed), none of them empty. */
bool landing_offer_pieces(struct landing *l, const struct iovec *piece, uint32_t pieces);

/* How many more pairs find room in the opening that is being planned. */
static inline uint32_t landing_room(const struct landing *l)
{
    return l->openings == l->max_openings ? 0 : LANDING_UNITS - l->pairs;
}

/* Where there is room: writes pair n, from 0 on, behind those that are there, with a slot that has
 * bytes. They count once landing_add has added them all. */
static inline void landing_write(struct landing *l, uint32_t n, uint8_t *slot, uint32_t length)
{
    struct iovec *pair = &l->iov[l->pieces + 2 * n];
    pair[0] = (struct iovec){.iov_base = slot, .iov_len = length};
    pair[1] = (struct iovec){.iov_base = l->trailer[l->units + n], .iov_len = TRAILER_BYTES};
}

static inline void landing_add(struct landing *l, uint32_t pairs)
{
    l->pieces += 2 * pairs;
    l->units += pairs;
    l->pairs += pairs;
}

/* Adds up to `count` pairs for slots that follow on each other, each of `length` bytes, not 0
 * (CHECKed). Returns how many found room. */
uint32_t landing_offer_row(struct landing *l, uint8_t *slot, uint32_t length, uint32_t count);

/* Ends the opening with its spill, so that any datagram fits. False (nothing added) when there
 * are max_openings already. An opening without pairs is one: all of it goes to spill. */
bool landing_seal(struct landing *l);

/* Is the piece scratch, where a trailer is to come? Else it is the user's memory. */
static inline bool landing_is_scratch(const struct landing *l, const struct iovec *piece)
{
    return (uintptr_t)piece->iov_base - (uintptr_t)l->trailer < sizeof l->trailer;
}

/* Does a datagram of `size` bytes fill these two pieces, a slot and scratch? */
static inline bool landing_fills_pair(const struct landing *l, const struct iovec *pair,
                                      uint32_t size)
{
    return pair[0].iov_len == size - TRAILER_BYTES && landing_is_scratch(l, &pair[1]);
}

/* The pair of pieces that the next segment fills just as it was planned, if it is a datagram of
 * `size` bytes in a burst of such, has data, and fills one; else NULL. landing_skip_pairs goes on
 * behind it. */
static inline const struct iovec *landing_pair(const struct landing *l,
                                               const struct landing_walk *walk, uint32_t size)
{
    const struct iovec *pair = &l->iov[walk->piece];
    bool fills = walk->opening < l->received && l->segment[walk->opening] == size &&
                 size > TRAILER_BYTES && (uint64_t)walk->at + size <= l->bytes[walk->opening] &&
                 walk->within == 0 && walk->piece + 1 < l->first[walk->opening + 1] &&
                 landing_fills_pair(l, pair, size);
    return fills ? pair : NULL;
}

/* The number of segments that may fill the next pairs of this opening, if each has `size` bytes:
 * landing_fills_pair tells whether one of them does. */
static inline uint32_t landing_pairs(const struct landing *l, const struct landing_walk *walk,
                                     uint32_t size)
{
    if (walk->opening >= l->received || l->segment[walk->opening] != size ||
        size <= TRAILER_BYTES || walk->within != 0 || walk->at >= l->bytes[walk->opening])
        return 0;
    uint32_t segments = (l->bytes[walk->opening] - walk->at) / size;
    uint32_t pairs = (l->first[walk->opening + 1] - walk->piece) / 2;
    return segments < pairs ? segments : pairs;
}

static inline void landing_skip_pairs(struct landing_walk *walk, uint32_t size, uint32_t pairs)
{
    walk->at += pairs * size;
    walk->piece += pairs * 2;
}

/* The next segment that arrived; false at the end. A constant number of steps if it came as
 * planned, else one for each piece that it touches. */
bool landing_next(const struct landing *l, struct landing_walk *walk, struct segment *segment);

/* Lists the pieces of memory that the segment landed in, none of them empty. Returns how many. */
uint32_t landing_list(const struct landing *l, const struct segment *segment,
                      struct iovec pieces[LANDING_IOV]);

/* Copies the segment, of at most UINT16_MAX bytes, to the mail, if there is one with room for it.
 * False if not: then it is as good as lost. */
bool landing_post(struct landing *l, const struct segment *segment);

/* Takes the next datagram out of the mail, which stays good until something is posted; 0 bytes:
 * there is none. `at` is 0 at first. */
size_t landing_mail_next(const struct landing_mail *mail, size_t *at, const uint8_t **datagram);

/* Asks for a move of bytes [from, from + length) of the segment's data, which end before its last
 * 32 bytes (CHECKed), to `to`. Bytes that are there already cost nothing. Returns the number of
 * bytes that will be moved. UINT32_MAX: there is no room for more moves, and the caller has to
 * refuse the unit. */
uint32_t landing_move(struct landing *l, const struct segment *segment, uint32_t from,
                      uint32_t length, uint8_t *to);

/* The same to bytes [offset, offset + length) of a message in several pieces, if these bytes lie in
 * more than one. It costs nothing if all bytes are there already. UINT32_MAX also if bounce is
 * full. */
uint32_t landing_move_to_pieces(struct landing *l, const struct segment *segment, uint32_t from,
                                uint32_t length, const struct pieces *pieces, uint64_t offset);

/* May `bytes` be written at `to`? Asks is_writable for up to 64 KiB of the `room` bytes from `to`
 * on, so that the next bytes need no question. */
bool landing_may_write(struct landing *l, uint8_t *to, uint64_t bytes, uint64_t room);

/* Cancels all moves but the first `moves`. */
void landing_take_back(struct landing *l, uint32_t moves);

/* Does all moves asked for; there are none afterwards. Each byte is copied once, and once more for
 * each cycle it has to break: not at all if the moves run one way, as after a single loss. Finding
 * the order takes about O(moves log moves), whatever the network did. */
void landing_move_all(struct landing *l);

/* CHECKs I1 to I5, between any two calls. O(pieces^2 + moves^2). */
void landing_check(const struct landing *l);

#endif
