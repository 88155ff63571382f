/* The copies of a sender: messages that zcrp_send_copy made. The library alone has them, and frees
 * each at its end.
 *
 *     create ---> add ---> in the backlog or the machine, like any message ---> end
 *        \--destroy: it was not sent
 *
 * They are in a list of their own, beside the backlog's: so a child of a fork finds them without a
 * look at its user's messages, which may be freed by then.
 *
 * I1  `bytes` is the sum over the list, and at most COPIES_BYTES.
 *
 * Under the link's mutex, but for create and destroy. All is O(1), but for abandon. */
#ifndef ZCRP_LINK_COPIES_H
#define ZCRP_LINK_COPIES_H

#include "message.h"

struct copy;

/* All zero when empty. */
struct copies {
    struct copy *first;
    uint64_t bytes; /* that they take */
};

/* A message with these bytes, in no list; NULL: no memory. */
struct message *copy_create(const void *bytes, nlong size);

/* Frees one that is in no list. */
void copy_destroy(struct message *copy);

/* Have they room for one of this size? */
bool copies_have_room(const struct copies *c, nlong size);

/* Adds one for which there is room; or takes it out, and frees it. */
void copies_add(struct copies *c, struct message *m);
void copies_end(struct copies *c, struct message *m);

/* In a child: frees all, wherever they are. Their entity is not used any more. */
void copies_abandon(struct copies *c);

#endif
