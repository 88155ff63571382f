/* The engine (src/workers/engine.h) and a member whose socket a user's thread borrows while it waits.
 *
 *     N  datagrams that arrive          W  waits of each of two users' threads
 *
 * The arriving thread does a turn when an armed socket has something, and arms it again. A waiter
 * that finds the socket free borrows it, and receives itself; a second one sleeps. Whoever returns
 * the socket wakes one who sleeps, or has the timeout thread arm the socket soon. In the end the
 * member leaves.
 *
 * P1  What has arrived is received in the end, whoever waits: no wake-up is lost.
 * P2  A waiter that sleeps while datagrams arrive receives or is woken: none sleeps for ever.
 * P3  Leave returns, and no turn runs behind it.
 * P4  Two never receive at once.
 *
 * A mistake put in on purpose has to be found:
 *     -DNO_ARM      who returns the socket does not have it armed
 *     -DNO_HANDOVER who returns the socket wakes nobody, and does not have it armed if one sleeps
 *     -DSTEAL       the arriving thread receives although the socket is borrowed
 *     -DNO_WORD     a turn disarms the socket although it was armed meanwhile
 *     -DNO_HOLD     leave does not wait for turns
 *     -DFORGET      the arriving thread leaves the socket disarmed behind a turn */
#ifndef N
#define N 2
#endif
#ifndef W
#define W 2
#endif

byte arrived;        /* datagrams in the socket */
byte to_come = N;
byte received;       /* all together */
bool is_armed = true;
bool is_borrowed;
bool is_let_be;      /* a turn has found a waiter, and disarms it */
bool was_armed;      /* by somebody else, since the arriving thread's turn began */
bool rearm;          /* the timeout thread is to arm it */
byte sleepers;       /* waiters asleep */
byte calls;          /* of sleepers, under way */
byte receiving;      /* who receives now: P4 */
byte turns;          /* of the engine's threads */
bool is_leaving, has_left;
byte waiters = 2;    /* that are not through */

inline receive_all()
{
    receiving++;
    assert(receiving == 1); /* P4 */
    d_step { received = received + arrived; arrived = 0; }
    receiving--
}

active proctype network()
{
    do
    :: to_come > 0 -> d_step { to_come--; arrived++ }
    :: to_come == 0 -> break
    od
}

active proctype arriving()
{
end:
    do
    :: atomic { is_armed && arrived > 0 && !is_leaving -> was_armed = false; turns++ }
       if
#ifdef STEAL
       :: true -> receive_all()
#else
       :: atomic { is_borrowed -> is_let_be = true } /* whoever returns it will have it armed */
#ifdef NO_WORD
          is_armed = false;
#else
          atomic { is_armed = was_armed && !is_leaving };
#endif
          goto done
       :: atomic { !is_borrowed && receiving == 0 -> receiving++ }
          assert(receiving == 1);
          d_step { received = received + arrived; arrived = 0 }
          receiving--
#endif
       fi;
#ifdef FORGET
       is_armed = false;
#endif
done:  assert(!has_left); /* P3 */
       turns--
    :: has_left -> break
    od
}

active proctype timeout_thread()
{
end:
    do
    :: atomic { rearm && !is_leaving -> rearm = false; turns++ }
       if
       :: atomic { !is_borrowed -> is_armed = !is_leaving; was_armed = true; is_let_be = false }
       :: is_borrowed
       fi;
       assert(!has_left); /* P3 */
       turns--
    :: has_left -> break
    od
}

/* A wait ends when something was received, by whomever, or when its time limit has passed. */
active [2] proctype waiter()
{
    byte waits = W;
    byte seen;

    do
    :: waits > 0 ->
       waits--;
       seen = received;
again: if
       :: atomic { !is_borrowed -> is_borrowed = true }
          do
          :: atomic { arrived > 0 && receiving == 0 -> receiving++ }
             assert(receiving == 1);
             d_step { received = received + arrived; arrived = 0 }
             receiving--;
             break
          :: break /* its message has ended, or its time limit has passed */
          od;
          atomic {
              is_borrowed = false;
              if
#ifndef NO_HANDOVER
              :: sleepers > calls -> calls++
              :: else ->
#else
              :: sleepers > calls -> skip
              :: else ->
#endif
#ifndef NO_ARM
                 rearm = is_let_be || rearm
#else
                 skip
#endif
              fi
          }
       :: atomic { is_borrowed -> sleepers++ }
          if
          :: atomic { calls > 0 -> calls--; sleepers-- }
             goto again
          :: atomic { received != seen -> sleepers--;
                /* its message ended: a call that was meant for it is passed on */
                if
                :: calls > sleepers ->
                   calls--;
                   if
                   :: sleepers > calls -> calls++
                   :: else -> rearm = is_let_be || rearm
                   fi
                :: else
                fi }
          :: atomic { to_come == 0 && arrived == 0 -> sleepers--;  /* nothing more comes: its limit */
                if
                :: calls > sleepers -> calls--; rearm = is_let_be || rearm
                :: else
                fi }
          fi
       fi
    :: waits == 0 -> break
    od;
    waiters--
}

active proctype closer()
{
    /* P1 and P2: if anybody stood still for good, this would block for ever, and spin says so. */
    waiters == 0 && to_come == 0 && arrived == 0;
    is_leaving = true;
#ifndef NO_HOLD
    turns == 0;
#endif
    has_left = true
}
