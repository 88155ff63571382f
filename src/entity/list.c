#include "list.h"

#include "message.h"

void list_add(struct list *l, struct message *message)
{
    message->links = (struct list_links){.previous = l->last};
    if (l->last != NULL)
        l->last->links.next = message;
    else
        l->first = message;
    l->last = message;
}

void list_remove(struct list *l, struct message *message)
{
    struct list_links links = message->links;

    if (links.previous != NULL)
        links.previous->links.next = links.next;
    else
        l->first = links.next;
    if (links.next != NULL)
        links.next->links.previous = links.previous;
    else
        l->last = links.previous;
    message->links = (struct list_links){.previous = NULL};
}
