/* Keys: cookie, handshake, pairing, numbers and epochs, with a stranger on the path. He hears all,
 * repeats whatever was ever sent, at any time and to anybody, and has a cookie of his own; but he
 * has no key. The connecting side may start anew.
 *
 *     R  runs of the connecting side     S  handshakes that the listening side begins, at most
 *     Q  numbers                         E  of an epoch          W  numbers that may come late
 *
 * A datagram that was ever sent may arrive at any time, any number of times, or never. So nothing is
 * lost by keeping what was sent in sets that never shrink. Run 0 is the stranger's. A Finished, and
 * what is sealed, can be made only by who has the secret of that handshake.
 *
 * Checked are
 *
 *     K1  Nobody is let in but who ended this very handshake.
 *     K2  The connecting side takes no answer but the one to its own bytes.
 *     K3  A number is opened at most once in a session.
 *     K4  What is opened was sealed for this session.
 *     K5  No number is sealed twice with one key, whatever the channel takes.
 *     K6  What the window lets come can be opened: its key is still there.
 *     K7  No handshake is begun for who has not brought a cookie.
 *
 * A mistake put in on purpose has to be found:
 *     -DEARLY        a caller is let in with its first bytes
 *     -DNO_BINDER    first bytes count without a proof of the key, and so does what follows
 *     -DANY_ANSWER   the connecting side takes an answer to other bytes
 *     -DNO_WINDOW    what was opened is not remembered
 *     -DSAME_KEY     keys follow from the key of both alone, and not from what each has drawn
 *     -DREUSE        a number under which the channel refused to send is used again
 *     -DFORGET       the key of an epoch is forgotten when the next one begins
 *     -DNO_COOKIE    first bytes count without a cookie */
#ifndef R
#define R 2
#endif
#ifndef S
#define S 3
#endif
#ifndef Q
#define Q 4
#endif
#define E 2
#define W 2
#define NONE 15

#ifdef SAME_KEY
#define key_of(s) 0
#else
#define key_of(s) (s)
#endif
#define at(s, q) ((s) * Q + (q))

/* what was ever sent */
bool has_cookie[R + 1];     /* a cookie for this run */
bool first[R + 1];          /* its first bytes, with the proof */
byte answers[S] = NONE;     /* which run the handshake answers */
byte finished[S] = NONE;    /* the run that has ended it */
bool sealed[S * Q];         /* by key and number */
bool sealed_for[S * Q];     /* by session and number, for the judge */

/* the connecting side */
byte turn = 1, session = NONE, next;

/* the listening side */
byte begun;                 /* handshakes */
bool is_in[S], opened[S * Q];
byte above[S];              /* above the newest number that was opened */

#define epoch(q) ((q) / E)
#define newest(s) (above[s] == 0 -> 0 : epoch(above[s] - 1))

#ifdef FORGET
#define has_key(s, q) (epoch(q) >= newest(s))
#else
#define has_key(s, q) (epoch(q) + 1 >= newest(s))
#endif

active proctype connecting()
{
    byte s;
end:
    do
    :: atomic { has_cookie[turn] && !first[turn] -> first[turn] = true }
    :: atomic {
        session == NONE && first[turn] ->
        select(s : 0 .. S - 1);
        if
#ifdef ANY_ANSWER
        :: answers[s] != NONE && finished[s] == NONE ->
#else
        :: answers[s] == turn && finished[s] == NONE ->
#endif
            assert(answers[s] == turn); /* K2 */
            session = s;
            finished[s] = turn
        :: else
        fi;
        s = 0
       }
    :: atomic {
        session != NONE && next < Q ->
        assert(!sealed[at(key_of(session), next)]); /* K5 */
        sealed[at(key_of(session), next)] = true;
        sealed_for[at(session, next)] = true;
        if
        :: next++
        :: /* the channel refuses: it may have been heard all the same */
#ifndef REUSE
            next++
#else
            skip
#endif
        fi
       }
    :: atomic { turn < R -> turn++; session = NONE; next = 0 }
    od
}

/* Anybody says hello for any run, and reads the answer. */
active proctype asking()
{
    byte n;
end:
    do
    :: atomic {
        select(n : 0 .. R);
        has_cookie[n] = true;
        n = 0
       }
    od
}

#ifdef NO_BINDER
#define proves(n) (first[n] || n == 0)
#define ends(s) (finished[s] == answers[s] || answers[s] == 0)
#else
#define proves(n) (first[n])
#define ends(s) (finished[s] != NONE && finished[s] == answers[s])
#endif

#ifdef NO_COOKIE
#define brings_cookie(n) true
#else
#define brings_cookie(n) (has_cookie[n] && !is_spoofed)
#endif

inline let_in(s)
{
    is_in[s] = true;
    assert(finished[s] == answers[s]) /* K1 */
}

active proctype listening()
{
    byte n, s, q;
    bool is_spoofed; /* the bytes come in the name of somebody who was never asked */
end:
    do
    :: atomic {
        begun < S ->
        select(n : 0 .. R);
        if
        :: is_spoofed = true
        :: skip
        fi;
        if
        :: proves(n) && brings_cookie(n) ->
            assert(has_cookie[n] && !is_spoofed); /* K7 */
            answers[begun] = n;
#ifdef EARLY
            let_in(begun);
#endif
            begun++
        :: else
        fi;
        is_spoofed = false;
        n = 0
       }
    :: atomic {
        begun > 0 ->
        select(s : 0 .. S - 1);
        if
        :: s < begun && !is_in[s] && ends(s) -> let_in(s)
        :: else
        fi;
        s = 0
       }
    :: atomic {
        begun > 0 ->
        select(s : 0 .. S - 1);
        select(q : 0 .. Q - 1);
        if
        :: is_in[s] && sealed[at(key_of(s), q)] && q + W >= above[s] &&
#ifdef NO_WINDOW
           true ->
#else
           !opened[at(s, q)] ->
#endif
            assert(!opened[at(s, q)]);    /* K3 */
            assert(sealed_for[at(s, q)]); /* K4 */
            assert(has_key(s, q));        /* K6 */
            opened[at(s, q)] = true;
            if
            :: q >= above[s] -> above[s] = q + 1
            :: else
            fi
        :: else
        fi;
        s = 0;
        q = 0
       }
    od
}
