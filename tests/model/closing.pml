/* The end of a session that both sides are in: either closes, or both do, or neither; what they say
 * of it is lost, doubled and overtaken.
 *
 *     SAY  times that a close is said, and that one is confirmed again
 *     K    losses in a row, each way          C  copies of a datagram at most
 *
 * Who is closed is gone, and answers nothing any more. Checked are P1 and P2, that who closes comes
 * to the end of it (no invalid end state), and that the confirmations do not go round for ever (no
 * cycle). A mistake put in on purpose has to be found:
 *     -DNO_LIMIT   a close is said, and confirmed, without end
 *     -DNO_TIMER   a close is said once
 *     -DSELF       a close is taken for confirmed when it was said */
#ifndef SAY
#define SAY 2
#endif
#ifndef K
#define K 1
#endif
#ifndef C
#define C 2
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

mtype = { OPEN, CLOSING, CLOSED };

bool has_sent, has_arrived; /* units: then the receiver's close has intervals */

/* the sender */
mtype sender = OPEN;
bool sender_left, sender_sure, is_confirming;
byte hellos, hellos_again;

/* the receiver */
mtype receiver = OPEN;
bool receiver_left, receiver_sure, confirm_due;
byte acks, acks_again;

/* under way: copies of a hello with CLOSING, of the receiver's close, of its confirmation */
byte hello, close, confirmation;
byte lost_out, lost_back;

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
    :: atomic { sender == OPEN && !sender_left -> sender = CLOSING }
    :: true
    fi
}

/* "it says hello with CLOSING until a block acknowledgement with CLOSING confirms"; "After eight
 * times unanswered the closing side gives up." */
active proctype sender_says()
{
end:
    do
    :: atomic {
        is_confirming && hello == 0 ->
        is_confirming = false;
        say(hello);
        if
        :: sender == CLOSING -> sender = CLOSED; sender_sure = true /* the last word */
        :: else
        fi
       }
    :: atomic {
        sender == CLOSING && !sender_left && hello == 0 && more(hellos) -> note(hellos);
        say(hello);
#ifdef SELF
        sender_sure = true
#endif
       }
#ifndef NO_TIMER
    :: atomic { sender == CLOSING && !sender_left && !more(hellos) -> sender = CLOSED }
#endif
    od
}

/* "Who is told of a close confirms it, fails what is outstanding, and leaves the session; a close of
 * the session that was left last is confirmed again. A confirmation by the receiver carries no
 * intervals, and is not answered." */
inline sender_hears(has_intervals)
{
    if
    :: sender == CLOSED -> skip
    :: sender != CLOSED && sender_left ->
        if
        :: (has_intervals || !has_sent) && more(hellos_again) -> note(hellos_again); is_confirming = true
        :: else
        fi
    :: sender != CLOSED && !sender_left ->
        sender_left = true;
        if
        :: hellos > 0 -> sender = CLOSED; sender_sure = true
        :: else -> is_confirming = true
        fi
    fi
}

active proctype receiver_user()
{
    if
    :: has_sent = true;
        if
        :: has_arrived = true
        :: true
        fi
    :: true
    fi;
    if
    :: atomic { receiver == OPEN && !receiver_left -> receiver = CLOSING }
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
        receiver == CLOSING && close == 0 && more(acks) -> note(acks);
        say(close)
       }
#ifndef NO_TIMER
    :: atomic { receiver == CLOSING && !more(acks) -> receiver = CLOSED }
#endif
    od
}

inline receiver_hears()
{
    if
    :: receiver == CLOSED -> skip
    :: receiver != CLOSED && receiver_left ->
        if
        :: more(acks_again) -> note(acks_again); confirm_due = true
        :: else
        fi
    :: receiver == OPEN && !receiver_left -> receiver_left = true; confirm_due = true
    :: receiver == CLOSING && !receiver_left ->
        receiver_left = true;
        receiver = CLOSED;
        receiver_sure = true
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
        :: lost_out = 0; receiver_hears()
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
        :: lost_back = 0; sender_hears(has_arrived)
        fi
       }
    :: atomic {
        confirmation > 0 ->
        confirmation--;
        if
        :: lost_back < K -> lost_back++
        :: lost_back = 0; sender_hears(false)
        fi
       }
    od
}

/* P1  who takes its close for confirmed has a peer that knows: it left the session too, or closes. */
active proctype judge()
{
end:
    if
    :: atomic { sender_sure && !receiver_left && receiver == OPEN -> assert(false) }
    :: atomic { receiver_sure && !sender_left && sender == OPEN -> assert(false) }
    :: atomic { timeout -> assert(sender != CLOSING); assert(receiver != CLOSING) } /* P2 */
    fi
}
