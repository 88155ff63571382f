/* Push slots (src/transport/shm/push_slots.h): a reader and a writer that copy the notes of one landing, each
 * some. The writer may stand still at any step, and die there (-DDEATH).
 *
 *     N  notes of a landing          R  landings, of which each has the same slots
 *
 * The user writes its own value to all memory of a landing that is over. A copy has two steps, and
 * writes the landing's number, which for the writer is the address in the slot.
 *
 * P1  Nobody writes to memory of a landing after the user has it again.
 * P2  What counts was copied whole.
 * P3  Each landing ends, unless the writer stands still for good, and is not dead.
 * P4  Also when it is dead.
 *
 * A mistake put in on purpose has to be found:
 *     -DBLIND     the reader does not ask whether a slot was claimed before it goes on
 *     -DSTORE     the reader withdraws with a store, not an exchange
 *     -DLOAD      the writer claims with a load and a store
 *     -DEARLY     the writer settles, and copies then
 *     -DNO_HOLD   the reader lets the user have what is late
 *     -DNO_END    the reader does not ask whether a writer that is late has died (DEATH)
 *     -DRELAXED   the writer settles with a relaxed store: the bytes come later
 *     -DOPENED    the reader opens with a relaxed store: the address comes later
 *     -DPEEK      the writer reads the address before it claims */
#ifndef N
#define N 2
#endif
#ifndef R
#define R 2
#endif

#define NONE 0
#define OPEN 1
#define CLAIMED 2
#define PUSHED 3
#define FAILED 4

#define USERS 255 /* what the user writes into memory that it has back */

#define WRITER 0
#define READER 1
#define CPUS 2

#define STATE(i) (1 + (i))
#define ADDRESS(i) (1 + N + (i))
#define FIRST(i) (1 + N + N + (i)) /* the two halves of each note's memory */
#define SECOND(i) (1 + N + N + N + (i))
#define WORDS (1 + N + N + N + N)

byte landing;             /* the one under way, from 1 on */
bool is_out;              /* its memory may be written to */
bool is_dead, is_over;

#define on_commit(word, value) (word < FIRST(0) || (is_out && value == landing)) /* P1 */
#include "order.inc"

/* What the reader copies needs no buffer: only itself reads it. */
inline copy(i)
{
    memory[FIRST(i)] = landing;
    memory[SECOND(i)] = landing
}

/* A process that is known to be dead has written all that it ever did. */
#ifdef DEATH
#define MAY_DIE if :: true -> is_empty(WRITER); is_dead = true; goto dead :: true fi
#else
#define MAY_DIE skip
#endif

#ifdef RELAXED
#define settle store
#else
#define settle release
#endif

#ifdef OPENED
#define open store
#else
#define open release
#endif

active proctype writer()
{
    byte i, number;

end:
    do
    :: is_over -> break
    :: !is_over ->
       i = N;
       do
       :: i == 0 -> break
       :: i > 0 ->
          i--;
          MAY_DIE;
#ifdef PEEK
          number = load(WRITER, ADDRESS(i));
#endif
#ifdef LOAD
          if
          :: load(WRITER, STATE(i)) == OPEN -> release(WRITER, STATE(i), CLAIMED)
          :: else -> goto next
          fi;
#else
          atomic { is_empty(WRITER) -> if
          :: memory[STATE(i)] == OPEN -> memory[STATE(i)] = CLAIMED
          :: else -> goto next
          fi }
#endif
          MAY_DIE;
#ifndef PEEK
          number = load(WRITER, ADDRESS(i));
#endif
#ifdef EARLY
          release(WRITER, STATE(i), PUSHED);
          store(WRITER, FIRST(i), number);
          store(WRITER, SECOND(i), number);
#else
          if
          :: true ->
             store(WRITER, FIRST(i), number);
             MAY_DIE;
             if
             :: store(WRITER, SECOND(i), number); MAY_DIE; settle(WRITER, STATE(i), PUSHED)
             :: settle(WRITER, STATE(i), FAILED) /* a part of the memory cannot be reached, */
             fi
          :: settle(WRITER, STATE(i), FAILED) /* or all of it */
          fi;
#endif
next:     skip
       od
    od;
dead: skip
}

/* Does the reader know that nothing comes of the claim any more? */
#if defined(DEATH) && !defined(NO_END)
#define IS_SETTLED(i) (load(READER, STATE(i)) != CLAIMED || is_dead)
#else
#define IS_SETTLED(i) (load(READER, STATE(i)) != CLAIMED)
#endif

active proctype reader()
{
    byte i;
    bool is_mine, is_whole[N];

    do
    :: landing == R -> break
    :: landing < R ->
       landing++;
       is_out = true;
       i = 0;
       do
       :: i == N -> break
       :: i < N ->
          is_whole[i] = false;
          store(READER, ADDRESS(i), landing);
          open(READER, STATE(i), OPEN);
          i++
       od;
       i = 0;
       do /* its own, from the front */
       :: i == N -> break
       :: i < N ->
#ifdef STORE
          is_mine = (load(READER, STATE(i)) == OPEN);
          if
          :: is_mine -> release(READER, STATE(i), NONE)
          :: else
          fi;
#else
          atomic { is_empty(READER) -> if
          :: memory[STATE(i)] == OPEN -> memory[STATE(i)] = NONE; is_mine = true
          :: else -> is_mine = false
          fi }
#endif
          if
          :: is_mine -> copy(i); is_whole[i] = true
          :: else
          fi;
          i++
       od;
       i = 0;
       do /* the writer's */
       :: i == N -> break
       :: i < N && is_whole[i] -> i++
       :: i < N && !is_whole[i] ->
#ifndef BLIND
#ifdef NO_HOLD
          if
          :: IS_SETTLED(i)
          :: true -> goto over /* it takes too long */
          fi;
#else
          IS_SETTLED(i); /* for as long as it takes nothing ends, and nothing is planned */
#endif
#endif
          if
          :: load(READER, STATE(i)) == PUSHED ->
             store(READER, STATE(i), NONE)
          :: else ->
             store(READER, STATE(i), NONE);
             copy(i)
          fi;
          is_whole[i] = true;
          assert(load(READER, FIRST(i)) == landing && load(READER, SECOND(i)) == landing); /* P2 */
          i++
       od;
over:  atomic {
           is_out = false;
           i = 0;
           do
           :: i == N -> break
           :: i < N -> memory[FIRST(i)] = USERS; memory[SECOND(i)] = USERS; i++
           od
       }
    od;
    is_over = true
}

/* When nothing moves any more. */
active proctype judge()
{
    timeout;
    assert(is_over) /* P3, P4 */
}
