/* A sender that sleeps, and that nobody waits for (src/transport/shm/control_ring.h): messages that
 * went as a whole end without waking it. A user that waits all the same, for several messages at
 * once or by a descriptor, says so first.
 *
 *     N  messages, all in the ring
 *
 * The library's thread tells the ends that it finds, and goes to sleep: ASLEEP if a user waits by
 * then, else IDLE. The user is busy, and then waits for the last message, at any moment. The
 * receiver reads one message after the other, and wakes a thread that is ASLEEP.
 *
 * P  The user that waits is told: nobody is left asleep behind a message that was read.
 *
 * A mistake put in on purpose has to be found:
 *     -DSILENT      the user that waits does not say so
 *     -DLOOK_FIRST  it looks for what has ended, and says so then, as a look may that is not seq_cst
 *     -DBLIND       it says so, and does not look
 *     -DTELL_FIRST  the receiver looks for a sleeper, and then says that it has read
 *     -DSTALE       the thread asks whether a user waits, and says that it sleeps later, without
 *                   the lock between */
#ifndef N
#define N 2
#endif

#define AWAKE 0
#define ASLEEP 1
#define IDLE 2

byte read;         /* messages that the receiver has read, */
byte told;         /* and of those, that the users were told of */
byte sleep = IDLE; /* as shared memory has it: the thread sleeps at first */
byte wake_ups;     /* datagrams for the thread */
bool is_awaited;   /* a user waits */
bool is_locked;    /* the link's mutex */

#define LOCK atomic { !is_locked -> is_locked = true }
#define UNLOCK is_locked = false

inline tell()
{
    told = read
}

active proctype receiver()
{
    do
    :: read < N ->
#ifdef TELL_FIRST
       if
       :: sleep == ASLEEP -> atomic { sleep = AWAKE; wake_ups++ }
       :: else
       fi;
       read++
#else
       read++;
       if
       :: atomic { sleep == ASLEEP -> sleep = AWAKE; wake_ups++ }
       :: sleep != ASLEEP
       fi
#endif
    :: else -> break
    od
}

active proctype thread()
{
    bool awaited;

end:
    do
    :: wake_ups > 0 ->
       wake_ups--;
       LOCK;
       sleep = AWAKE;
       tell();
       awaited = is_awaited;
#ifdef STALE
       UNLOCK;
       LOCK;
#endif
       if
       :: awaited ->
          sleep = ASLEEP;
          if
          :: read > told -> sleep = AWAKE; wake_ups++ /* it does not sleep */
          :: else
          fi
       :: else -> sleep = IDLE
       fi;
       UNLOCK
    od
}

active proctype user()
{
    is_awaited = true;
    LOCK;
#ifdef LOOK_FIRST
    tell();
#endif
#ifndef SILENT
    if
    :: atomic { sleep == IDLE -> sleep = ASLEEP }
    :: sleep != IDLE
    fi;
#endif
#if !defined(LOOK_FIRST) && !defined(BLIND)
    tell();
#endif
    UNLOCK;
    told == N /* in the end */
}

/* Something is to be said by a datagram, as credit is: which wakes the thread at any moment. */
active proctype other()
{
    if
    :: atomic { sleep != AWAKE -> sleep = AWAKE; wake_ups++ }
    :: true
    fi
}
