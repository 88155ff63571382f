/* One message, from post and submit to its end on both sides, over a channel that loses, reorders
 * and duplicates: block acknowledgement with a new number for each repeat, timers at both ends, and
 * a user on each side who may take the message back. After Gouda, Brown and Miller (1989), who
 * bound the numbers; here they never come again.
 *
 *     U  units of the message              N  transmissions that anybody may still speak of
 *     K  losses in a row, each way         C  copies of a transmission at most
 *
 * Numbers do not repeat on the wire within 2^31, so the model takes a slot for each and frees it
 * when nothing refers to it any more: which slot it was is then as good as a number never used.
 * Timers may fire at any moment, early ones included; so orders and tolerances, which only choose
 * the moment, are not modelled. Each process is one source of action, and gets its turn if it
 * wants one for ever (weak fairness).
 *
 * What is checked, by the sentences of docs/protocol.md: P1 to P6 below, that nothing stands still
 * before both sides are over (no invalid end state), and that nothing goes round for ever (no cycle
 * without progress, where each unit or fact is learnt once).
 *
 * A mistake put in on purpose has to be found:
 *     -DNO_SENDER_TIMER -DNO_ACK_TIMER -DNO_REQUEST_TIMER    something stands still
 *     -DREUSE      a number is used again as soon as its unit was given up
 *     -DEARLY_ACK  what cannot be taken is acknowledged all the same */
#ifndef U
#define U 2
#endif
#ifndef N
#define N 3
#endif
#ifndef C
#define C 2
#endif

#define NONE 15 /* no slot, no unit */
#define VOID U  /* the unit that says that the message will not come */

mtype = { IDLE, LIVE, REFUSED, OVER, POSTED, WITHDRAWN, UNKNOWN };

/* the sender */
mtype sender = IDLE;
mtype known = UNKNOWN; /* what the sender knows of the receiver's buffer */
byte cut;              /* units below were sent at least once */
byte slot[U + 1] = NONE; /* the unit's transmission, or NONE: not cut, or to be repeated */
bool acked[U + 1];
bool is_ok;            /* over, and well */

/* the transmissions */
byte carries[N] = NONE; /* the unit, or NONE */
byte out[N];     /* copies under way */
bool arrived[N]; /* as the receiver remembers it */

/* the receiver */
mtype receiver = IDLE;
bool got[U];
byte got_count;
bool is_delivered;
bool unsaid; /* something arrived that is not acknowledged */
bool heard;  /* of this message: the sender knows of its buffer */

/* the way back */
bool ack_out;
bool acks[N];    /* the numbers in the acknowledgement under way */
mtype request_out = UNKNOWN; /* the request under way: POSTED, WITHDRAWN, or none */
#ifdef K
byte lost_out, lost_ack, lost_request; /* in a row */
#endif

/* Without K anything may be lost at any time: enough where only safety is looked at. */
#ifdef K
#define may_lose(count) (count < K)
#define lose(count) count++
#define keep(count) count = 0
#else
#define may_lose(count) true
#define lose(count) skip
#define keep(count) skip
#endif

/* Nobody will speak of a slot any more: its unit does not wait for it, no datagram names it, and no
 * acknowledgement is about to. One that was lost may have been the last: "or the receiver no longer
 * knows". */
#define is_awaited(k) (carries[k] != NONE && !acked[carries[k]] && \
                       (slot[carries[k]] == k || (arrived[k] && unsaid)))
#define is_free(k) (out[k] == 0 && !(ack_out && acks[k]) && !is_awaited(k))
#ifdef REUSE
#define may_use(k) (carries[k] == NONE || acked[carries[k]] || slot[carries[k]] != k)
#else
#define may_use(k) is_free(k)
#endif

#define is_sender_over (sender == OVER)
#define is_receiver_over (receiver == OVER)

/* What nobody will ever look at again is set to nothing, so that states that differ only there are
 * one. */
inline tidy()
{
    d_step {
        k = 0;
        do
        :: k < N ->
            if
            :: carries[k] != NONE && acked[carries[k]] -> acks[k] = false; arrived[k] = false
            :: else
            fi;
            if
            :: is_free(k) -> carries[k] = NONE; arrived[k] = false
            :: else
            fi;
            k++
        :: else -> break
        od;
        k = 0
    }
}

/* A transmission of `u` under a number that is new: nobody has ever acknowledged it. */
inline transmit(u)
{
    k = 0;
    do
    :: k < N && !may_use(k) -> k++
    :: else -> break
    od;
    if
    :: k < N ->
        carries[k] = u;
        slot[u] = k;
#ifndef REUSE
        arrived[k] = false;
#endif
        out[k] = 1;
        if
        :: C > 1 -> out[k] = C
        :: true
        fi
    :: else
    fi;
    k = 0
}

#define has_free (may_use(0) || may_use(1) || (N > 2 && may_use(2)) || (N > 3 && may_use(3)))

/* Messages on the sender: "A LIVE message is sent once [...] the receiver has announced a buffer
 * for it. It is cut in order"; "A VOID message sends one unit with VOID, which is repeated and
 * acknowledged like any other". */
active proctype sending()
{
    byte k;
end:
    do
    :: atomic { sender == LIVE && known == POSTED && cut < U && has_free -> transmit(cut); cut++ }
    :: atomic { sender == LIVE && cut > 0 && slot[0] == NONE && !acked[0] && has_free -> transmit(0) }
#if U > 1
    :: atomic { sender == LIVE && cut > 1 && slot[1] == NONE && !acked[1] && has_free -> transmit(1) }
#endif
#if U > 2
    :: atomic { sender == LIVE && cut > 2 && slot[2] == NONE && !acked[2] && has_free -> transmit(2) }
#endif
    :: atomic { sender == REFUSED && slot[VOID] == NONE && has_free -> transmit(VOID) }
    od
}

/* Time, the sender's loss and probe timers: whatever is in transit may be given up, and is to be
 * repeated under a new number. */
#ifndef NO_SENDER_TIMER
active proctype sender_timer()
{
    byte k;
end:
    do
    :: atomic { sender != OVER && slot[0] != NONE && !acked[0] -> slot[0] = NONE; tidy() }
#if U > 1
    :: atomic { sender != OVER && slot[1] != NONE && !acked[1] -> slot[1] = NONE; tidy() }
#endif
#if U > 2
    :: atomic { sender != OVER && slot[2] != NONE && !acked[2] -> slot[2] = NONE; tidy() }
#endif
    :: atomic { sender == REFUSED && slot[VOID] != NONE -> slot[VOID] = NONE; tidy() }
    od
}
#endif

/* LIVE turns VOID: cancelled here, or there is no buffer any more. */
inline refuse()
{
    sender = REFUSED
}

active proctype sender_user()
{
    atomic {
        sender = LIVE;
        if
        :: known == WITHDRAWN -> refuse() /* the request was here before the message */
        :: else
        fi
    };
    if
    :: atomic { sender == LIVE -> refuse() }
    :: true
    fi
}

/* P1  "it counts the unit as delivered": a unit counts only if the receiver has it, or wants none.
 * P2  over, ok: the receiver has delivered the message.
 * P3  a void unit is acknowledged: "the receiver learns that nothing (more) will come". */
inline settle(u)
{
    if
    :: u != NONE && !acked[u] ->
        assert(u == VOID || got[u] || receiver == OVER); /* P1 */
        acked[u] = true;
        if
        :: sender == LIVE && u != VOID && cut == U && acked[0] && (U < 2 || acked[U - 1]) &&
           (U < 3 || acked[1]) ->
            sender = OVER;
            is_ok = true;
            assert(is_delivered) /* P2 */
        :: sender == REFUSED && u == VOID ->
            sender = OVER;
            assert(receiver == OVER) /* P3 */
        :: else
        fi
    :: else
    fi
}

inline forget_ack()
{
    ack_out = false;
    k = 0;
    do
    :: k < N -> acks[k] = false; k++
    :: else -> break
    od;
    tidy()
}

/* "If an acknowledgement comes for a transmission that was given up, its repeat is as good as
 * acknowledged": so what counts is what the number carried, wherever its unit is now. */
active proctype ack_channel()
{
    byte k;
end:
    do
    :: atomic {
        ack_out && may_lose(lost_ack) -> lose(lost_ack);
        forget_ack()
       }
    :: atomic {
        ack_out ->
        keep(lost_ack);
        k = 0;
        do
        :: k < N ->
            if
            :: acks[k] -> settle(carries[k])
            :: else
            fi;
            k++
        :: else -> break
        od;
        forget_ack()
       }
    od
}

/* "The size 2^64 - 1 says that they have none any more." A withdrawal is not taken back by a
 * request that was overtaken. */
active proctype request_channel()
{
end:
    do
    :: atomic {
        request_out != UNKNOWN && may_lose(lost_request) -> lose(lost_request);
        request_out = UNKNOWN
       }
    :: atomic {
        request_out != UNKNOWN ->
        keep(lost_request);
        if
        :: known == UNKNOWN || (known == POSTED && request_out == WITHDRAWN) ->
            known = request_out;
            if
            :: known == WITHDRAWN && sender == LIVE -> refuse()
            :: else
            fi
        :: else
        fi;
        request_out = UNKNOWN
       }
    od
}

inline end_receiver(ok)
{
    assert(receiver != OVER); /* P4: one end each */
    receiver = OVER;
    is_delivered = ok
}

/* Messages on the receiver, the table: line by line. */
inline land(k)
{
    if
    :: receiver == IDLE ->
#ifdef EARLY_ACK
        arrived[k] = true; unsaid = true
#else
        skip /* not posted yet: drops it */
#endif
    :: receiver == OVER -> arrived[k] = true; unsaid = true
    :: receiver != OVER && receiver != IDLE && carries[k] == VOID ->
        arrived[k] = true; unsaid = true; heard = true;
        end_receiver(false)
    :: receiver == WITHDRAWN && carries[k] != VOID ->
#ifdef EARLY_ACK
        arrived[k] = true; unsaid = true
#else
        skip
#endif
    :: receiver == POSTED && carries[k] != VOID ->
        arrived[k] = true; unsaid = true; heard = true;
        if
        :: !got[carries[k]] ->
            assert(!is_delivered); /* P5: nothing is written after the end */
            got[carries[k]] = true;
            got_count++;
            if
            :: got_count == U -> end_receiver(true)
            :: else
            fi
        :: else
        fi
    fi
}

/* Any copy under way is lost or lands. */
active proctype unit_channel()
{
    byte k;
end:
    do
    :: atomic {
        (out[0] > 0 || out[1] > 0 || (N > 2 && out[2] > 0) || (N > 3 && out[3] > 0)) ->
        if
        :: out[0] > 0 -> k = 0
        :: out[1] > 0 -> k = 1
#if N > 2
        :: out[2] > 0 -> k = 2
#endif
#if N > 3
        :: out[3] > 0 -> k = 3
#endif
        fi;
        out[k]--;
        if
        :: may_lose(lost_out) -> lose(lost_out)
        :: keep(lost_out); land(k)
        fi;
        tidy()
       }
    od
}

/* Time, the receiver's acknowledgement timer: what arrived is acknowledged. */
#ifndef NO_ACK_TIMER
active proctype acknowledging()
{
    byte k;
end:
    do
    :: atomic {
        unsaid && !ack_out ->
        ack_out = true;
        unsaid = false;
        k = 0;
        do
        :: k < N -> acks[k] = arrived[k]; k++
        :: else -> break
        od;
        k = 0
       }
    od
}
#endif

/* Hello and request: "A request restates whatever may not have arrived", "Withdrawn messages are
 * restated until their void unit comes." */
#ifdef NO_REQUEST_TIMER
bool is_said, is_withdrawal_said;
#define may_say(what) (!what)
#define note(what) what = true
#else
#define may_say(what) true
#define note(what) skip
#endif

active proctype requesting()
{
end:
    do
    :: atomic {
        request_out == UNKNOWN && receiver == POSTED && !heard && may_say(is_said) ->
        request_out = POSTED;
        note(is_said)
       }
    :: atomic {
        request_out == UNKNOWN && receiver == WITHDRAWN && may_say(is_withdrawal_said) ->
        request_out = WITHDRAWN;
        note(is_withdrawal_said)
       }
    od
}

active proctype receiver_user()
{
    receiver = POSTED;
    if
    :: atomic { receiver == POSTED -> receiver = WITHDRAWN }
    :: true
    fi
}

init
{
    /* P6: both sides come to an end, and to the same one where one of them ended well */
    is_sender_over && is_receiver_over;
    assert(!is_ok || is_delivered)
}
