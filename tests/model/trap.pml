/* Sequence numbers that are left out. Nothing is sent under them, so each is a hole that never
 * closes, and a receiver that acknowledges one acknowledges what it never saw. The receiver here is
 * honest, and must not suffer from the holes; or it claims to have everything below some number,
 * whatever it saw.
 *
 *     U  units to be sent          N  numbers; the search ends where they do
 *     G  units between two numbers that are left out, at most
 *     R  the sender's ring: numbers from the oldest in transit to the next
 *     M  numbers left out that the sender remembers: those in its ring, and the one before
 *     I  intervals that the receiver remembers
 *     L  datagrams lost at most, with PATIENT
 *
 * Units have no names here. One that is given up is sent again under the next number, and a late
 * acknowledgement of it is passed over. Anything may be lost, timers may fire at any moment, and
 * the channel may refuse one unit. With -DPATIENT at most L datagrams are lost, a timer fires when
 * nothing is under way, and nothing is refused.
 *
 * T1 and T2 are checked of the honest receiver, with -DPATIENT T3 as well. With -DOPTIMIST T4 is
 * checked of the other:
 *
 *     T1  An honest receiver is never accused.
 *     T2  A unit counts as delivered only if it arrived.
 *     T3  All units are delivered: nothing waits for a number that was left out.
 *     T4  Nothing that was sent after the first number left out counts as delivered.
 *
 * T4 is all there is to have. What was sent before that number does count, though it may never have
 * arrived; and a receiver that guesses each number that was left out is not found out.
 *
 * A mistake put in on purpose has to be found:
 *     -DMERGE      a receiver with too many intervals forgets a hole instead of an interval
 *     -DREFUSED    a number under which the channel refused to send is taken for one left out
 *     -DWAIT       with PATIENT: the ring keeps a place for a number that was left out
 *     -DHOLD       with PATIENT: a receiver with too many intervals takes nothing new
 *     -DFORGETFUL  with OPTIMIST: the sender remembers only the last number that it left out
 *     -DLATE       with OPTIMIST: the sender counts what is acknowledged before it looks */
#ifndef U
#define U 3
#endif
#ifndef N
#define N 7
#endif
#ifndef G
#define G 2
#endif
#ifndef R
#define R 3
#endif
#ifndef I
#define I 2
#endif
#ifndef L
#define L 1
#endif
#ifdef FORGETFUL
#define M 1
#else
#define M (R / 2 + 1)
#endif

#define NONE N /* no number */

#ifdef PATIENT
#define may_lose (losses < L)
#define lose() losses++
#define may_refuse false
#define is_late (under_way == 0 && !ack_out && !unsaid)
#else
#define may_lose true
#define lose() skip
#define may_refuse (!has_refused)
#define is_late true
#endif

mtype = { UNUSED, TRANSIT, GIVEN_UP, DELIVERED, LEFT_OUT, NOT_SENT };

/* the sender */
mtype state[N] = UNUSED;                 /* of each number */
byte base, next;                         /* numbers in transit are in [base, next) */
byte to_send = U, in_transit, delivered; /* units */
byte since;                              /* units sent since a number was left out */
byte kept, oldest_kept = NONE;           /* numbers left out that it remembers */
bool has_refused, is_accused;

/* the receiver */
bool has[N]; /* remembers that the number arrived */
bool unsaid; /* something arrived that is not acknowledged */

/* under way */
bool out[N], ack_out, ack[N];
byte under_way; /* units */
byte losses;

/* for the judge */
bool arrived[N];
byte first_left_out = NONE;

#ifdef WAIT
#define keeps_place(n) (state[n] == TRANSIT || state[n] == LEFT_OUT)
#else
#define keeps_place(n) (state[n] == TRANSIT)
#endif

#ifdef REFUSED
#define is_trap(n) (state[n] == LEFT_OUT || state[n] == NOT_SENT)
#else
#define is_trap(n) (state[n] == LEFT_OUT)
#endif

inline slide()
{
    do
    :: base < next && !keeps_place(base) -> base++
    :: else -> break
    od
}

inline use_number(as)
{
    state[next] = as;
    next++;
    slide()
}

inline transmit()
{
    out[next] = true;
    under_way++
}

/* The last number used is a trap. Of more than M the oldest is forgotten. */
inline keep()
{
    if
    :: kept == 0 -> kept = 1; oldest_kept = next - 1
    :: kept > 0 && kept < M -> kept++
    :: kept == M ->
        oldest_kept++;
        do
        :: !is_trap(oldest_kept) -> oldest_kept++
        :: else -> break
        od
    fi
}

#define has_room (to_send > 0 && next < N && next - base < R && !is_accused)

/* "The sender leaves out some sequence numbers"; "A number under which the channel refused to send
 * is not one of them": the datagram may be on its way all the same. */
active proctype sending()
{
end:
    do
    :: atomic {
        has_room && since < G ->
        transmit();
        to_send--;
        in_transit++;
        since++;
        use_number(TRANSIT)
       }
    :: atomic {
        has_room && since > 0 ->
        since = 0;
        if
        :: first_left_out == NONE -> first_left_out = next
        :: else
        fi;
        use_number(LEFT_OUT);
        keep()
       }
    :: atomic {
        has_room && may_refuse ->
        has_refused = true;
        if
        :: transmit()
        :: true
        fi;
        use_number(NOT_SENT);
#ifdef REFUSED
        keep()
#endif
       }
    od
}

/* Any number for which it is true, or N. */
inline pick(what)
{
    k = 0;
    do
    :: k < N && what -> break
    :: k < N -> k++
    :: else -> break
    od
}

inline give_up(n)
{
    state[n] = GIVEN_UP;
    in_transit--;
    to_send++
}

active proctype timer()
{
    byte k;
end:
    do
    :: atomic {
        in_transit > 0 && is_late && !is_accused ->
        pick(state[k] == TRANSIT);
        if
        :: k < N -> give_up(k); slide()
        :: else
        fi;
        k = 0
       }
    od
}

/* "An acknowledgement that contains one in a positive interval was invented: the session ends". */
inline look()
{
    for (k : 0 .. N - 1) {
        if
        :: ack[k] && is_trap(k) && k >= oldest_kept -> is_accused = true
        :: else
        fi
    }
    k = 0;
#ifndef OPTIMIST
    assert(!is_accused) /* T1 */
#endif
}

/* "For each unit in transit in a positive interval it counts the unit as delivered. Every unit in
 * transit that is older than the newest acknowledged is negatively acknowledged". */
inline count()
{
    k = N;
    do
    :: k > 0 ->
        k--;
        if
        :: ack[k] && state[k] == TRANSIT ->
#ifdef OPTIMIST
            assert(first_left_out == NONE || k < first_left_out); /* T4 */
#else
            assert(arrived[k]); /* T2 */
#endif
            state[k] = DELIVERED;
            in_transit--;
            delivered++
        :: !ack[k] && state[k] == TRANSIT && is_older -> give_up(k)
        :: else
        fi;
        is_older = is_older || ack[k]
    :: else -> break
    od;
    is_older = false;
    slide()
}

inline take_ack()
{
#ifdef LATE
    count();
    look()
#else
    look();
    if
    :: !is_accused -> count()
    :: else
    fi
#endif
}

active proctype ack_channel()
{
    byte k;
    bool is_older;
end:
    do
    :: atomic {
        ack_out ->
        if
        :: may_lose -> lose()
        :: !is_accused -> take_ack()
        :: is_accused -> skip
        fi;
        ack_out = false;
        for (k : 0 .. N - 1) { ack[k] = false }
        k = 0
       }
    od
}

#ifdef OPTIMIST
active proctype optimist()
{
    byte k, claim;
end:
    do
    :: atomic {
        !ack_out && next > 0 ->
        select(claim : 1 .. next);
        ack_out = true;
        for (k : 0 .. claim - 1) { ack[k] = true }
        k = 0;
        claim = 0
       }
    od
}
#else

/* "a bounded set of intervals, which forgets the lowest first". */
inline remember(n)
{
    has[n] = true;
    unsaid = true;
    for (k : 0 .. N - 1) {
        if
        :: has[k] && (k == 0 || !has[k - 1]) -> intervals++
        :: else
        fi
    }
    k = 0;
#ifdef HOLD
    has[n] = intervals <= I;
#else
    do
    :: intervals > I && !has[k] -> k++
    :: else -> break
    od;
    do
#ifdef MERGE
    :: intervals > I && has[k] -> k++
#else
    :: intervals > I && has[k] -> has[k] = false; k++
#endif
    :: else -> break
    od;
#ifdef MERGE
    do
    :: intervals > I && !has[k] -> has[k] = true; k++
    :: else -> break
    od;
#endif
#endif
    intervals = 0;
    k = 0
}

active proctype unit_channel()
{
    byte k, n, intervals;
end:
    do
    :: atomic {
        under_way > 0 ->
        pick(out[k]);
        n = k;
        if
        :: n < N ->
            out[n] = false;
            under_way--;
            if
            :: may_lose -> lose()
            :: arrived[n] = true; remember(n)
            fi
        :: else
        fi;
        n = 0;
        k = 0
       }
    od
}

active proctype acknowledging()
{
    byte k;
end:
    do
    :: atomic {
        unsaid && !ack_out ->
        unsaid = false;
        ack_out = true;
        for (k : 0 .. N - 1) { ack[k] = has[k] }
        k = 0
       }
    od
}
#endif

#ifdef PATIENT
active proctype judge()
{
end:
    if
    :: atomic { timeout -> assert(delivered == U) } /* T3 */
    fi
}
#endif
