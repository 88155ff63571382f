/* The landing: where the next datagrams are pointed before they arrive, and the repair of what
 * came down elsewhere. Purely mechanical: it knows memory, segments and trailers, not messages.
 *
 * One opening takes one receive: a datagram, or, where the kernel hands over several of one size
 * in a row (UDP_GRO), a whole burst. Its pieces are a list of {slot, trailer scratch} pairs:
 *
 *     iov      slot 0    scratch 0   slot 1    scratch 1   ...   spill
 *     planned  data      trailer     data      trailer           (what was not foreseen)
 *     linear   |--------- segment 0 --------|--------- segment 1 ------- ...
 *
 * What arrives fills the pieces in order, as if they were one linear space. A segment is found in
 * it by its size alone and its trailer from the segment's end, so a plan with wrong sizes still
 * parses. If all came as planned, each segment's data is exactly one slot and nothing is moved.
 * Otherwise the caller asks for moves, and `landing_move_all` does them all at once: sources and
 * targets may overlap in any way, cycles included.
 *
 * A slot may be several pieces of memory, if a message lies in such. What was to lie in several
 * pieces and does not is copied to `bounce` when its move is asked for, unless it lies in the
 * landing's own memory, and from there to the pieces when all other moves are done.
 *
 * I1  no two pieces of a landing overlap.
 * I2  opening d owns iov[first[d]] .. iov[first[d + 1] - 1]; its last piece is spill.
 * I3  the pieces of an opening hold at least LANDING_DATAGRAM bytes, more than any datagram has:
 *     the spill that a slot of NULL uses comes back as a piece of its own.
 * I4  targets of moves do not overlap each other, nor what was asked for and lies there already.
 * I5  sources of moves do not overlap each other: no byte is asked for twice.
 *
 * Order of calls: begin, then per opening {offer..., seal}; the channel receives; then segments
 * are walked with next, moves asked for, and move_all ends it. */
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

/* Datagrams that are for somebody else, copied one behind the other: two bytes of length, then the
 * datagram. */
struct landing_mail {
    uint8_t *memory;
    size_t room, bytes;
};

struct landing {
    /* For the channel. It receives into first[d + 1] - first[d] pieces from iov[first[d]] on, and
     * fills `received`, and bytes and segment of the openings it filled, from 0 up. bytes[d] is
     * below LANDING_DATAGRAM; 0 drops the opening. segment[d] is the size of each datagram in the
     * opening but the last, which may be shorter; 0 means that all the bytes are one datagram.
     * ecn[d] is what IP's field of ECN says of all of them (enum landing_ecn). `is_spoilt`:
     * something landed that is not told of here, because the channel dropped it. */
    struct iovec iov[LANDING_IOV];
    uint16_t first[LANDING_OPENINGS + 1];
    uint32_t openings;
    uint32_t received;
    uint32_t bytes[LANDING_OPENINGS];
    uint32_t segment[LANDING_OPENINGS];
    uint8_t ecn[LANDING_OPENINGS];
    bool is_spoilt;

    /* Whose plan this is: units come from memory that only the peer can have written, so they
     * are not sealed, whether there are keys or not. Set before each plan. */
    bool is_near;

    /* The memory of all messages planned stays mapped until they have landed. Set before each
     * plan. */
    bool cannot_fault;
    bool is_present; /* no page of it is to come; set by the link, too */

    /* May bytes be written there? Asked before they are moved. NULL: they may anywhere. Set before
     * each plan. */
    bool (*is_writable)(const void *at, size_t bytes);

    /* Where control datagrams for the sender of a connection go, and, before there are keys, those
     * for the handshake. NULL: there is none. */
    struct landing_mail *mail;

    /* Whose newest plan this is, and of what: while nothing has landed and none of it has changed,
     * the plan stays good (receiver_plan). */
    struct landing_plan {
        const void *of; /* NULL: nobody's any more */
        uint64_t number, changes;
        uint32_t openings, pairs;
    } plan;

    /* Pieces that a slot may have, 1 to LANDING_SLOT_PIECES: the channel takes no more. Set before
     * each plan, if it is not as landing_init leaves it: at the most. */
    uint32_t slot_pieces;

    /* Its own. */
    uint32_t units;   /* slots offered so far, and their scratch */
    uint32_t pairs;   /* of pieces that these take, at most LANDING_UNITS */
    uint32_t pieces;  /* of iov in use, with the opening that is being planned */
    uint32_t spilled; /* bytes of that opening's spill that were given to slots of NULL */
    uint32_t max_openings;
    uint32_t bounced;      /* bytes of bounce in use, within move_all */
    struct iovec writable; /* what is_writable has said last that it may be written */
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

/* Bytes of caller's memory a landing needs for `openings` openings (spill and bounce). Most of it
 * is never touched while the network behaves. */
size_t landing_memory(uint32_t openings);

/* Binds the memory; 1 <= openings <= LANDING_OPENINGS (CHECKed). Cannot fail. */
void landing_init(struct landing *l, uint8_t *memory, uint32_t openings);

/* Forgets the last plan and starts a new one, with no opening. */
void landing_begin(struct landing *l);

/* Adds the pair {slot of `length` bytes, trailer scratch} to the opening that is being planned.
 * `slot` NULL takes the place in spill instead: something is expected there that has no place in a
 * message. A length-0 slot gets no piece of its own. False (nothing added) if the landing is full,
 * or `slot` is NULL and less than `length` bytes of the opening's spill are left. */
bool landing_offer(struct landing *l, uint8_t *slot, uint32_t length);

/* The same with a slot of 1 to LANDING_SLOT_PIECES pieces (CHECKed), none of them empty. */
bool landing_offer_pieces(struct landing *l, const struct iovec *piece, uint32_t pieces);

/* How many more pairs find room in the opening that is being planned. */
static inline uint32_t landing_room(const struct landing *l)
{
    return l->openings == l->max_openings ? 0 : LANDING_UNITS - l->pairs;
}

/* As landing_offer of a slot that has bytes, where there is room for it. */
static inline void landing_add(struct landing *l, uint8_t *slot, uint32_t length)
{
    l->iov[l->pieces] = (struct iovec){.iov_base = slot, .iov_len = length};
    l->iov[l->pieces + 1] =
        (struct iovec){.iov_base = l->trailer[l->units++], .iov_len = TRAILER_BYTES};
    l->pieces += 2;
    l->pairs++;
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

/* The pair of pieces that the next segment fills just as it was planned, if it is a datagram of
 * `size` bytes in a burst of such, has data, and fills one; else NULL. landing_skip_pair goes on
 * behind it. */
static inline const struct iovec *landing_pair(const struct landing *l,
                                               const struct landing_walk *walk, uint32_t size)
{
    const struct iovec *pair = &l->iov[walk->piece];
    bool fills = walk->opening < l->received && l->segment[walk->opening] == size &&
                 size > TRAILER_BYTES && (uint64_t)walk->at + size <= l->bytes[walk->opening] &&
                 walk->within == 0 && walk->piece + 1 < l->first[walk->opening + 1] &&
                 pair[0].iov_len == size - TRAILER_BYTES && landing_is_scratch(l, &pair[1]);
    return fills ? pair : NULL;
}

static inline void landing_skip_pair(struct landing_walk *walk, uint32_t size)
{
    walk->at += size;
    walk->piece += 2;
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

/* Asks that bytes [from, from + length) of the segment's data, all but its last 32 bytes (CHECKed),
 * get to `to`. What lies there already costs nothing. Returns the bytes that will be moved, or
 * UINT32_MAX if there is no room for more moves (then nothing was asked for; the unit has to be
 * refused). */
uint32_t landing_move(struct landing *l, const struct segment *segment, uint32_t from,
                      uint32_t length, uint8_t *to);

/* The same to bytes [offset, offset + length) of memory in several pieces, where these lie in more
 * than one. What lies there already costs nothing, if all of it does. UINT32_MAX also if bounce is
 * full. */
uint32_t landing_move_to_pieces(struct landing *l, const struct segment *segment, uint32_t from,
                                uint32_t length, const struct pieces *pieces, uint64_t offset);

/* May `bytes` be written at `to`? Asks for up to 64 KiB of the `room` that there is behind it, so
 * that what follows need not be asked for. */
bool landing_may_write(struct landing *l, uint8_t *to, uint64_t bytes, uint64_t room);

/* Cancels the moves that were asked for since there were `moves` of them. */
void landing_take_back(struct landing *l, uint32_t moves);

/* Does all moves asked for; there are none afterwards. Each byte is copied once, and once more for
 * each cycle it has to break: not at all if the moves run one way, as after a single loss. Finding
 * the order takes about O(moves log moves), whatever the network did. */
void landing_move_all(struct landing *l);

/* CHECKs I1 to I5, between any two calls. O(pieces^2 + moves^2). */
void landing_check(const struct landing *l);

#endif
