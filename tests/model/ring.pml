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
 *     -DWAIT          the writer waits until the reader is done with a revoked note (DEATH)
 *     -DRELAXED       the writer offers with a relaxed store: the note comes later
 *     -DPEEK          the reader reads the note before its state
 *     -DOFFER_PASSES  the writer looks for a sleeper before its offer is in memory
 *     -DLOOK_PASSES   the reader looks once more before it is in memory that it sleeps */
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

#define WRITER 0
#define READER 1
#define CPUS 2

#define STATE(n) (1 + (n) % S)
#define NOTE(n) (1 + S + (n) % S)   /* which one the slot tells of */
#define DATA(n) (1 + S + S + (n))   /* of each note; its number and 1 while it is lent */
#define ASLEEP (1 + S + S + N)      /* the reader wants to be woken */
#define WORDS (2 + S + S + N)
#include "order.inc"

#ifdef RELAXED
#define offer store
#else
#define offer release
#endif

bool is_back[N];        /* the user has it again */
bool counted[N];
byte wake_ups;          /* datagrams that wake it */
byte head, reaped;      /* the writer's */
byte tail;              /* the reader's */
bool is_dead;
bool has_all_back;

inline give_back(n)
{
    is_back[n] = true;
    store(WRITER, DATA(n), USERS)
}

inline wake_reader()
{
#ifndef OFFER_PASSES
    is_ordered(WRITER);
#endif
    if
    :: load(WRITER, ASLEEP) == 1 ->
       atomic { is_empty(WRITER) -> if
       :: memory[ASLEEP] == 1 -> memory[ASLEEP] = 0; wake_ups++
       :: else
       fi }
    :: else
    fi
}

#ifdef REAP_REVOKED
#define IS_READ (load(WRITER, STATE(reaped)) == DONE || load(WRITER, STATE(reaped)) == REVOKED)
#else
#define IS_READ (load(WRITER, STATE(reaped)) == DONE)
#endif

inline reap()
{
    atomic {
        store(WRITER, STATE(reaped), EMPTY);
        if
        :: !is_back[reaped] -> assert(counted[reaped]); give_back(reaped)
        :: else
        fi;
        reaped++
    }
}

inline revoke(n)
{
#ifdef STORE
    if
    :: load(WRITER, STATE(n)) == OFFERED || load(WRITER, STATE(n)) == DONE ->
       release(WRITER, STATE(n), REVOKED)
    :: else
    fi;
#else
    atomic { is_empty(WRITER) -> if
    :: memory[STATE(n)] == OFFERED -> memory[STATE(n)] = REVOKED
    :: else
    fi }
#endif
#ifdef WAIT
    load(WRITER, STATE(n)) != REVOKED;
#endif
    give_back(n)
}

active proctype writer()
{
    byte i;

    do
    :: head < N && head - reaped < S ->
       assert(load(WRITER, STATE(head)) == EMPTY); /* P5 */
       store(WRITER, NOTE(head), head);
       store(WRITER, DATA(head), head + 1);
       offer(WRITER, STATE(head), OFFERED);
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

#ifdef PEEK
#define read_note() skip
#else
#define read_note() n = load(READER, NOTE(tail))
#endif

/* No store of the reader's other than of ASLEEP waits in a buffer: its exchanges change memory at once. */
active proctype reader()
{
    byte first, second, n;

    do
#ifdef PEEK
    :: n != load(READER, NOTE(tail)) -> n = load(READER, NOTE(tail))
#endif
    :: load(READER, STATE(tail)) == REVOKED -> /* it passes */
       MAY_DIE;
       atomic { is_empty(READER) -> memory[STATE(tail)] = DONE };
       tail++
    :: load(READER, STATE(tail)) == OFFERED ->
       read_note();
       MAY_DIE;
#ifdef EARLY
       atomic { is_empty(READER) -> if
       :: memory[STATE(tail)] == OFFERED -> memory[STATE(tail)] = DONE; counted[n] = true
       :: else -> memory[STATE(tail)] = DONE; tail++; goto next
       fi }
       first = load(READER, DATA(n));
       second = load(READER, DATA(n));
       assert(first == n + 1 && second == n + 1); /* P1 */
       tail++;
#else
       first = load(READER, DATA(n));
       MAY_DIE;
       second = load(READER, DATA(n));
       MAY_DIE;
       atomic { is_empty(READER) ->
           if
#ifdef BLIND
           :: true -> memory[STATE(tail)] = DONE; count(n, first, second)
#else
           :: memory[STATE(tail)] == OFFERED -> memory[STATE(tail)] = DONE; count(n, first, second)
           :: memory[STATE(tail)] == REVOKED -> memory[STATE(tail)] = DONE
#endif
           fi;
           tail++
       }
#endif
next:  skip
    :: load(READER, STATE(tail)) != OFFERED && load(READER, STATE(tail)) != REVOKED ->
       MAY_DIE;
       release(READER, ASLEEP, 1);
#ifndef LOOK_PASSES
       is_ordered(READER);
#endif
       if
       :: load(READER, STATE(tail)) == OFFERED -> goto awake
#ifndef NO_PASS
       :: load(READER, STATE(tail)) == REVOKED -> goto awake
#endif
       :: else
       fi;
end:   wake_ups > 0 -> wake_ups--;
awake: release(READER, ASLEEP, 0)
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
