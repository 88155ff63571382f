/* Units to send (ZCRP 1.7.1): the repeats, first of all, then what the messages' cursor still has
 * to cut. A unit is never an object: a repeat is a byte range of a message, new units are cut from
 * the message at the cursor when they are taken.
 *
 *     head ->  [repeat][repeat] ...  then  message c from its cursor on, then c + 1, ...
 *
 * I1  repeats <= capacity.
 * I2  every message before the cursor is wholly cut, or over. */
#ifndef ZCRP_CORE_UNITS_TO_SEND_H
#define ZCRP_CORE_UNITS_TO_SEND_H

#include "messages_out.h"

/* The bytes that one unit will carry. */
struct fragment {
    uint64_t message;           /* message number */
    struct message_out *source; /* that message; only in a head, until it is taken */
    uint64_t offset;
    uint32_t length;
    bool is_last;
    bool is_void;
    bool is_repeat;
    bool is_split;        /* its bytes lie in several pieces of memory; only in a head */
    uint64_t predecessor; /* of a repeat: the transmission given up, or UNIT_NEVER_SENT */
};

/* A row of more than one unit whose head is the last of its message is a row of whole messages. */
static inline bool fragment_heads_messages(const struct fragment *head, uint32_t count)
{
    return head->is_last && count > 1;
}

struct units_to_send {
    struct fragment *repeat; /* ring, caller's memory */
    uint32_t capacity;       /* a power of two */
    uint32_t first, count;   /* of the ring */
    uint64_t cursor;         /* message number */
    struct messages_out *messages;
};

/* Empty, the cursor on message number `first`. `messages` is borrowed. */
void units_to_send_init(struct units_to_send *u, struct messages_out *messages,
                        struct fragment *memory, uint32_t capacity, uint64_t first);

/* Queues a repeat behind the repeats that wait already. Needs room (CHECKed). */
void units_to_send_repeat(struct units_to_send *u, const struct fragment *fragment);

/* Joins a part that was taken off the oldest repeat to it again; false, with nothing changed, if
 * that does not go on where the part ends. */
bool units_to_send_rejoin(struct units_to_send *u, const struct fragment *fragment);

/* Puts the repeats in the order of messages, and of their bytes, and drops those whose message has
 * ended. O(count log count). */
void units_to_send_sort(struct units_to_send *u);

/* The same, and joins those that follow on each other. */
void units_to_send_join(struct units_to_send *u);

/* Takes the oldest repeat out of the queue again; there is one (CHECKed). The caller counts it as
 * arrived in its message, or queues it anew. */
struct fragment units_to_send_pop(struct units_to_send *u);

/* Writes the unit that would be taken next, with at most `max` bytes of data (a multiple of GRAIN),
 * which lie in at most UNIT_PIECES pieces of the message's memory; false if there is none. Repeats
 * of messages that have ended are dropped on the way; a repeat longer than that is cut. Messages go
 * in the order of their numbers, each once its buffer at the receiver is known. */
bool units_to_send_head(struct units_to_send *u, uint32_t max, struct fragment *head);

/* The message that the head would be cut from, if nothing of it has been sent, and it has at most
 * `max` bytes; else NULL. */
struct message_out *units_to_send_whole(struct units_to_send *u, uint32_t max);

/* Has every message been cut? The cursor moves on to there. */
bool units_to_send_is_done(struct units_to_send *u);

/* True if this head is only a part of the oldest repeat, which was cut when units were larger; so
 * the rest stays when it is taken. */
bool units_to_send_is_part(const struct units_to_send *u, const struct fragment *head);

/* How many units make a row with this head, which is not split: new ones of one message that follow
 * on each other, also in memory, all as long as the head, none the last of the message. 1 for a
 * head of any other kind. */
uint32_t units_to_send_row(const struct fragment *head);

/* How many whole messages make a row with this head, if it is one: new ones that follow on each
 * other, each one unit as long as the head. At most `most`; 1 for a head of any other kind.
 * O(most). */
uint32_t units_to_send_messages(struct units_to_send *u, const struct fragment *head,
                                uint32_t most);

/* Takes the head, as units_to_send_head just returned it, and `count` of its row, 1 to
 * units_to_send_row(head), or units_to_send_messages of it, and counts them as out in their
 * messages. */
void units_to_send_take(struct units_to_send *u, const struct fragment *head, uint32_t count);

/* The LIVE message turns VOID with this outcome, and the receiver will be told: by the cursor when
 * it gets there, or by a repeat if it has passed. */
void units_to_send_refuse(struct units_to_send *u, struct message_out *message, uint8_t reason,
                          enum outcome outcome);

/* Compares a LIVE message with its buffer at the receiver, which may just have become known:
 * refuses it if the buffer was withdrawn, or is too small. */
void units_to_send_match(struct units_to_send *u, uint64_t number);

/* As units_to_send_match of each number in [first, last), whose buffers have this size. */
void units_to_send_match_run(struct units_to_send *u, uint64_t first, uint64_t last, uint64_t size);

/* Repeat i of `count`, the oldest first. */
static inline const struct fragment *units_to_send_at(const struct units_to_send *u, uint32_t i)
{
    return &u->repeat[(u->first + i) & (u->capacity - 1)];
}

/* Forgets all repeats, and passes over every message there is. */
void units_to_send_reset(struct units_to_send *u);

#endif
