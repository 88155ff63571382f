/* A completion queue (src/queue/queue.h): who receives for all links in it, who sleeps until when,
 * and what is told. One link stands for all: its socket is in the queue's set, and its messages end
 * in one place of the queue.
 *
 *     N  messages that datagrams end     E  messages that another thread ends, as a cancel does
 *     T  takers, 1 or 2, with room for one completion      W  takes of the first, one of the other
 *
 * A taker takes the lease, looks at the set, and sleeps on it; other takers sleep on the news. A
 * lease that nobody has taken for a while returns to the engine, which looks at the set in the
 * takers' place. A turn receives for the link: its messages enter the list, their latches open, and
 * the place is noted.
 *
 *     -DNAPS        a turn may end with a nap, during which nobody watches the socket
 *     -DMEMORY      messages come through memory. Whoever looks glances there, until a glance says
 *                   to the peer that nobody does any more
 *     -DDESCRIPTOR  the takers poll the queue's descriptor, and take without waiting
 *     -DCLOSE       the queue is closed while others take
 *
 * A locked section is one step, but for turns, which run without the set's mutex. A taker leaves
 * after any take. It takes with a time limit of 0, or with one that is over only when all has been
 * told: so no limit hides a wake-up that is lost.
 *
 * P1  Each message is told once, and only when its latch is open.
 * P2  While somebody takes, all is told in the end: no wake-up is lost. (Else a taker stands still,
 *     and spin says so.)
 * P3  What comes is received, also if nobody takes.
 * P4  Two turns of the link never run at once.
 * P5  A close ends, and nobody touches the queue behind it.
 * P6  The user's descriptor does not stay readable when there is nothing to take.
 *
 * A mistake put in on purpose has to be found:
 *     -DUNLOCKED    a taker reads the list, and takes from it later, without the lock between
 *     -DEARLY       it takes a message whose latch is not open yet
 *     -DSEEN_LATE   it reads the number of the news behind its look at what there is to tell
 *     -DGREEDY      a taker that has something to tell, or finds the queue closing, sleeps on the set
 *     -DNO_LOOK     the taker that says that it sleeps on the set does not look at the news again
 *     -DWAKE_FIRST  whoever has news looks for sleepers, and counts the news behind that
 *     -DNO_RETURN   nobody takes back a lease whose time has come
 *     -DDISARM      the engine's turn leaves its watch off, though a taker turned it on meanwhile
 *     -DUNTOLD      the engine does not wake a taker that fell asleep during its turn: that turn may
 *                   have ended with a nap, found memory to glance at, or taken the taker's wake-up
 *     -DMISSED      a nap that ends during another thread's turn is forgotten
 *     -DNO_HOLD     a turn begins while another one runs
 *     -DNO_REST     with MEMORY: a taker sleeps, and does not say so to the peer
 *     -DREST_LATE   with MEMORY: it looks at memory, and says so behind that
 *     -DLEAVE_REST  with DESCRIPTOR: a taker that leaves does not ring for what is left
 *     -DUNSIGNALLED  with DESCRIPTOR: who rings does not say that it has written
 *     -DDEAF        with CLOSE: it wakes no taker
 *     -DHASTY       with CLOSE: it does not wait for those who ring */
#ifndef N
#define N 2
#endif
#ifndef E
#define E 0
#endif
#ifndef T
#define T 2
#endif

#ifndef W
#define W 2
#endif

#define M (N + E)

/* the lease */
#define WORKERS 0 /* the engine looks */
#define KEPT 1    /* a taker has given it back with a time: nobody looks until then */
#define AWAKE 2   /* a taker has it, */
#define ASLEEP 3  /* and sleeps on the set */

/* what a turn wants next */
#define ARM 0
#define NAP 1

/* the socket, and memory */
byte datagrams, in_memory, received;
bool has_wake_up;
bool peer_wakes = true; /* nobody glances: the peer sends a datagram */

/* the place: what has ended and was not told */
byte list[M], last;
bool is_open[M], is_told[M];
byte told;
bool is_in = true; /* the queue */
bool is_ready;     /* it has a fact */
byte ringers;

/* the news, as a futex: whether what a taker has seen is still the last of them */
bool is_fresh[T], dozes[T];
byte sleepers;

/* the set */
bool is_watched = true; /* the socket, for who looks */
bool has_nap;
bool has_turn, is_missed;
bool is_polled; /* memory is glanced at */
bool set_wake;  /* gets a taker out of its sleep */
bool is_leaving;
byte turns;

/* the lease and the engine */
byte lease = WORKERS;
bool lease_armed = true; /* the set is watched for the engine */
bool engine_watches = true, engine_naps;
bool is_on_duty, was_armed; /* the engine's thread; its watch, meanwhile */
bool is_due; /* the engine knows when a lease returns */
byte duties;

/* the user's descriptor */
bool is_rung, is_signalled, can_read, has_sockets;
byte writers; /* that ring, and have not said so yet */

/* the queue */
byte takers;
bool is_closing, is_gone;

#define has_datagram (datagrams > 0 || has_wake_up)
#define set_is_readable (set_wake || (is_watched && has_datagram))
#define is_held (lease >= AWAKE)
#ifdef CLOSE
#define is_over false
#else
#define is_over (told == M)
#endif

/* ---- waking ---- */

inline wake_sleepers()
{
    dozes[0] = false;
#if T > 1
    dozes[1] = false
#endif
}

inline count_news()
{
    atomic {
        assert(!is_gone); /* P5 */
        is_fresh[0] = false;
#if T > 1
        is_fresh[1] = false;
#endif
    }
}

inline wake_takers()
{
#ifndef WAKE_FIRST
    count_news();
#endif
    atomic {
        if
        :: lease == ASLEEP -> set_wake = true
        :: else
        fi
    };
    atomic {
        if
        :: sleepers > 0 -> wake_sleepers()
        :: else
        fi
    };
#ifdef WAKE_FIRST
    count_news()
#endif
}

inline ring_descriptor()
{
#ifdef DESCRIPTOR
    if
    :: atomic { !is_rung -> is_rung = true; writers++ };
       can_read = true;
#ifndef UNSIGNALLED
       is_signalled = true;
#endif
       writers--
    :: is_rung
    fi
#else
    skip
#endif
}

inline ring_for_rest()
{
#ifdef DESCRIPTOR
    if
    :: is_ready -> ring_descriptor()
    :: !is_ready
    fi
#else
    skip
#endif
}

inline clear_descriptor()
{
#ifdef DESCRIPTOR
    if
    :: is_rung || is_signalled ->
       is_signalled = false;
       can_read = false;
       is_rung = false;
       ring_for_rest()
    :: atomic { !is_rung && !is_signalled -> assert(!can_read || writers > 0) } /* P6 */
    fi
#else
    skip
#endif
}

/* ---- a message ends ---- */

inline note()
{
    if
    :: atomic { is_in && !is_ready -> is_ready = true; ringers++ };
       wake_takers();
#ifdef DESCRIPTOR
       if
       :: lease != AWAKE -> ring_descriptor()
       :: lease == AWAKE /* the taker rings when it leaves */
       fi;
#endif
       ringers--
    :: atomic { !is_in || is_ready }
    fi
}

inline put(m)
{
    list[last] = m;
    last++
}

inline end_message(m)
{
    is_open[m] = true;
    note()
}

/* ---- turns ---- */

inline receive()
{
    if
    :: atomic { datagrams + in_memory > 0 ->
           has_wake_up = false;
           if
           :: datagrams > 0 -> datagrams--
           :: else -> in_memory--
           fi;
           m = received;
           received++;
           put(m)
       };
       end_message(m);
       m = 0
    :: atomic { datagrams + in_memory == 0 -> has_wake_up = false; may_nap = false }
    fi
}

/* False if another one has it. */
inline hold()
{
    atomic {
#ifdef NO_HOLD
        is_mine = !is_leaving;
#else
        is_mine = !has_turn && !is_leaving;
#endif
        has_turn = has_turn || is_mine;
        if
        :: is_mine -> turns++; assert(turns == 1) /* P4 */
        :: else
        fi
    }
}

/* Whoever came meanwhile left its look to this thread. */
inline release()
{
    turns--;
    has_turn = false;
    if
    :: is_missed && !is_leaving -> has_nap = true; set_wake = true
    :: else
    fi;
    is_missed = false
}

inline have_turn()
{
    receive();
#ifdef MEMORY
    peer_wakes = false;
#endif
    atomic {
        if
        :: next = ARM
#ifdef NAPS
        :: may_nap -> next = NAP
#endif
        fi;
        if
        :: !is_leaving ->
           is_watched = next == ARM;
           has_nap = has_nap || next == NAP;
#ifdef MEMORY
           is_polled = true
#endif
        :: else
        fi;
        next = ARM;
        may_nap = true;
        release()
    }
}

/* Within a turn: nobody glances from now on. False if there is something. */
inline say_resting()
{
#ifdef REST_LATE
    may_rest = in_memory == 0;
    peer_wakes = may_rest
#else
    peer_wakes = true;
    atomic { may_rest = in_memory == 0; peer_wakes = may_rest }
#endif
}

inline glance_at_memory()
{
    if
    :: atomic { is_polled -> hold() };
       if
       :: is_mine ->
          if
          :: in_memory > 0 -> receive(); any = true; may_rest = false
          :: in_memory == 0 -> say_resting()
          :: in_memory == 0 -> may_rest = false /* it is glanced at for longer */
          fi;
          atomic { is_polled = is_polled && !may_rest; may_rest = false; release() }
       :: else
       fi
    :: !is_polled
    fi
}

/* Before a sleep. */
inline rest_from_memory()
{
    all_rest = true;
#if defined(MEMORY) && !defined(NO_REST)
    if
    :: atomic { is_polled -> hold() };
       if
       :: is_mine ->
          say_resting();
          atomic { is_polled = !may_rest; all_rest = may_rest; may_rest = false; release() }
       :: else -> all_rest = false /* another thread may glance */
       fi
    :: !is_polled
    fi
#endif
}

inline end_nap()
{
    atomic {
        if
        :: has_nap ->
           has_nap = false;
           hold();
#ifndef MISSED
           is_missed = is_missed || (!is_mine && !is_leaving)
#endif
        :: else -> is_mine = false
        fi
    };
    if
    :: is_mine -> have_turn()
    :: else
    fi
}

/* One that does not wait may come before the nap is over. */
inline look_at_set(waits)
{
#ifdef MEMORY
    glance_at_memory();
#endif
    if
    :: waits && !any -> knows_nap = has_nap
    :: else
    fi;
    atomic {
        (!waits || any || set_is_readable || knows_nap || is_over) ->
        may_end = !waits || any || set_is_readable;
        any = false;
        knows_nap = false;
        is_mine = is_watched && has_datagram;
        set_wake = false;
        if
        :: is_mine -> hold()
        :: else
        fi
    };
    if
    :: is_mine -> have_turn()
    :: else
    fi;
    if
    :: may_end
    :: end_nap()
    fi;
    may_end = false;
    is_mine = false
}

/* ---- the engine ---- */

inline show_sockets()
{
#ifdef DESCRIPTOR
    has_sockets = lease != WORKERS
#else
    skip
#endif
}

inline hand_to_engine()
{
    atomic { engine_watches = true; was_armed = is_on_duty };
    atomic {
        if
        :: has_nap || is_polled -> engine_naps = true
        :: else
        fi
    }
}

/* The engine's thread, in its turn. */
inline look_for_takers()
{
    atomic {
        assert(!is_gone); /* P5 */
        is_on_duty = true;
        is_taken = is_held;
        lease_armed = !is_taken;
        if
        :: !is_taken -> lease = WORKERS
        :: else
        fi;
        show_sockets()
    };
    if
    :: is_taken -> next_look = false
    :: else ->
       look_at_set(false);
       rest_from_memory();
       next_look = true
    fi;
    atomic {
        if
        :: next_look && (has_nap || !all_rest) -> engine_naps = true
        :: else
        fi;
#ifndef UNTOLD
        set_wake = set_wake || (next_look && lease == ASLEEP);
#endif
#ifdef DISARM
        engine_watches = next_look;
#else
        engine_watches = next_look || was_armed;
#endif
        was_armed = false;
        is_on_duty = false;
        all_rest = true;
        next_look = false;
        duties--
    }
}

active proctype engine()
{
    bool is_mine, any, knows_nap, may_end, may_rest, all_rest = true;
    bool is_taken, next_look;
    bool may_nap = true;
    byte next, m;

end:
    do
    :: atomic { engine_watches && set_is_readable && !is_gone -> duties++ }; look_for_takers()
    :: atomic { engine_naps && !is_gone -> engine_naps = false; duties++ }; look_for_takers()
    od
}

/* Its other thread keeps the time of a lease. */
active proctype engine_timer()
{
    bool must_hand;

end:
    do
    :: atomic { is_due && !is_gone ->
           duties++;
           is_due = false;
           must_hand = lease == KEPT;
           if
           :: must_hand -> lease = WORKERS; lease_armed = true
           :: else
           fi;
           show_sockets()
       };
       if
       :: must_hand -> hand_to_engine()
       :: else
       fi;
       atomic { must_hand = false; duties-- }
    od
}

/* ---- takers ---- */

#define me (_pid - 2) /* the engine is processes 0 and 1 */

inline note_told()
{
    atomic {
        assert(is_in && is_open[list[m]] && !is_told[list[m]]); /* P1 */
        is_told[list[m]] = true;
        told++;
        has_told = true
    }
}

/* Tells of one message at most, and has room for no more. */
inline tell()
{
#ifdef UNLOCKED
    m = told;
    if
    :: is_ready && m < last && is_open[list[m]] -> note_told()
    :: else -> is_ready = false
    fi;
    m = 0;
#else
    if
    :: atomic {
           m = told;
           if
#ifdef EARLY
           :: is_ready && m < last -> note_told()
#else
           :: is_ready && m < last && is_open[list[m]] -> note_told()
#endif
           :: else -> is_ready = false
           fi;
           m = 0
       }
    :: atomic { probes && !is_ready } /* a look, without the lock */
    fi;
#endif
#ifdef DESCRIPTOR
    if
    :: !is_ready -> clear_descriptor()
    :: is_ready
    fi
#endif
}

inline take_lease()
{
    atomic {
        has_lease = !is_held;
        if
        :: has_lease -> lease = AWAKE
        :: else
        fi
    }
}

inline sleep_on_set()
{
    rest_from_memory();
    if
    :: all_rest ->
       lease = ASLEEP;
#ifndef NO_LOOK
       if
       :: is_fresh[me] -> look_at_set(true)
       :: !is_fresh[me]
       fi;
#else
       look_at_set(true);
#endif
       lease = AWAKE
    :: else
    fi;
    all_rest = true
}

/* With the lease. */
inline look()
{
    do
    :: true ->
#ifdef SEEN_LATE
       is_fresh[me] = true;
#endif
       if
#ifdef GREEDY
       :: !probes && !is_polled -> sleep_on_set()
#else
       :: !probes && !is_polled && !has_told && !is_closing -> sleep_on_set()
#endif
       :: look_at_set(false)
       fi;
#ifndef SEEN_LATE
       is_fresh[me] = true;
#endif
       tell();
       if
       :: has_told || probes || is_closing || is_over -> break
       :: else
       fi
    od
}

/* The lease is kept, or not, as the taker's absences have been. */
inline give()
{
    atomic {
        has_more = has_nap || is_polled;
        lease = (lease_armed -> WORKERS : KEPT);
        if
        :: lease == KEPT -> must_hand = true
        :: true -> must_hand = false
        fi;
#ifdef DESCRIPTOR
        must_hand = must_hand || (lease == KEPT && has_more);
#endif
        if
        :: must_hand -> lease = WORKERS; lease_armed = true
        :: else
        fi;
#ifndef NO_RETURN
        is_due = is_due || lease == KEPT;
#endif
        is_workers = lease == WORKERS;
        show_sockets()
    };
    if
    :: must_hand -> hand_to_engine()
    :: !must_hand && is_workers && has_more -> engine_naps = true
    :: else
    fi;
    has_more = false;
    must_hand = false;
    is_workers = false;
#ifndef LEAVE_REST
    ring_for_rest();
#endif
    if
    :: sleepers > 0 -> wake_takers()
    :: sleepers == 0
    fi
}

active [T] proctype taker()
{
    bool probes, has_lease, must_hand, is_workers, has_more;
    bool is_mine, any, knows_nap, may_end, may_rest, all_rest = true;
    bool may_nap = true;
    byte next, m;
    bool has_told;
    byte left = (me == 0 -> W : 1);

again:
#ifdef DESCRIPTOR
    if
    :: (can_read || (has_sockets && set_is_readable) || is_over)
    fi;
    if
    :: is_over -> goto leaves
    :: else
    fi;
    probes = true;
#else
    if
    :: left > 0 -> left--; probes = true
    :: left > 0 -> left--
    :: goto leaves
    fi;
#endif
    if
    :: atomic { !is_closing -> takers++; assert(!is_gone) }
    :: atomic { is_closing -> goto leaves }
    fi;

takes:
    is_fresh[me] = true;
    tell();
#ifdef MEMORY
    if
    :: !has_told && is_polled && lease == KEPT -> glance_at_memory(); any = false; tell()
    :: else
    fi;
#endif
    if
    :: has_told -> goto takes_no_more
    :: true -> take_lease()
    fi;
    if
    :: has_lease ->
       look();
       give();
       has_lease = false;
       goto takes_no_more
    :: else
    fi;
    if
    :: has_told || is_closing || probes || is_over -> goto takes_no_more
    :: else
    fi;
    /* another taker looks: it sleeps on the news */
    sleepers++;
    if
    :: atomic { is_fresh[me] -> dozes[me] = true }; (!dozes[me] || is_over); dozes[me] = false
    :: !is_fresh[me]
    fi;
    sleepers--;
    goto takes;

takes_no_more:
    atomic { has_told = false; probes = false; is_fresh[me] = false; takers-- };
    goto again;
leaves:
    skip
}

/* ---- what comes ---- */

active proctype peer()
{
    byte left = N;

    do
    :: left > 0 ->
       left--;
#ifdef MEMORY
       in_memory++;
       if
       :: atomic { peer_wakes -> peer_wakes = false; has_wake_up = true }
       :: !peer_wakes
       fi
#else
       datagrams++
#endif
    :: left == 0 -> break
    od;
#ifdef CLOSE
    skip
#else
    received == N /* P3 */
#endif
}

#if E > 0
active proctype other()
{
    byte left = E;

    do
    :: atomic { left > 0 -> left--; put(N + left) }; end_message(N + left)
    :: left == 0 -> break
    od
}
#endif

#ifdef CLOSE
active proctype closer()
{
    is_closing = true;
#ifndef DEAF
    wake_takers();
#endif
    takers == 0;
    atomic { is_in = false; is_ready = false };
    atomic { is_leaving = true; is_watched = false; has_nap = false };
    !has_turn;
#ifndef HASTY
    ringers == 0;
#endif
    atomic { duties == 0 -> is_gone = true }
}
#endif
