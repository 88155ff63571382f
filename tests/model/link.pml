/* A link (src/link/link.h) whose peer is in another process of this host, in one piece: who receives
 * for both of its halves, and who sleeps until when.
 *
 *     N  notes that the peer offers     S  slots of the ring         R  notes that it revokes
 *     U  datagrams through the socket   A  answers for the other half of the link
 *     W  waits of each user's thread    WAITERS  such threads, 1 or 2
 *
 * The peer offers notes in a ring, and answers, in memory that both processes map, and sends
 * datagrams. It wakes a reader that has said there that it sleeps: with an empty datagram. It begins
 * when this side has agreed to meet, which this side notes in a locked section of its own.
 *
 * Who receives is a lease. A waiter takes it, receives, and sleeps in front of the socket; it gives
 * it back to another waiter, or with a time. A lease that is not used by its time returns to the
 * worker, for which the socket is armed. Whoever receives claims that, and does it without the
 * mutex. What ends a message wakes the waiter that has the lease, and all waiters who sleep. With
 * -DKEYS a plan is either for the ring, or for the socket, where all is sealed.
 *
 * Both halves have memory here, or neither has any. The model says nothing of a link of which only
 * one half has memory, because the kernel forbids the other direction: tests/e2e/host/oneway_test.c
 * is of such a link. Nor has it queues (queue.pml), whose takers do the worker's turns.
 *
 * A locked section is one step, but for the one in which a thread says that it sleeps, and looks.
 * A wait may end by its time limit whenever its thread is awake with the lease, and nowhere else:
 * so no wait that is too long is hidden by a limit.
 *
 * P1  All that was sent and not taken back is received, and ends the waits for it, while somebody
 *     waits and while nobody does: no wake-up is lost.
 * P2  A revoked note never counts, and stalls nothing.
 * P3  Two never receive at once.
 * P4  With keys nothing is received by a plan of the other kind.
 * P5  Leave returns, and no turn of the library's threads runs behind it.
 * P6  No cycle: no thread is woken again and again while nothing happens.
 *
 * If anybody stood still for good, `user` would not come to its end, and spin says so.
 *
 * A mistake put in on purpose has to be found:
 *     -DNO_LOOK       who says that it sleeps does not look once more
 *     -DLOOK_FIRST    it looks, and says only then that it sleeps
 *     -DWAKE_FIRST    the peer looks whether a reader sleeps, and offers only then
 *     -DEARLY         a waiter looks whether its message has ended, and says then that it sleeps
 *     -DNO_RETURN     nobody takes back a lease whose time has come
 *     -DNO_ARM        the lease returns, and the socket is not armed
 *     -DNO_SLEEP      the lease returns, and nobody says in memory that the worker sleeps
 *     -DUNNOTED       nobody looks when the meeting is noted, though the peer may have woken it
 *     -DNO_WAKE       the worker does not wake a waiter that has come while it received
 *     -DTAKE_BACK     nor one that said before it that it sleeps, when it says that it is awake
 *     -DDISARM        the worker disarms a socket that was armed meanwhile
 *     -DFORGET        the worker leaves the socket disarmed behind a turn
 *     -DDROP_NAP      it does not look again if somebody has armed the socket meanwhile
 *     -DNO_CLAIM      nobody claims to receive
 *     -DBLIND         the reader does not ask whether a note was revoked while it copied
 *     -DNO_HOLD       leave does not wait for turns
 *     -DNO_HANDOVER   with WAITERS=2: who gives the lease back wakes nobody who sleeps
 *     -DTWO_PLANS     with KEYS: whether to read the ring is asked once more behind the plan
 *     -DREVOKED_HEAD  with KEYS: a revoked note at the head counts as work for who is to sleep, and
 *                     as none for the plan (cycles)
 *     -DDEAF          a waiter that was woken by its socket looks at memory alone (cycles) */
#ifndef N
#define N 2
#endif
#ifndef S
#define S 2
#endif
#ifndef R
#define R 1
#endif
#ifndef A
#define A 1
#endif
#ifndef U
#define U 1
#endif
#ifndef W
#define W 1
#endif
#ifndef WAITERS
#define WAITERS 1
#endif

/* a slot of the ring */
#define FREE 0
#define OFFERED 1
#define REVOKED 2

/* the lease */
#define WORKERS 0 /* the library's threads receive */
#define KEPT 1    /* a waiter has given it back with a time: nobody receives until then */
#define AWAKE 2   /* a waiter has it, */
#define ASLEEP 3  /* and sleeps */

/* the way that units take */
#define SOCKET 0
#define DRAINING 1
#define MEMORY 2

#define slot(n) ((n) % S)

/* what both processes map */
bool consents; /* to the meeting */
byte state[S], note[S];
bool has_answer;
bool ring_sleeps = true, answers_sleep = true;

/* the socket, from which all is read at once */
bool has_unit, has_wake_up;

/* the peer */
byte head; /* notes offered */
byte units_left = U, answers_left = A, revokes_left = R;
bool taken_back[N];

/* the link */
bool is_locked;  /* by who says that it sleeps, and looks */
bool is_claimed; /* somebody receives */
byte way = SOCKET;
byte lease = WORKERS;
bool wake;     /* of the waiter that has it */
byte sleepers; /* that wait for it, or for the end of their messages, */
bool is_chosen; /* and of whom one is to take it */
byte tail, receiving; /* notes that were read; who receives */
bool is_waiting[2], is_over[2]; /* of each waiter, and of its message */
bool is_closed;

/* the workers */
bool is_armed = true; /* the socket, for the worker */
bool was_armed;       /* by another thread, since the worker's turn began */
bool must_arrive;     /* the worker is to look, whatever the socket has */
byte turns; /* that run now, */
bool is_turning; /* and the worker's */
bool is_leaving, has_left;

#define is_readable (has_unit || has_wake_up)
#define is_held (lease >= AWAKE)
#define has_ended(w) (is_over[w] || is_closed)

/* ---- the peer ---- */

inline wake_reader(sleeps)
{
    atomic {
        if
        :: sleeps -> sleeps = false; has_wake_up = true
        :: else
        fi
    }
}

inline offer()
{
    atomic {
        note[slot(head)] = head;
        state[slot(head)] = OFFERED;
        head++
    }
}

inline revoke(s)
{
    state[s] = REVOKED;
    taken_back[note[s]] = true;
    revokes_left--
}

active proctype peer()
{
    do
    :: atomic { units_left > 0 -> units_left--; has_unit = true }
    :: consents && head < N && state[slot(head)] == FREE ->
#ifdef WAKE_FIRST
       wake_reader(ring_sleeps);
       offer()
#else
       offer();
       wake_reader(ring_sleeps)
#endif
    :: atomic { consents && answers_left > 0 && !has_answer -> answers_left--; has_answer = true };
       wake_reader(answers_sleep)
    :: atomic { revokes_left > 0 && state[0] == OFFERED -> revoke(0) }
#if S > 1
    :: atomic { revokes_left > 0 && state[1] == OFFERED -> revoke(1) }
#endif
    :: head == N && answers_left == 0 && units_left == 0 -> break
    od
}

/* ---- receiving ---- */

/* Passes what was revoked. */
inline pass()
{
    do
    :: state[slot(tail)] == REVOKED ->
       state[slot(tail)] = FREE;
       taken_back[tail] = false;
       tail++
    :: else -> break
    od
}

#define has_note (state[slot(tail)] == OFFERED)

inline make_plan()
{
#ifndef NO_CLAIM
    is_claimed = true;
#endif
    receiving++;
    assert(receiving == 1); /* P3 */
    has_memory = way != SOCKET;
    is_first = way == MEMORY;
#ifndef REVOKED_HEAD
    if
    :: is_first -> pass()
    :: else
    fi;
#endif
#ifdef KEYS
    is_near = is_first && has_note
#endif
}

inline take_socket()
{
    assert(!is_near); /* P4 */
    got = is_readable;
    ends = has_unit;
    has_unit = false;
    has_wake_up = false
}

inline look_for_note()
{
    pass();
    got = has_note
}

/* It has been copied. */
inline take_note()
{
#ifdef KEYS
    assert(is_near); /* P4 */
#endif
    if
#ifdef BLIND
    :: true ->
#else
    :: has_note ->
#endif
       assert(!taken_back[tail]); /* P2 */
       ends = true
#ifndef BLIND
    :: else
#endif
    fi;
    state[slot(tail)] = FREE;
    taken_back[tail] = false;
    tail++
}

/* With keys a plan is either for the ring or for the socket. */
#ifdef KEYS
inline receive_units()
{
    if
#ifdef TWO_PLANS
    :: atomic { (is_near || (is_first && has_note)) -> look_for_note() };
#else
    :: atomic { is_near -> look_for_note() };
#endif
       if
       :: atomic { got -> take_note() }
       :: !got
       fi
#ifdef TWO_PLANS
    :: atomic { !is_near && !(is_first && has_note) && (!is_first || hears) -> take_socket() };
#else
    :: atomic { !is_near && (!is_first || hears) -> take_socket() };
#endif
       atomic {
           if
           :: !got && has_memory && !is_first ->
#ifndef REVOKED_HEAD
              pass();
#endif
              is_first = has_note
           :: else
           fi
       }
    :: !is_near && is_first && !hears
    fi
}
#else
inline receive_units()
{
    atomic {
        if
        :: has_memory && !is_first ->
           pass();
           if
           :: has_note -> take_socket(); is_first = !got
           :: else
           fi
        :: else
        fi;
        if
        :: is_first -> look_for_note()
        :: !is_first && !got -> take_socket()
        :: else
        fi
    };
    if
    :: atomic { is_first && got -> take_note() }
    :: atomic { is_first && !got && hears -> take_socket() }
    :: !is_first || (!got && !hears)
    fi
}
#endif

/* One receive. */
inline receive()
{
    if
    :: atomic { !is_locked && is_claimed }
    :: atomic { !is_locked && !is_claimed -> make_plan() };
       receive_units();
       atomic {
           !is_locked ->
           receiving--;
           is_claimed = false;
           if
           :: is_first && way == DRAINING -> way = MEMORY
           :: else
           fi;
           if
           :: way != SOCKET && has_answer -> has_answer = false; ends = true
           :: else
           fi;
           if
           :: ends -> is_over[0] = is_waiting[0]; is_over[1] = is_waiting[1]
           :: else
           fi;
           got = false;
           ends = false;
           has_memory = false;
           is_first = false;
           is_near = false
       }
    fi
}

inline wake_waiter()
{
    if
    :: lease == ASLEEP -> wake = true
    :: else
    fi
}

/* Whoever receives goes to sleep, or gives that to another thread: false if there is something. */
#ifdef REVOKED_HEAD
#define has_work (state[slot(tail)] != FREE || has_answer)
#else
#define has_work (has_note || has_answer)
#endif

inline look_before_sleep()
{
#ifndef REVOKED_HEAD
    pass();
#endif
    may = !has_work
}

inline say_it_sleeps()
{
    ring_sleeps = true;
    answers_sleep = true
}

inline may_sleep()
{
    if
    :: atomic { !is_locked && (is_claimed || way == SOCKET) -> may = true } /* who claims looks */
#ifdef LOOK_FIRST
    :: atomic { !is_locked && !is_claimed && way != SOCKET -> is_locked = true; look_before_sleep() };
       atomic {
           if
           :: may -> say_it_sleeps()
           :: else
           fi;
           is_locked = false
       }
#else
    :: atomic { !is_locked && !is_claimed && way != SOCKET -> is_locked = true; say_it_sleeps() };
       atomic {
#ifdef NO_LOOK
           may = true;
#else
           look_before_sleep();
           ring_sleeps = ring_sleeps && may;
           answers_sleep = answers_sleep && may;
#endif
           is_locked = false
       }
#endif
    fi
}

/* ---- waiters ---- */

#define me (_pid - 1) /* the peer is process 0 */

inline look_oneself()
{
    if
    :: way != SOCKET -> ring_sleeps = false; answers_sleep = false
    :: else
    fi
}

/* The waiter sleeps: for a nap, while another thread receives, or until the socket has something. */
inline rest()
{
#ifdef EARLY
    may = !has_ended(me);
    atomic { !is_locked -> lease = ASLEEP; nap = is_claimed };
#else
    atomic { !is_locked -> lease = ASLEEP; nap = is_claimed; may = !has_ended(me) };
#endif
    if
    :: may && !nap -> may_sleep()
    :: else
    fi;
    atomic {
        !is_locked && (!may || wake || (nap && !is_claimed) || (!nap && is_readable)) ->
#ifndef DEAF
        hears = may && (nap || is_readable);
#endif
        lease = AWAKE;
        wake = false;
        may = false;
        nap = false;
        look_oneself()
    }
}

inline give_back()
{
#ifdef NO_HANDOVER
    atomic { !is_locked -> lease = KEPT }
#else
    atomic { !is_locked -> lease = KEPT; is_chosen = sleepers > 0 }
#endif
}

active [WAITERS] proctype waiter()
{
    byte waits = W;
    bool may, nap, hears, got, ends, has_memory, is_first, is_near;

    do
    :: atomic {
        waits > 0 && !is_closed ->
        waits--;
        is_waiting[me] = true
       };
       do
       :: has_ended(me) -> break
       :: atomic { !has_ended(me) && !is_locked && !is_held ->
           lease = AWAKE;
           is_chosen = false;
           look_oneself()
          };
          do
          :: rest();
             receive();
             hears = false;
             if
             :: has_ended(me) -> break
             :: !has_ended(me) ->
                if
                :: may = true; break /* its time limit has passed */
                :: true
                fi
             fi
          od;
          give_back();
          if
          :: may -> may = false; break
          :: else
          fi
       :: atomic { !has_ended(me) && !is_locked && is_held -> sleepers++ };
          is_chosen || has_ended(me);
          atomic { !is_locked -> sleepers--; is_chosen = sleepers > 0 && !is_held }
       od;
       atomic { is_waiting[me] = false; is_over[me] = false }
    :: break
    od
}

/* ---- the library's threads ---- */

/* There is something: the worker has said in memory that it is awake. */
inline look_again()
{
    must_arrive = !is_leaving;
#ifndef TAKE_BACK
    wake_waiter()
#endif
}

active proctype worker()
{
    bool again, may, hears = true, got, ends, has_memory, is_first, is_near;

    do
    :: atomic {
        !is_leaving && !is_locked && ((is_armed && is_readable) || (must_arrive && !is_claimed)) ->
        turns++;
        is_turning = true;
        must_arrive = false;
        again = is_held
       };
       if
       :: again -> again = false /* whoever gives the lease back has it armed */
       :: !again ->
          receive();
#ifdef NO_WAKE
          atomic { !is_locked -> again = is_claimed };
#else
          atomic { !is_locked -> wake_waiter(); again = is_claimed };
#endif
          if
          :: again /* it naps */
          :: !again -> may_sleep(); again = !may
          fi
       fi;
       atomic {
#ifdef DISARM
           is_armed = may && !is_leaving;
#elif defined(FORGET)
           is_armed = was_armed && !is_leaving;
#else
           is_armed = (may || was_armed) && !is_leaving;
#endif
           if
#ifdef DROP_NAP
           :: again && !was_armed -> look_again()
#else
           :: again -> look_again()
#endif
           :: else
           fi;
           again = false;
           may = false;
           was_armed = false;
           assert(!has_left); /* P5 */
           turns--;
           is_turning = false
       }
    :: has_left -> break
    od
}

/* A lease that was given back, and not taken again by its time. */
active proctype timer()
{
    bool may;

    do
#ifndef NO_RETURN
    :: atomic {
        !is_leaving && !is_locked && lease == KEPT && sleepers == 0 ->
        lease = WORKERS;
        turns++;
#ifndef NO_ARM
        is_armed = true;
        was_armed = is_turning
#endif
       };
#ifdef NO_SLEEP
       may = true;
#else
       may_sleep();
#endif
       atomic {
           if
           :: !may -> look_again()
           :: else -> may = false
           fi;
           assert(!has_left); /* P5 */
           turns--
       }
#endif
    :: has_left -> break
    od
}

/* ---- meeting and leaving ---- */

#define is_all_received (head == N && tail == N && answers_left == 0 && !has_answer && \
                         units_left == 0 && !has_unit)
#define is_all_told (!is_over[0] && !is_over[1])

active proctype user()
{
    consents = true;
    atomic { !is_locked -> way = DRAINING };
#ifndef UNNOTED
    atomic { wake_waiter(); must_arrive = !is_leaving };
#endif
    atomic {
        is_all_received && is_all_told ->
        is_closed = true;
        wake_waiter();
        is_leaving = true;
        is_armed = false;
        must_arrive = false
    };
#ifndef NO_HOLD
    turns == 0;
#endif
    has_left = true
}
