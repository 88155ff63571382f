/* The ring of notes (src/transport/shm/ring.h): a writer, a reader, and a user whose memory is lent.
 *
 *     N  notes that are offered          S  slots of the ring
 *
 * A note's memory holds the note's value until it is taken back or reaped; then it is the user's
 * again, who writes something else there. The reader copies in two steps, and may be stopped for
 * good at each step (-DDEATH). The writer takes back notes at any time.
 *
 * P1  What counts was copied whole before the memory was the user's again.
 * P2  All that is offered is read or revoked in the end: no wake-up is lost (more of that: link.pml).
 * P3  The user gets its memory back, whatever the reader does, and when it wants to.
 * P4  A note counts once, and in order.
 * P5  A slot is never written while its note is the reader's.
 *
 * A mistake put in on purpose has to be found:
 *     -DNO_PASS       the reader sleeps in front of a revoked note
 *     -DBLIND         the reader does not ask whether the note was revoked while it copied
 *     -DEARLY         the reader says that it is done, and copies then
 *     -DSTORE         the writer revokes with a store, not an exchange: also what is done
 *     -DREAP_REVOKED  the writer takes a revoked note's slot again at once
 *     -DWAIT          the writer waits until the reader is done with a revoked note (DEATH) */
#ifndef N
#define N 4
#endif
#ifndef S
#define S 2
#endif

#define EMPTY 0
#define OFFERED 1
#define REVOKED 2
#define DONE 3

#define USERS 255 /* what the user writes into memory that it has back */

byte state[S];
byte note[S];           /* which one the slot tells of */
byte memory[N];         /* of each note; its number and 1 while it is lent */
bool is_back[N];        /* the user has it again */
bool counted[N];
bool is_asleep;         /* the reader wants to be woken */
byte wake_ups;          /* datagrams that wake it */
byte head, reaped;      /* the writer's */
byte tail;              /* the reader's */
bool is_dead;
bool has_all_back;

#define slot(n) ((n) % S)

inline give_back(n)
{
    d_step { is_back[n] = true; memory[n] = USERS }
}

inline wake_reader()
{
    atomic { if
    :: is_asleep -> is_asleep = false; wake_ups++
    :: else
    fi }
}

#ifdef REAP_REVOKED
#define IS_READ (state[slot(reaped)] == DONE || state[slot(reaped)] == REVOKED)
#else
#define IS_READ (state[slot(reaped)] == DONE)
#endif

inline reap()
{
    d_step {
        state[slot(reaped)] = EMPTY;
        if
        :: !is_back[reaped] ->
           assert(counted[reaped]);
           is_back[reaped] = true;
           memory[reaped] = USERS
        :: else
        fi;
        reaped++
    }
}

inline revoke(n)
{
#ifdef STORE
    if
    :: state[slot(n)] == OFFERED || state[slot(n)] == DONE -> state[slot(n)] = REVOKED
    :: else
    fi;
#else
    atomic { if
    :: state[slot(n)] == OFFERED -> state[slot(n)] = REVOKED
    :: else
    fi }
#endif
#ifdef WAIT
    state[slot(n)] != REVOKED;
#endif
    give_back(n)
}

active proctype writer()
{
    byte i;

    do
    :: head < N && head - reaped < S ->
       assert(state[slot(head)] == EMPTY); /* P5 */
       note[slot(head)] = head;
       memory[head] = head + 1;
       state[slot(head)] = OFFERED;
       head++;
       wake_reader()
    :: reaped < head && IS_READ -> reap()
    :: reaped < head -> /* it takes all back, of whom the reader may be copying one */
       i = reaped;
       do
       :: i < head ->
          if
          :: !is_back[i] -> revoke(i)
          :: is_back[i]
          fi;
          i++
       :: i == head -> break
       od;
       if
       :: head == N -> break
       :: is_dead -> break
       :: true
       fi
    :: reaped == N -> break
    od;
    has_all_back = true;
end:
    do
    :: reaped < head && IS_READ -> reap()
    od
}

#ifdef DEATH
#define MAY_DIE if :: true -> is_dead = true; goto dead :: true fi
#else
#define MAY_DIE skip
#endif

/* What the reader does with what it has copied. */
inline count(n, first, second)
{
    assert(!counted[n] && n == tail);           /* P4 */
    assert(first == n + 1 && second == n + 1);  /* P1 */
    counted[n] = true
}

active proctype reader()
{
    byte first, second, n;

    do
    :: state[slot(tail)] == REVOKED -> /* it passes */
       MAY_DIE;
       state[slot(tail)] = DONE;
       tail++
    :: state[slot(tail)] == OFFERED ->
       n = note[slot(tail)];
       MAY_DIE;
#ifdef EARLY
       atomic { if
       :: state[slot(tail)] == OFFERED -> state[slot(tail)] = DONE; counted[n] = true
       :: else -> state[slot(tail)] = DONE; tail++; goto next
       fi }
       first = memory[n];
       second = memory[n];
       assert(first == n + 1 && second == n + 1); /* P1 */
       tail++;
#else
       first = memory[n];
       MAY_DIE;
       second = memory[n];
       MAY_DIE;
       atomic {
           if
#ifdef BLIND
           :: true -> state[slot(tail)] = DONE; count(n, first, second)
#else
           :: state[slot(tail)] == OFFERED -> state[slot(tail)] = DONE; count(n, first, second)
           :: state[slot(tail)] == REVOKED -> state[slot(tail)] = DONE
#endif
           fi;
           tail++
       }
#endif
next:  skip
    :: state[slot(tail)] != OFFERED && state[slot(tail)] != REVOKED ->
       MAY_DIE;
       is_asleep = true;
       if
       :: state[slot(tail)] == OFFERED -> goto awake
#ifndef NO_PASS
       :: state[slot(tail)] == REVOKED -> goto awake
#endif
       :: else
       fi;
end:   wake_ups > 0 -> wake_ups--;
awake: is_asleep = false
    od;
dead: skip
}

/* When nothing moves any more. */
active proctype judge()
{
    timeout;
    assert(has_all_back);                      /* P3 */
    assert(is_dead || (head == N && reaped == N && tail == N)) /* P2 */
}
