#include "backlog.h"

#include "core/check.h"
#include "message.h"

void backlog_add(struct backlog *b, struct message *message)
{
    message->blanks = b->blanks;
    message_move(message, MESSAGE_QUEUED);
    b->blanks = 0;
    list_add(&b->messages, message);
}

void backlog_cancel(struct backlog *b, struct message *message)
{
    struct message *next = message->links.next;
    uint64_t *blanks = next != NULL ? &next->blanks : &b->blanks;

    *blanks += message->blanks + 1;
    list_remove(&b->messages, message);
}

struct message *backlog_drop(struct backlog *b)
{
    struct message *first = b->messages.first;

    if (first != NULL)
        list_remove(&b->messages, first);
    else
        b->blanks = 0;
    return first;
}

struct message *backlog_head(const struct backlog *b)
{
    struct message *first = b->messages.first;

    CHECK(!backlog_is_empty(b));
    return first != NULL && first->blanks == 0 ? first : NULL;
}

void backlog_take(struct backlog *b)
{
    struct message *head = backlog_head(b);

    if (head != NULL) {
        list_remove(&b->messages, head);
    } else if (b->messages.first != NULL) {
        b->messages.first->blanks--;
    } else {
        b->blanks--;
    }
}
