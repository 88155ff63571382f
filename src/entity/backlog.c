#include "backlog.h"

#include "core/check.h"
#include "message.h"

void backlog_add(struct backlog *b, struct message *message)
{
    message->blanks = b->blanks;
    message->waits = true;
    b->blanks = 0;
    list_add(&b->messages, message);
}

void backlog_cancel(struct backlog *b, struct message *message)
{
    struct message *next = message->links.next;
    uint64_t *blanks = next != NULL ? &next->blanks : &b->blanks;

    *blanks += message->blanks + 1;
    message->waits = false;
    list_remove(&b->messages, message);
    list_add(&b->cancelled, message);
}

struct message *backlog_take_cancelled(struct backlog *b)
{
    struct message *first = b->cancelled.first;

    if (first != NULL)
        list_remove(&b->cancelled, first);
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
        head->waits = false;
        list_remove(&b->messages, head);
    } else if (b->messages.first != NULL) {
        b->messages.first->blanks--;
    } else {
        b->blanks--;
    }
}
