/* The receiver's session: which sender it is paired with, and what that one has been told of the
 * messages. Every sender that asks is given a cookie, and nothing is kept of it. Only a question
 * that brings its cookie back binds a tag, and only then a session is drawn. A cookie is good for
 * the session that was the present one when it was made: so an old question cannot end a session
 * that began later.
 *
 *     FREE --bind--> BOUND --leave--> FREE
 *
 * I1  the pairing has a session if and only if it has a tag.
 * I2  base of the session <= requested; known may lag behind or be ahead of it. */
#ifndef ZCRP_CORE_RECEIVER_SESSION_H
#define ZCRP_CORE_RECEIVER_SESSION_H

#include "core/wire/control.h"

struct receiver_session {
    struct pairing pairing; /* both 0: no sender is bound */
    struct pairing left;    /* the session before, whose sender's close is confirmed */
    uint64_t nonce;         /* of the hello that bound it; 0 once its sender has sent more */
    uint64_t message_base;  /* message number 0 of the session, in the table's numbers */
    uint64_t requested;     /* messages below were announced at least once, */
    uint64_t known;         /* and below this the sender has said so, or sent of them; */
    uint64_t named;         /* below this it has said so */
    bool has_units;         /* units of this session arrived */
    bool is_unheard; /* it began with keys, and nothing came since: the sender may not know */
    bool was_bound;  /* once, in any session */
    bool is_untold;  /* the sender of the last session was left without a word */
};

/* The part that a hello plays for this session. */
enum hello_use {
    HELLO_OF_PARTNER,  /* of the present session */
    HELLO_OF_LEFT,     /* it closes the session before: the confirmation was lost */
    HELLO_OF_STRANGER, /* of no session that is known */
    QUESTION_AGAIN,    /* with a good cookie, of the sender that is bound */
    QUESTION_OF_OTHER, /* with a good cookie, of another sender */
    QUESTION_UNPROVEN, /* without a good cookie: it is given one */
};

static inline bool receiver_session_is_bound(const struct receiver_session *s)
{
    return s->pairing.session != 0;
}

/* Is a datagram with this pairing of the present session? */
static inline bool receiver_session_accepts(const struct receiver_session *s,
                                            struct pairing pairing)
{
    return pairing.session == s->pairing.session && pairing.session != 0 &&
           pairing.tag == s->pairing.tag;
}

/* Wire number of a message of the session. */
static inline uint32_t receiver_session_message(const struct receiver_session *s, uint64_t number)
{
    return (uint32_t)(number - s->message_base);
}

/* Tells which part this hello plays. `has_good_cookie` matters for questions only: its cookie was
 * made here, for the session that it names. */
enum hello_use receiver_session_use(const struct receiver_session *s, const struct hello *hello,
                                    bool has_good_cookie);

/* The sender of this hello is bound, in the session `name`. One in which nothing came gives way to
 * it with all that is posted; what that one had been told counts as unknown, from `first` on. */
void receiver_session_bind(struct receiver_session *s, uint32_t name, const struct hello *hello,
                           uint64_t first);

/* The session counts as never bound: nothing came in it, and its sender never knew of it. All that
 * is posted is announced to the next one, whose messages have the same numbers. */
void receiver_session_unbind(struct receiver_session *s, uint64_t first);

/* Leaves the session, if any. Numbers of the next one count from `next`, the message that is posted
 * next; it will bear `first` on the wire. */
void receiver_session_leave(struct receiver_session *s, uint64_t next, uint64_t first);

/* The sender says that it knows of all messages below `wire`; below `next` they are posted. */
enum known {
    KNOWN_BEFORE, /* it had said so already, */
    KNOWN_NAMED,  /* or had sent of them, but not said so, */
    KNOWN_NEWLY,  /* or neither */
};
enum known receiver_session_on_known(struct receiver_session *s, uint32_t wire, uint64_t next);

/* CHECKs I1 and I2. */
void receiver_session_check(const struct receiver_session *s);

#endif
