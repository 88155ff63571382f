/* Doubly linked lists of structs that contain their links. A link that is in no list points to
 * itself, so that taking it out is always allowed. */
#ifndef FABRIC_LIST_H
#define FABRIC_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* The struct of type `type` whose member `member` is at `at`, as a link is. libfabric's headers had
 * a macro for it until version 2. */
#define OWNER(at, type, member) ((type *)((char *)(at)-offsetof(type, member)))

struct list {
    struct list *next, *previous;
};

static inline void list_init(struct list *l)
{
    l->next = l->previous = l;
}

static inline bool list_is_empty(const struct list *l)
{
    return l->next == l;
}

static inline void list_remove(struct list *l)
{
    l->previous->next = l->next;
    l->next->previous = l->previous;
    list_init(l);
}

/* Takes the first link out; there is one. */
static inline struct list *list_take(struct list *list)
{
    struct list *l = list->next;

    list->next = l->next;
    l->next->previous = list;
    list_init(l);
    return l;
}

/* Adds `l`, which is in no list, at the end. */
static inline void list_add(struct list *list, struct list *l)
{
    l->next = list;
    l->previous = list->previous;
    list->previous->next = l;
    list->previous = l;
}

/* Moves everything from one list to the end of another. */
static inline void list_move(struct list *to, struct list *from)
{
    while (!list_is_empty(from))
        list_add(to, list_take(from));
}

/* Visits each; the one that is visited may be taken out. */
#define LIST_EACH(link, all)                                                                       \
    for (struct list *link = (all)->next, *link##_next = link->next; link != (all);                \
         link = link##_next, link##_next = link->next)

#endif
