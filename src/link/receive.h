/* One receive of a link: claim, plan, receive, land, and answer. The only place where the socket
 * and notes are received; rx.h has the turns that do so again and again. */
#ifndef ZCRP_LINK_RECEIVE_H
#define ZCRP_LINK_RECEIVE_H

#include "handshake/datagram_queue.h"
#include "rx.h"

/* Receives once, into the workspace, for both halves of the reader's link, and sends what the
 * machines then have to send, or holds it. The plan is out for no longer than the call takes. Not
 * locked. */
enum arrival receive_once(struct zcrp_entity *reader, struct workspace *w, enum hearing hearing);

/* What a receiver has learnt of the peer just now. */
struct peer_news {
    bool is_heard;    /* something came of it */
    bool has_shown;   /* its first word: it is there */
    bool is_replaced; /* another peer is where the connection's was */
    bool has_closed;
};

/* The link's sender is told, before anything is sent or told because of it. True if there was any
 * news that it has to act on. Locked. */
bool receive_tell_news(struct zcrp_entity *sender, struct peer_news news);

/* The sender reads what its peer says in memory, some of it at most. True if there was any. Locked.
 */
bool receive_answers(struct zcrp_entity *sender, uint8_t *memory);

/* A receiver that has joined hears a hello that arrived before it was there, and answers. Not
 * locked. */
void receive_hello(struct zcrp_entity *e, const uint8_t *hello, size_t size);

/* A connection with keys hears, at its receiver, what arrived before it was there: units, and
 * requests for its sender. They are opened and land as if they came now. What finds no workspace is
 * as good as lost. Nobody receives for it yet. Not locked. */
void receive_early(struct zcrp_entity *e, const struct datagram_queue *early);

#endif
