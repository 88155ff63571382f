/* The credit ring (src/transport/shm/credit_ring.h): a receiver shows buffers in memory that both ends share, and a
 * sender looks there for what it needs next. While it looks nobody sends anything. Before it sleeps it says so, and
 * then the receiver sends a request, which wakes it.
 *
 *     N  messages, and buffers           A  datagrams of another kind that wake the sender, at most
 *
 * P1  All messages are sent: no sender sleeps for good while the buffer that it needs is shown. (No invalid end.)
 * P2  Whoever sends a request was asked for it: each has its own want.
 *
 * A mistake put in on purpose has to be found:
 *     -DNO_LOOK      the sender does not look once more behind saying that it sleeps
 *     -DCHECK_FIRST  the receiver looks for a sleeper, and shows its buffer then
 *     -DSAY_ONCE     the sender says only once that it wants a buffer
 *     -DKEEP         the receiver does not take the want back (P2) */
#ifndef N
#define N 4
#endif
#ifndef A
#define A 2
#endif

byte shown;     /* buffers below and with this one are shown */
bool is_wanted; /* the sender: it has something to send, and no buffer */
bool is_asleep; /* the sender: it is to be woken */
byte wake_ups;  /* datagrams that wake it, */
byte requests;  /* and what they are to bring */
byte wants;     /* how often the sender wanted one anew */
byte told;      /* requests so far */

inline wake_sender()
{
    atomic { if
    :: is_asleep -> is_asleep = false; wake_ups++
    :: else
    fi }
}

inline want()
{
    atomic { if
    :: is_wanted
    :: else -> is_wanted = true; wants++
    fi }
}

/* Each step is one access of the shared memory. */
active proctype sender()
{
    byte next = 1, known;
    bool has_said;

    do
    :: next > N -> break
    :: else ->
       atomic { if
       :: requests > 0 -> requests--; known = shown
       :: else
       fi };
       if
       :: known >= next || shown >= next -> next++
       :: else ->
#ifdef SAY_ONCE
          if
          :: has_said
          :: else -> want(); has_said = true
          fi;
#else
          want();
#endif
          if
          :: true -> skip /* looks again */
          :: true ->
             is_asleep = true;
#ifndef NO_LOOK
             if
             :: shown >= next || requests > 0 -> is_asleep = false
             :: else ->
#endif
                wake_ups > 0; /* sleeps */
                wake_ups--
#ifndef NO_LOOK
             fi
#else
             ;
#endif
          fi
       fi
    od
}

inline tell()
{
    if
    :: is_asleep ->
       atomic { if
#ifdef KEEP
       :: is_wanted -> wanted = true
#else
       :: is_wanted -> is_wanted = false; wanted = true
#endif
       :: else -> wanted = false
       fi };
       if
       :: wanted -> told++; assert(told <= wants); requests++; wake_sender() /* P2 */
       :: else
       fi
    :: else
    fi
}

active proctype receiver()
{
    byte post = 1;
    bool wanted;

    do
    :: post > N -> break
    :: else ->
#ifdef CHECK_FIRST
       tell();
       shown = post;
#else
       shown = post;
       tell();
#endif
       post++
    od
}

/* Acknowledgements, say. */
active proctype others()
{
    byte i;

    do
    :: i == A -> break
    :: true -> break
    :: i < A -> i++; wake_sender()
    od
}
