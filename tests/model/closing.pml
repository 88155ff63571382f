/* The end of a session that both ends are in. Either closes, or both do, or neither. What they say
 * of it is lost, doubled and overtaken, and a stranger says that the session is closed.
 *
 *     SAY  times that a close is said, and that the sender confirms one again
 *     K    losses in a row, each way          C  copies of a datagram at most
 *
 * An end that is closed is gone, and answers nothing any more. The stranger knows at most one of
 * the two numbers of the pairing. Timers may fire at any moment; with -DPATIENT a close is said
 * again only when nothing is under way any more.
 *
 * P1 and P2 are checked. With -DPATIENT P3 is as well, and with -DLIVE nothing but P4:
 *
 *     P3  With K losses in a row at most, an end that says (K + 1) * (K + 1) times that it closes
 *         is confirmed, unless the other end is gone.
 *     P4  An end that closes comes to the end of it, and both fall silent, though the stranger does
 *         not.
 *
 * A mistake put in on purpose has to be found:
 *     -DSELF            a close is taken for confirmed when it was said
 *     -DBELIEVE         a close is believed whatever its numbers are
 *     -DINTERVALS_ONLY  with PATIENT: the sender confirms a close again only if it has intervals
 *     -DNO_LIMIT        with LIVE: a close is said, and confirmed, without end
 *     -DNO_TIMER        with LIVE: a close is said once */
#ifndef K
#define K 1
#endif
#ifndef C
#define C 2
#endif
#ifndef SAY
#define SAY 4
#endif

#if defined(NO_LIMIT)
#define more(count) true
#define note(count) skip
#elif defined(NO_TIMER)
#define more(count) (count == 0)
#define note(count) count++
#else
#define more(count) (count < SAY)
#define note(count) count++
#endif

#ifdef PATIENT
#define is_late is_silent
#define gives_up(other) check(other == CLOSED) /* P3 */
#else
#define is_late true
#define gives_up(other) skip
#endif

#ifdef LIVE
#define check(what) skip
#else
#define check(what) assert(what)
#endif

#ifdef BELIEVE
#define is_believed(belongs) true
#else
#define is_believed(belongs) belongs
#endif

mtype = { OPEN, CLOSING, CLOSED };

bool has_arrived; /* a unit; then the receiver's close has intervals */

/* the sender */
mtype sender = OPEN;
bool sender_closes, has_said, sender_left, is_confirming;
byte hellos, hellos_again;

/* the receiver */
mtype receiver = OPEN;
bool receiver_closes, receiver_left, confirm_due;
byte acks;

/* under way: copies of a hello with CLOSING, of the receiver's close, of its confirmation */
byte hello, close, confirmation;
byte lost_out, lost_back;

#define is_silent (hello == 0 && close == 0 && confirmation == 0 && !is_confirming && !confirm_due)

/* P1  An end whose close is confirmed has a peer that knows: it left, or closes too. */
#define sender_is_sure() check(receiver_left || receiver_closes)
#define receiver_is_sure() check(sender_left || sender_closes)

inline say(what)
{
    if
    :: what = 1
    :: what = C
    fi
}

active proctype sender_user()
{
    if
    :: atomic { sender == OPEN && !sender_left -> sender = CLOSING; sender_closes = true }
    :: atomic { sender == OPEN && sender_left -> sender = CLOSED }
    :: true
    fi
}

/* "it says hello with CLOSING until a block acknowledgement with CLOSING confirms"; "After eight
 * times unanswered the closing side gives up." */
active proctype sender_says()
{
end:
    do
    :: atomic { is_confirming && hello == 0 -> is_confirming = false; say(hello) }
    :: atomic {
        sender == CLOSING && hello == 0 && is_late && more(hellos) -> note(hellos);
        has_said = true;
        say(hello);
#ifdef SELF
        sender_is_sure()
#endif
       }
#ifndef NO_TIMER
    :: atomic {
        sender == CLOSING && is_late && !more(hellos) ->
        gives_up(receiver);
        sender = CLOSED
       }
#endif
    od
}

/* "An end that is told of a close confirms it, fails what is outstanding [...], and leaves the
 * session. It confirms again if the close of the session that it left last comes again": with
 * intervals or without, since a receiver to which nothing came has none.
 * P2  An end leaves only if the other closes, or is told by it that its own close is confirmed. */
inline on_ack(belongs, has_intervals)
{
    if
    :: !is_believed(belongs) || sender == CLOSED -> skip
    :: is_believed(belongs) && sender == OPEN && sender_left ->
        if
#ifdef INTERVALS_ONLY
        :: has_intervals && more(hellos_again) -> note(hellos_again); is_confirming = true
#else
        :: more(hellos_again) -> note(hellos_again); is_confirming = true
#endif
        :: else
        fi
    :: is_believed(belongs) && sender == OPEN && !sender_left ->
        check(receiver_closes); /* P2 */
        sender_left = true;
        is_confirming = true
    :: is_believed(belongs) && sender == CLOSING && has_said -> /* its hello told the receiver */
        sender_left = true;
        sender = CLOSED;
        sender_is_sure()
    :: is_believed(belongs) && sender == CLOSING && !has_said -> /* it says so now: its last word */
        check(receiver_closes); /* P2 */
        sender_left = true;
        sender = CLOSED;
        is_confirming = true
    fi
}

active proctype receiver_user()
{
    if
    :: has_arrived = true
    :: true
    fi;
    if
    :: atomic { receiver == OPEN && !receiver_left -> receiver = CLOSING; receiver_closes = true }
    :: atomic { receiver == OPEN && receiver_left -> receiver = CLOSED }
    :: true
    fi
}

/* "sends a block acknowledgement with CLOSING, with its intervals, [...] until a hello with CLOSING
 * confirms." */
active proctype receiver_says()
{
end:
    do
    :: atomic { confirm_due && confirmation == 0 -> confirm_due = false; say(confirmation) }
    :: atomic {
        receiver == CLOSING && close == 0 && is_late && more(acks) -> note(acks);
        say(close)
       }
#ifndef NO_TIMER
    :: atomic {
        receiver == CLOSING && is_late && !more(acks) ->
        gives_up(sender);
        receiver = CLOSED
       }
#endif
    od
}

inline on_hello(belongs)
{
    if
    :: !is_believed(belongs) || receiver == CLOSED -> skip
    :: is_believed(belongs) && receiver == OPEN && receiver_left -> confirm_due = true
    :: is_believed(belongs) && receiver == OPEN && !receiver_left ->
        check(sender_closes); /* P2 */
        receiver_left = true;
        confirm_due = true
    :: is_believed(belongs) && receiver == CLOSING ->
        receiver_left = true;
        receiver = CLOSED;
        receiver_is_sure()
    fi
}

active proctype channel_out()
{
end:
    do
    :: atomic {
        hello > 0 ->
        hello--;
        if
        :: lost_out < K -> lost_out++
        :: lost_out = 0; on_hello(true)
        fi
       }
    od
}

active proctype channel_back()
{
end:
    do
    :: atomic {
        close > 0 ->
        close--;
        if
        :: lost_back < K -> lost_back++
        :: lost_back = 0; on_ack(true, has_arrived)
        fi
       }
    :: atomic {
        confirmation > 0 ->
        confirmation--;
        if
        :: lost_back < K -> lost_back++
        :: lost_back = 0; on_ack(true, false)
        fi
       }
    od
}

active proctype stranger()
{
end:
    do
    :: atomic { true -> on_hello(false) }
    :: atomic { true -> on_ack(false, false) }
    :: atomic { true -> on_ack(false, true) }
    od
}

#ifdef LIVE
ltl ends { <>[] (sender != CLOSING && receiver != CLOSING && is_silent) }
#endif
