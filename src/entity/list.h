/* An intrusive list of messages, first in, first out. A message is in one list at most: in its
 * entity's backlog while it waits, in its entity's collection once it has ended. */
#ifndef ZCRP_ENTITY_LIST_H
#define ZCRP_ENTITY_LIST_H

#include <stddef.h>

struct message;

/* What a message brings for it. */
struct list_links {
    struct message *previous;
    struct message *next;
};

/* All zero when empty. */
struct list {
    struct message *first;
    struct message *last;
};

/* Appends the message, which is in no list. O(1), cannot fail. */
void list_add(struct list *l, struct message *message);

/* Removes the message, which is in this list. O(1), cannot fail. */
void list_remove(struct list *l, struct message *message);

#endif
