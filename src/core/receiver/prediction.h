/* The units that the receiver expects next. The newest trailer names the next unit exactly; what
 * follows that one is guessed: on through the message in full units, then the next message. A guess
 * may be wrong at any time: it only decides what has to be moved. */
#ifndef ZCRP_CORE_PREDICTION_H
#define ZCRP_CORE_PREDICTION_H

#include "core/wire/datagram.h"
#include "messages_in.h"

enum { PREDICTION_PASSES = 64 }; /* messages that a walk goes past: nothing is expected in them */

struct prediction {
    uint64_t message; /* the next unit's, */
    uint64_t offset;  /* its first byte, */
    uint32_t length;  /* and its bytes of data; UINT32_MAX: not known, a full unit */
    uint32_t unit;    /* bytes of data in a full unit, as last seen */
    uint32_t recent;  /* the larger of the newest unit and the one it foretells; 0: none yet */
    bool is_asked;    /* the newest unit asks for an answer: maybe it is waited for */
    uint64_t usual;   /* length of a message that ended before its buffer did; 0: they fill it */
    uint32_t passes;  /* of a walk so far */
};

/* Bytes of one message, all of them still missing, where units of one size are expected in a row.
 */
struct stretch {
    struct message_in *message;
    uint64_t offset;
    uint64_t length; /* 0: one empty unit */
    uint32_t unit;   /* bytes of data in each but the last */
};

/* Nothing heard yet: full units of `unit` bytes of data, from message `first` on. */
void prediction_init(struct prediction *p, uint32_t unit, uint64_t first);

/* The newest unit: of `message` at `offset`, its trailer `t`; its next message number is `next`. */
void prediction_learn(struct prediction *p, const struct unit_trailer *t, uint64_t message,
                      uint64_t offset, uint64_t next);

/* A message of `length` bytes ended in a buffer of `size`. */
void prediction_learn_length(struct prediction *p, uint64_t length, uint64_t size);

/* Writes the next stretch to be expected; false if no message is posted for what would come. `walk`
 * starts as a copy of the prediction. It goes past what has no place, but not past the stretch, and
 * ends once it has gone past PREDICTION_PASSES messages: the peer chooses where it starts, and
 * which messages are over. */
bool prediction_walk(struct prediction *walk, struct messages_in *messages,
                     struct stretch *stretch);

/* Moves the walk behind the first `bytes` of the stretch that it found. */
void prediction_advance(struct prediction *walk, const struct stretch *stretch, uint64_t bytes);

/* Where this message is taken to end. */
static inline uint64_t prediction_end(const struct prediction *walk,
                                      const struct message_in *message)
{
    if (message->is_length_known)
        return message->length;
    return walk->usual != 0 && walk->usual < message->size ? walk->usual : message->size;
}

/* Is all of the message missing, and is it taken to have `unit` bytes, which are one unit? No
 * trailer has told of it. */
static inline bool prediction_is_whole(const struct prediction *walk,
                                       const struct message_in *message, uint32_t unit)
{
    return message->state == MESSAGE_IN_POSTED && message->pieces == NULL &&
           message->missing.bytes == message->size && prediction_end(walk, message) == unit;
}

#endif
