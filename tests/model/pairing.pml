/* Pairing. The sender asks with a tag and a nonce. The receiver answers with a cookie, and binds
 * the tag of a sender that brings the cookie back, in a session that it draws. Either end may start
 * anew while datagrams of the dead are alive, and a stranger sends to both.
 *
 * A datagram that was ever sent may arrive at any time, any number of times, or never. This is
 * loss, reordering, duplication and replay in one. So nothing is lost by sending all there is at
 * once.
 *
 *     S  sessions drawn at most      T  questions asked at most
 *
 * An end that has drawn all its numbers draws no more. Each random number is new, so a later one is
 * larger here. A question draws a tag and a nonce, always both, so one number stands for the two.
 * Only the stranger can have one of them right and the other wrong. A cookie is good for one
 * question and one session. Its time slot is left out: a hello whose cookie is too old is answered
 * as the hello without a cookie is, and that one was sent before it.
 *
 * The stranger sees nothing. Where two numbers have to be right together he may have guessed one of
 * them. The other is STRANGER, a number that nobody else draws.
 *
 * P1 to P6 and P8 are checked. With -DLIVE=n only P7 is, and there are n mishaps at most: an end
 * starts anew, leaves its session, closes, or asks without need.
 *
 *     P7  In the end both are in one pairing, whatever the stranger sends and whatever is replayed.
 *
 * A mistake put in on purpose has to be found:
 *     -DTRUST         the sender enters a session on the word of any request
 *     -DTAG_ONLY      the sender compares the tag of an answer, and not the nonce
 *     -DKEEP_QUESTION the sender's question stays open after it was answered
 *     -DHEAR          with LIVE: a late datagram of its pairing ends the sender's question
 *     -DSAME_TAG      a sender that left its session asks with the tag that it had
 *     -DECHO          a paired sender brings back a cookie that names its own session
 *     -DANY_COOKIE    every cookie is good
 *     -DANY_SESSION   a cookie is good whatever the present session is
 *     -DOLD_KEY       the cookies of a dead process are good
 *     -DSESSION_ONLY  a datagram belongs to a pairing if its session is right, whatever its tag
 *     -DREBIND        another tag is bound in a session in which units have come
 *     -DSAME_SESSION  another tag is bound in a session in which no unit has come (with LIVE, too)
 *     -DREMEMBER      with LIVE: instead of cookies, the receiver remembers the last who asked */
#ifndef S
#define S 3
#endif
#ifndef T
#define T 3
#endif

#define STRANGER 15
#define SETS ((S + 1) * (T + 1))
#define at(session, tag) ((session) * (T + 1) + (tag))

/* the sender */
byte session, tag;  /* the pairing; 0: none */
byte question;      /* its tag and nonce; 0: it does not ask */
bool cookie[S + 1]; /* a cookie for the question that names this session was sent, ever */
bool is_abandoned;  /* paired, and a cookie has named another session */

/* the receiver */
byte own, bound; /* its session, and the tag bound; 0: none */
byte units_of;   /* the tag whose units came in this session */
bool is_closing;

/* sent, ever */
bool hello[SETS];   /* with a cookie of the present process for this session and question */
bool request[SETS]; /* with the nonce */
bool unit[SETS];    /* so the sender entered the pairing */

/* for the judge */
byte tags, sessions; /* drawn so far */
byte first_session;  /* the least that the receiver had since the question was drawn */
byte first_tag;      /* the least that the sender asked with since the receiver's process began */

#ifdef LIVE
byte mishaps;
#define may_fail (mishaps < LIVE)
#define fail() mishaps++
#define check(what) skip
#else
#define may_fail true
#define fail() skip
#define check(what) assert(what)
#endif

#define is_live (session != 0 && session == own && tag == bound)

#if defined(TRUST)
#define is_answer(s, t, n) (s != session)
#elif defined(TAG_ONLY)
#define is_answer(s, t, n) (question != 0 && t == question)
#else
#define is_answer(s, t, n) (question != 0 && t == question && n == question)
#endif

#ifdef SESSION_ONLY
#define belongs(s, t, to_session, to_tag) (to_session != 0 && s == to_session)
#else
#define belongs(s, t, to_session, to_tag) (to_session != 0 && s == to_session && t == to_tag)
#endif

/* "answers with a cookie datagram, and keeps nothing": to any hello that asks, so this is done
 * whenever the question or the receiver's session is another. */
#define answer() cookie[own] = cookie[own] || question != 0

inline stop_asking()
{
    d_step {
        question = 0;
        is_abandoned = false;
        for (i : 0 .. S) { cookie[i] = false }
        i = 0
    }
}

/* "The sender draws a fresh tag and a nonce of 64 bits for each question." */
inline ask()
{
    stop_asking();
#ifdef SAME_TAG
    if
    :: session == 0 && tags != 0 -> skip
    :: else -> tags++
    fi;
#else
    tags++;
#endif
    question = tags;
    if
    :: own != 0 -> first_session = own
    :: else -> first_session = sessions + 1
    fi;
    answer()
}

/* "says hello with that cookie and that session at once", unless the cookie names the session that
 * the sender is in: then "the receiver is still there", or the cookie came late. P8. */
inline on_cookie(s, t, n)
{
    if
    :: !is_answer(s, t, n) -> skip
#ifdef ECHO
    :: is_answer(s, t, n) -> hello[at(s, question)] = true
#else
    :: is_answer(s, t, n) && s != 0 && s == session && !is_abandoned -> stop_asking()
    :: is_answer(s, t, n) && s != 0 && s == session && is_abandoned
    :: is_answer(s, t, n) && (s == 0 || s != session) ->
        check(!is_live); /* P8 */
        is_abandoned = session != 0;
        hello[at(s, question)] = true
#endif
    fi
}

/* P1  No pairing is entered twice, so its numbers never start again.
 * P2  The receiver had the session when the question was drawn, or has drawn it since.
 * P4  No session is ended whose ends are both alive: a sender leaves for another only one that its
 *     receiver has left, and a receiver one whose sender is not in it, nor about to enter it.
 * P8  The receiver has left the session that a sender takes for abandoned. */
inline enter(s, t)
{
    check(s != STRANGER);       /* P5 */
    check(t != STRANGER);       /* P5 */
    check(!unit[at(s, t)]);     /* P1 */
    check(s >= first_session);  /* P2 */
    check(!is_live);            /* P4 */
    session = s;
    tag = t;
    unit[at(s, t)] = true;
#ifndef KEEP_QUESTION
    stop_asking()
#endif
}

/* The table of the sender; n is the nonce. */
inline on_request(s, t, n)
{
    if
    :: is_answer(s, t, n) -> enter(s, t)
    :: !is_answer(s, t, n) && belongs(s, t, session, tag) ->
        check(t != STRANGER) /* P5 */
#ifdef HEAR
        ; stop_asking()
#endif
    :: else
    fi
}

/* The sender: it leaves its session, starts anew, asks though the receiver is only slow, and asks
 * because it hears nothing. */
active proctype sender()
{
    byte i;
end:
    do
    :: atomic { may_fail && session != 0 -> fail(); session = 0; tag = 0; is_abandoned = false }
    :: atomic { may_fail && tags < T -> fail(); session = 0; tag = 0; ask() }
    :: atomic { may_fail && tags < T -> fail(); ask() }
    :: atomic { question == 0 && !is_live && tags < T -> ask() }
    od
}

active proctype to_sender()
{
    byte i, a_session, a_tag;
end:
    do
    :: atomic {
        select(a_session : 0 .. S);
        select(a_tag : 1 .. T);
        if
        :: cookie[a_session] -> on_cookie(a_session, question, question)
        :: request[at(a_session, a_tag)] -> on_request(a_session, a_tag, a_tag)
        :: else
        fi;
        a_session = 0;
        a_tag = 0
       }
    od
}

/* P6  A process binds only a tag whose question was open while the process lived. */
inline bind(t)
{
    check(t != STRANGER);                   /* P5 */
    check(!is_live);                        /* P4 */
    check(bound == 0 || bound != question); /* P4 */
    check(t >= first_tag);                  /* P6 */
    bound = t;
    request[at(own, bound)] = true
}

inline draw_and_bind(t)
{
    units_of = 0;
    sessions++;
    own = sessions;
    bind(t);
    answer()
}

inline unbind()
{
    own = 0;
    bound = 0;
    units_of = 0;
    is_closing = false;
    answer()
}

#ifdef REMEMBER
byte asked_last;
#define remember(t) asked_last = t
#define is_remembered(t) (t == asked_last)
#else
#define remember(t) skip
#define is_remembered(t) true
#endif

#ifdef ANY_COOKIE
#define is_good(t, c) true
#else
#define is_good(t, c) (c && is_remembered(t))
#endif

#ifdef ANY_SESSION
#define is_present(s) true
#else
#define is_present(s) (s == own)
#endif

/* The table of the receiver. Its answers are sent already: a cookie datagram by answer(), a request
 * when the tag was bound. A tag is bound in a session of its own. Whether units have come decides
 * only what fails, so the two lines are one here. */
inline on_hello(s, t, c)
{
    if
    :: !is_good(t, c) -> remember(t)
    :: is_good(t, c) && t == bound -> skip
    :: is_good(t, c) && t != bound && !is_present(s) -> skip
    :: is_good(t, c) && t != bound && is_present(s) ->
        if
        :: is_closing -> /* "the sender that had to be told is gone" */
            check(!is_live);          /* P4 */
            check(bound != question); /* P4 */
            unbind()
#if defined(REBIND)
        :: !is_closing && bound != 0 && units_of != 0 -> bind(t)
#elif defined(SAME_SESSION)
        :: !is_closing && bound != 0 && units_of == 0 -> bind(t)
#endif
#if defined(SAME_SESSION)
        :: !is_closing && (bound == 0 || units_of != 0) && sessions < S -> draw_and_bind(t)
#else
        :: !is_closing && sessions < S -> draw_and_bind(t)
#endif
        :: else
        fi
    fi
}

/* "A unit is accepted only with session and tag of a bound pairing."
 * P3  All units that a session accepts are of one sender. */
inline on_unit(s, t)
{
    if
    :: belongs(s, t, own, bound) ->
        check(t != STRANGER);                  /* P5 */
        check(units_of == 0 || units_of == t); /* P3 */
        units_of = t
    :: else
    fi
}

/* "The key is drawn once in a process": the cookies of another are no longer good. The present
 * question, if any, gets one of the new process. */
inline draw_key()
{
    d_step {
#ifndef OLD_KEY
        for (i : 0 .. SETS - 1) { hello[i] = false }
        i = 0;
#endif
        if
        :: question != 0 -> first_tag = question
        :: else -> first_tag = tags + 1
        fi
    }
}

/* The receiver: it leaves its session, starts anew, and closes. */
active proctype receiver()
{
    byte i;
end:
    do
    :: atomic { may_fail && own != 0 -> fail(); unbind() }
    :: atomic { may_fail -> fail(); draw_key(); unbind() }
    :: atomic { may_fail && own != 0 && !is_closing -> fail(); is_closing = true }
    od
}

active proctype to_receiver()
{
    byte i, a_session, a_tag;
end:
    do
    :: atomic {
        select(a_session : 0 .. S);
        select(a_tag : 1 .. T);
        if
        :: hello[at(a_session, a_tag)] -> on_hello(a_session, a_tag, true)
        :: unit[at(a_session, a_tag)] -> on_unit(a_session, a_tag)
        :: else
        fi;
        a_session = 0;
        a_tag = 0
       }
    od
}

/* P5  No number of the stranger's is entered or bound, and no datagram of his belongs to a
 *     pairing. */
active proctype stranger()
{
    byte i;
end:
    do
    :: atomic { true -> on_cookie(own, STRANGER, STRANGER) }
    :: atomic { true -> on_cookie(session, question, STRANGER) }
    :: atomic { true -> on_request(STRANGER, STRANGER, STRANGER) }
    :: atomic { true -> on_request(STRANGER, question, STRANGER) }
    :: atomic { true -> on_request(STRANGER, tag, 0) }
    :: atomic { true -> on_request(session, STRANGER, 0) }
    :: atomic { true -> on_hello(0, STRANGER, false) }
    :: atomic { true -> on_hello(own, STRANGER, false) }
    :: atomic { true -> on_unit(own, STRANGER) }
    :: atomic { true -> on_unit(STRANGER, bound) }
    od
}

#ifdef LIVE
/* What is sent again and again arrives at last. */
active proctype network_ask()
{
end:
    do
    :: atomic { question != 0 -> remember(question) }
    od
}

active proctype network_cookie()
{
    byte i;
end:
    do
    :: atomic { cookie[own] && !hello[at(own, question)] -> on_cookie(own, question, question) }
    od
}

active proctype network_hello()
{
    byte i;
end:
    do
    :: atomic { hello[at(own, question)] -> on_hello(own, question, true) }
    od
}

active proctype network_request()
{
    byte i;
end:
    do
    :: atomic {
        own != 0 && question != 0 && request[at(own, question)] ->
        on_request(own, question, question)
       }
    od
}

ltl pairs { []<> is_live }
#endif
