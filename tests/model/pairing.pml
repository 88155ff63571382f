/* Pairing: sessions drawn by the receiver, tags drawn by the sender, and hosts that start anew while
 * datagrams of the dead are alive. A datagram that was ever sent may arrive at any time, any number
 * of times, or never; that is loss, reordering, duplication and replay in one. So nothing is lost by
 * sending all there is to be sent at once.
 *
 *     S  sessions drawn at most      T  tags drawn at most; whoever has none left draws no more
 *
 * Random numbers are taken to be new each time, so a later one is larger here.
 *
 * P1 to P3 are checked. A mistake put in on purpose has to be found:
 *     -DTRUST   a session is entered on the word of any request
 *     -DREBIND  another tag is bound though units have come */
#ifndef S
#define S 3
#endif
#ifndef T
#define T 4
#endif

#define SETS ((S + 1) * (T + 1))
#define at(session, tag) ((session) * (T + 1) + (tag))

bool hello[SETS], request[SETS], unit[SETS]; /* sent, ever */
bool entered[SETS];

/* the sender */
byte session, tag;               /* the pairing; 0: none */
byte proposed_session, proposed; /* the proposal */
byte tags;                       /* drawn so far */
byte session_at_draw;            /* the receiver's, when the proposal's tag was drawn */

/* the receiver */
byte own = 1;  /* its session: so many were drawn */
byte bound;    /* its tag */
byte units_of; /* the tag whose units came in this session */

inline draw_tag()
{
    tags++;
    proposed = tags;
    session_at_draw = own
}

inline propose(s)
{
    proposed_session = s;
    hello[at(proposed_session, proposed)] = true
}

/* "the sender enters what answers its fresh tag": so
 * P1  no pairing is entered twice, and its numbers never start again, and
 * P2  the receiver had the session when the tag was drawn, or has drawn it since. */
inline enter(s, t)
{
    assert(!entered[at(s, t)]);      /* P1 */
    assert(s >= session_at_draw);    /* P2 */
    entered[at(s, t)] = true;
    session = s;
    tag = t;
    proposed_session = 0;
    proposed = 0;
    unit[at(s, t)] = true
}

/* The table of the sender, line by line. */
inline on_request(s, t)
{
    if
    :: s == session && t == tag -> skip
    :: else ->
        if
#ifdef TRUST
        :: t != 0 && s != session -> enter(s, t)
#else
        :: t != 0 && t == proposed -> enter(s, t)
#endif
        :: else ->
            if
            :: s != session && session != 0 && proposed_session != s && tags < T ->
                draw_tag();
                propose(s)
            :: s != session && session == 0 -> propose(s)
            :: else
            fi
        fi
    fi
}

active proctype sender()
{
    byte s, t;
    atomic { draw_tag(); propose(0) };
end:
    do
    :: atomic { tags < T -> /* it starts anew, or leaves the session */
        session = 0; tag = 0; draw_tag(); propose(0) }
    :: atomic {
        select(s : 1 .. S);
        select(t : 0 .. T);
        if
        :: request[at(s, t)] -> on_request(s, t)
        :: else
        fi;
        s = 0;
        t = 0
       }
    od
}

inline bind(t)
{
    bound = t;
    request[at(own, bound)] = true
}

inline renew(t)
{
    own++;
    units_of = 0;
    bind(t)
}

/* The table of the receiver, line by line. */
inline on_hello(s, t)
{
    if
    :: s == own && t == bound -> skip
    :: s == 0 && bound == 0 -> bind(t)
    :: s == 0 && bound != 0 -> skip
#ifdef REBIND
    :: s == own && t != bound -> bind(t)
#else
    :: s == own && t != bound && units_of == 0 -> bind(t)
    :: s == own && t != bound && units_of != 0 ->
        if
        :: own < S -> renew(t)
        :: else
        fi
#endif
    :: s != 0 && s != own -> skip
    fi
}

active proctype receiver()
{
    byte s, t;
    atomic { bind(0) };
end:
    do
    :: atomic { own < S -> renew(0) } /* it starts anew, or gives the session up */
    :: atomic {
        select(s : 0 .. S);
        select(t : 1 .. T);
        if
        :: hello[at(s, t)] -> on_hello(s, t)
        :: else
        fi;
        s = 0;
        t = 0
       }
    :: atomic {
        bound != 0 && unit[at(own, bound)] ->
        /* P3: "A unit is accepted only with session and tag of a bound pairing", and all units of a
         * session are of one sender */
        assert(units_of == 0 || units_of == bound);
        units_of = bound
       }
    od
}
