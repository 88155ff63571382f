/* The credit ring (src/transport/shm/credit_ring.h): a receiver shows buffers in memory that both ends share, and a
 * sender looks there for what it needs next. While it looks nobody sends anything. Before it sleeps it says so, and
 * then the receiver sends a request, which wakes it.
 *
 *     N  messages, and buffers           A  datagrams of another kind that wake the sender, at most
 *
 * P1  All messages are sent: no sender sleeps for good while the buffer that it needs is shown. (No invalid end.)
 * P2  Whoever sends a request was asked for it: each has its own want.
 * P3  The sender reads the size of the buffer that it finds, and no other.
 *
 * A mistake put in on purpose has to be found:
 *     -DNO_LOOK      the sender does not look once more behind saying that it sleeps
 *     -DCHECK_FIRST  the receiver looks for a sleeper, and shows its buffer then
 *     -DSAY_ONCE     the sender says only once that it wants a buffer
 *     -DKEEP         the receiver does not take the want back (P2)
 *     -DRELAXED      the receiver shows a buffer with a relaxed store: its size may come later
 *     -DPEEK         the sender reads the size before it finds the buffer (P3)
 *     -DSHOW_PASSES  the receiver looks for a sleeper before what it shows is in memory
 *     -DLOOK_PASSES  the sender looks once more before it is in memory that it sleeps */
#ifndef N
#define N 4
#endif
#ifndef A
#define A 2
#endif

#define SENDER 0
#define RECEIVER 1
#define CPUS 2

#define SHOWN 1     /* buffers below and with this one are shown */
#define WANTED 2    /* the sender: it has something to send, and no buffer */
#define ASLEEP 3    /* the sender: it is to be woken */
#define SIZE(n) (3 + (n))
#define WORDS (4 + N)
#include "order.inc"

#ifdef RELAXED
#define show_buffer store
#else
#define show_buffer release
#endif

byte posted;    /* buffers that a request tells of */
byte wake_ups;  /* datagrams that wake the sender, */
byte requests;  /* and what they are to bring */
byte wants;     /* how often the sender wanted one anew */
byte told;      /* requests so far */

/* The caller's buffer is empty. */
inline wake_sender()
{
    atomic { if
    :: memory[ASLEEP] == 1 -> memory[ASLEEP] = 0; wake_ups++
    :: else
    fi }
}

inline want()
{
    atomic { if
    :: load(SENDER, WANTED) == 1
    :: else -> wants++; release(SENDER, WANTED, 1)
    fi }
}

/* Each step is one access of the shared memory. */
active proctype sender()
{
    byte next = 1, known, size;
    bool has_said;

    do
    :: next > N -> break
    :: else ->
       atomic { if
       :: requests > 0 -> requests--; known = posted
       :: else
       fi };
#ifdef PEEK
       size = load(SENDER, SIZE(next));
#endif
       if
       :: known >= next -> next++
       :: known < next && load(SENDER, SHOWN) >= next ->
#ifndef PEEK
          size = load(SENDER, SIZE(next));
#endif
          assert(size == next); /* P3 */
          size = 0;
          next++
       :: known < next && load(SENDER, SHOWN) < next ->
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
             release(SENDER, ASLEEP, 1);
#ifndef LOOK_PASSES
             is_ordered(SENDER);
#endif
#ifndef NO_LOOK
             if
             :: load(SENDER, SHOWN) >= next || requests > 0 -> release(SENDER, ASLEEP, 0)
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
#ifndef SHOW_PASSES
    is_ordered(RECEIVER);
#endif
    if
    :: load(RECEIVER, ASLEEP) == 1 ->
       atomic { is_empty(RECEIVER) -> if
#ifdef KEEP
       :: memory[WANTED] == 1 -> wanted = true
#else
       :: memory[WANTED] == 1 -> memory[WANTED] = 0; wanted = true
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
       posted = post;
       store(RECEIVER, SIZE(post), post);
#ifdef CHECK_FIRST
       tell();
       show_buffer(RECEIVER, SHOWN, post);
#else
       show_buffer(RECEIVER, SHOWN, post);
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
