/* The backlog: messages that were submitted while the machine's table was full, in order.
 *
 *     submit ---> [m][m][blank][m] ---> machine's table
 *
 * The n-th send meets the n-th receive. So a message that is cancelled while it waits leaves its
 * number behind, a blank. In its turn the blank enters the machine and is cancelled there: the
 * peer's message fails, and the later ones still meet. The cancelled message itself is gone at
 * once, so the message behind them counts the blanks.
 *
 * Under the link's mutex. Nothing here can fail; all is O(1). */
#ifndef ZCRP_LINK_BACKLOG_H
#define ZCRP_LINK_BACKLOG_H

#include "message.h"

/* All zero when empty. */
struct backlog {
    struct list messages;
    uint64_t blanks; /* behind the last message */
};

/* Are messages left, and not only blanks? */
static inline bool backlog_has_messages(const struct backlog *b)
{
    return b->messages.first != NULL;
}

/* Is nothing left that has to enter the machine? */
static inline bool backlog_is_empty(const struct backlog *b)
{
    return !backlog_has_messages(b) && b->blanks == 0;
}

/* Appends a message. */
void backlog_add(struct backlog *b, struct message *message);

/* Takes a queued message out, and leaves a blank. */
void backlog_cancel(struct backlog *b, struct message *message);

/* Takes the next message out, whatever blanks are before it, because none of them enters the
 * machine. NULL: there is no more; the numbers of what comes next begin anew, so no blanks are
 * left. */
struct message *backlog_drop(struct backlog *b);

/* What is next: a message, or NULL for a blank. Not empty (CHECKed). */
struct message *backlog_head(const struct backlog *b);

/* Takes what is next; a message has entered the machine. Not empty (CHECKed). */
void backlog_take(struct backlog *b);

#endif
