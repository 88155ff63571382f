/* The sender's session: which receiver it is paired with, how it asks for one, and what it still
 * owes to the one before. The sender asks with a fresh tag and a nonce. The receiver gives it a
 * cookie, and, once that is brought back, a session. Only what carries the nonce answers a
 * question, so neither a stranger nor a datagram of a dead peer can start a session or end one.
 *
 *     sender                                      receiver
 *       hello (tag t, nonce n)          --------->
 *       <---------  cookie (tag t, nonce n, cookie c)
 *       hello (tag t, nonce n, cookie c) -------->   binds t
 *       <---------  request (session s, tag t, nonce n)
 *       units (s, t) ...
 *
 *     ALONE --ask--> ASKING --enter--> PAIRED --leave--> ALONE
 *                                      PAIRED --ask--> both: the peer may be another one by now
 *
 * Both, and the cookie names another session: then the receiver has left the present one, which is
 * abandoned. The receiver may have bound the tag of the question already, so the question stays
 * open, whatever comes late of the abandoned session.
 *
 * It keeps no time but when a question was asked: when to ask is the timer's (sender_timer.h).
 *
 * I1  the pairing has a session if and only if it has a tag.
 * I2  at most one plain hello is due, and only if no other is.
 * I3  a question is due only while there is one.
 * I4  the close of the session before is due to be confirmed only if there was one, and it is
 *     confirmed again at most SESSION_CONFIRMATIONS times, or SESSION_CONFIRMATIONS_CLOSED.
 * I5  a sender that is paired has no cookie for its own session.
 * I6  only a sender that is paired is early. */
#ifndef ZCRP_CORE_SENDER_SESSION_H
#define ZCRP_CORE_SENDER_SESSION_H

#include "core/instant.h"
#include "core/outcome.h"
#include "core/wire/control.h"
#include "core/wire/secret.h"

enum {
    /* Of one close, again. A peer says it 8 times by its timer, but also for each burst of units
     * that was on its way, and then begins anew. A peer that has left, too, answers each
     * confirmation with another one: so there is a limit. */
    SESSION_CONFIRMATIONS = 64,
    /* The limit where this side had said its own close: then the peer mostly confirms that. */
    SESSION_CONFIRMATIONS_CLOSED = 8,
    SESSION_AT_ONCE = 4, /* cookies answered at once, for each hello of the timer's */
};

/* The hellos that may be due, the most urgent first; a set of them. Each of the first two tells the
 * receiver all that a plain one would. */
enum session_hello {
    HELLO_NONE = 0,
    HELLO_CONFIRMS = 1, /* the close of the session before */
    HELLO_ASKS = 2,     /* for a receiver */
    HELLO_TELLS = 4,    /* plain: that this side is there, what it knows, and that it closes */
    HELLO_ANSWERS = 8,  /* a request: the same, and nothing has to come back */
};

/* The question whether a receiver is there. What answers it carries its tag and its nonce. */
struct session_question {
    uint32_t tag; /* 0: nothing is asked */
    uint64_t nonce;
    uint64_t cookie;  /* that the receiver gave; 0: none yet */
    uint32_t session; /* that it named with the cookie; 0: none */
    uint32_t hellos;  /* that have asked */
    uint32_t at_once; /* of those, answers to a cookie since the timer sent one */
    instant asked_at; /* when the first of them left */
};

struct sender_session {
    struct pairing pairing; /* session 0: not paired */
    struct pairing left; /* the session before; its peer's close is still confirmed. Session 0 and
                            a tag: the peer may be in a session that is not known */
    struct session_question question;
    uint64_t message_base;  /* message number 0 of the session, in the table's numbers */
    uint64_t seq_base;      /* the same of sequence numbers */
    uint64_t offered;       /* messages below were offered, since the receiver asked last */
    uint32_t confirmations; /* of the close of `left`: how often it is confirmed again yet */
    uint32_t due;           /* set of enum session_hello */
    uint16_t marks;         /* of congestion in this session, as the receiver counts them */
    bool wants_offers;      /* this receiver asks how large messages are that have no buffer */
    bool has_sent;          /* a unit was sent in this session, or a message as a whole */
    bool has_closed;        /* the peer was told of the close in this session */
    bool has_shown_cookie;  /* a receiver may have bound the tag */
    bool was_paired;        /* once, in any session */
    bool is_early;          /* paired, because the handshake gave credit: nothing was heard yet */
    bool is_parting;       /* the peer has closed it, and is asked what it has (sender_parting.c) */
    bool is_cut;           /* messages were given up in this session */
    bool is_untold;        /* the receiver of the last session was left without a word */
    enum outcome unpaired; /* why a sender that is never paired fails, as far as is known */
};

static inline bool sender_session_is_paired(const struct sender_session *s)
{
    return s->pairing.session != 0;
}

/* Is it paired, and does it know that its peer is, too? */
static inline bool sender_session_is_admitted(const struct sender_session *s)
{
    return sender_session_is_paired(s) && !s->is_early;
}

/* Has the receiver left the present session? A cookie names another one (I5). The receiver gave it
 * after the question was drawn, and so after it had the present session: whatever else comes of
 * that was sent before. */
static inline bool sender_session_is_abandoned(const struct sender_session *s)
{
    return sender_session_is_paired(s) && s->question.cookie != 0;
}

/* Is a datagram with this pairing of the present session? Good while paired only. */
static inline bool sender_session_has(const struct sender_session *s, struct pairing pairing)
{
    return pairing.session == s->pairing.session && pairing.tag == s->pairing.tag;
}

/* Wire numbers of the session. */
static inline uint32_t sender_session_message(const struct sender_session *s, uint64_t number)
{
    return (uint32_t)(number - s->message_base);
}

static inline uint32_t sender_session_seq(const struct sender_session *s, uint64_t seq)
{
    return (uint32_t)(seq - s->seq_base);
}

/* Asks for a receiver with the next hello, or goes on asking: with the cookie that it has, which
 * may be a dead receiver's; a live one then gives another. */
void sender_session_ask(struct sender_session *s, struct secret *secret);

/* The question is over: what answers it comes too late. */
void sender_session_stop_asking(struct sender_session *s);

/* Something of the present session was heard. True if that is a sign of life: the session is not
 * abandoned. Then the question is not repeated for now. It stays open, because what was heard may
 * be late, and the answer of another receiver on its way. */
bool sender_session_on_heard(struct sender_session *s);

/* Does what carries this tag and nonce answer the question? */
bool sender_session_is_answer(const struct sender_session *s, uint32_t tag, uint64_t nonce);

/* A cookie answers the question (is_answer). True if the receiver names the present session with
 * it: then it is still there, and the question is over. Not so if the session is abandoned: then
 * the cookie is late, and changes nothing. Any other cookie goes with the next hello, which is due
 * at once unless too many were, or `is_over`: nothing is left to be sent. A sender that is never
 * paired was not admitted, unless more becomes known. */
bool sender_session_on_cookie(struct sender_session *s, const struct cookie_answer *answer,
                              bool is_over);

/* There is something to send where there was nothing: unless more becomes known, a sender that is
 * never paired found nobody. */
static inline void sender_session_on_outstanding(struct sender_session *s)
{
    s->unpaired = OUTCOME_UNREACHABLE;
}

/* A sender that is never paired knows no better reason than that nobody answers, or a stranger. */
bool sender_session_is_unexplained(const struct sender_session *s);

/* A listener of another version answered, or nobody listens (any more), as the system says. */
void sender_session_on_version_answer(struct sender_session *s, struct pairing echoed);
void sender_session_on_refused(struct sender_session *s);

/* The session of this pairing begins, with numbers that count from these. */
void sender_session_enter(struct sender_session *s, struct pairing pairing, uint64_t message_base,
                          uint64_t seq_base);

/* Leaves the session, if any. Nothing is asked and nothing is due afterwards. */
void sender_session_leave(struct sender_session *s);

/* The session that was left was an early one, which never began for its peer. */
void sender_session_unbind(struct sender_session *s);

/* An acknowledgement arrived that is not of the present session. If it closes the session before,
 * the confirmation was lost: it is due again. */
void sender_session_confirm_again(struct sender_session *s, const struct block_ack *ack);

/* How many marks of congestion `marks` has more than before; 0 if it is older. */
uint16_t sender_session_add_marks(struct sender_session *s, uint16_t marks);

/* A hello of this kind is due. A plain one that wants no answer gives way to one that does. */
void sender_session_set_due(struct sender_session *s, enum session_hello kind);

/* No hello is due. */
static inline void sender_session_clear_due(struct sender_session *s)
{
    s->due = HELLO_NONE;
}

/* Takes the most urgent hello that is due; one is (CHECKed). A plain one says that requests for all
 * messages below `requested` are known, and whether this side `is_closing`: then also whether it
 * has given messages up. */
enum session_hello sender_session_take_hello(struct sender_session *s, instant now,
                                             uint64_t requested, bool is_closing,
                                             struct hello *hello);

/* CHECKs I1 to I6. */
void sender_session_check(const struct sender_session *s);

#endif
