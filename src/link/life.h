/* The life of an entity, step by step: these make up the API's open and close, also a
 * connection's. The order of close is the contract of docs/internals/threads.md. */
#ifndef ZCRP_LINK_LIFE_H
#define ZCRP_LINK_LIFE_H

#include "entity.h"

/* What an entity sends and receives with. */
struct origin {
    const int *descriptors; /* two of the user's; NULL: it is one half of a connection, */
    int socket;             /* which has this socket, */
    bool is_caller;         /* and connected it */
    struct link *link;      /* that it is a half of; freed with its last half */
};

/* Makes an entity that nothing drives yet. ZCRP_OK or a code: then it was the link's half, and is
 * none any more. */
__attribute__((warn_unused_result)) int entity_make(struct zcrp_entity **entity,
                                                    enum machine_role role,
                                                    const struct origin *origin,
                                                    const struct zcrp_options *complete);

/* It joins the engine; turns_start has it driven. ZCRP_OK or a code. */
__attribute__((warn_unused_result)) int entity_join(struct zcrp_entity *e);

/* It leaves that completion queue (NULL: any): what was not taken there is told no more. True if it
 * was in it. */
bool entity_leave_queue(struct zcrp_entity *e, const struct completions *from);

/* Closes: waits for what was sent, tells the peer, fails what is left. `since` is when the wait for
 * the peer began. ZCRP_OK, or ZCRP_ERROR_TIMEOUT if the peer did not confirm. */
int entity_linger(struct zcrp_entity *e, instant since);

/* Closes without waiting for the peer, which is told once. Messages that are left fail. A second
 * call, after ZCRP_ERROR_BUSY, tells nobody again. */
void entity_cut(struct zcrp_entity *e);

/* Waits until no call is out that may sleep in a peer's memory, or sends, and no peer seems to
 * write to a message of this receiver. False if that takes longer than ENTITY_BUSY_AFTER: then it
 * cannot go away. After entity_linger. */
bool entity_await_crossings(struct zcrp_entity *e);

/* No turn of it runs any more, and nobody waits within. Its messages are over. */
void entity_quit(struct zcrp_entity *e);

/* Frees an entity after entity_quit, or one that never started. */
void entity_destroy(struct zcrp_entity *e);

/* In a child: frees this process's copy of an entity of its parent's. */
void entity_abandon(struct zcrp_entity *e);

#endif
