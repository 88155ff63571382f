/* Push slots (src/transport/shm/push_slots.h): a reader and a writer that copy the notes of one landing, each
 * some. The writer may stand still at any step, and die there (-DDEATH).
 *
 *     N  notes of a landing          R  landings, of which each has the same slots
 *
 * The user writes its own value to all memory of a landing that is over. A copy has two steps, and
 * writes the landing's number.
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
 *     -DNO_END    the reader does not ask whether a writer that is late has died (DEATH) */
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

byte state[N];
byte first[N], second[N]; /* the two halves of each note's memory */
byte landing;             /* the one under way, from 1 on */
bool is_out;              /* its memory may be written to */
bool is_dead, is_over;

inline copy(i, value)
{
    atomic { assert(is_out); first[i] = value }  /* P1 */
    atomic { assert(is_out); second[i] = value } /* P1 */
}

#ifdef DEATH
#define MAY_DIE if :: true -> is_dead = true; goto dead :: true fi
#else
#define MAY_DIE skip
#endif

#ifdef DEATH
/* A process that dies within a copy has not written the rest. */
inline push(i, value)
{
    atomic { assert(is_out); first[i] = value }
    MAY_DIE;
    atomic { assert(is_out); second[i] = value }
}
#else
#define push(i, value) copy(i, value)
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
#ifdef LOAD
          if
          :: state[i] == OPEN -> state[i] = CLAIMED
          :: else -> goto next
          fi;
#else
          atomic { if
          :: state[i] == OPEN -> state[i] = CLAIMED
          :: else -> goto next
          fi }
#endif
          MAY_DIE;
          number = landing;
#ifdef EARLY
          state[i] = PUSHED;
          push(i, number);
#else
          if
          :: push(i, number); MAY_DIE; state[i] = PUSHED
          :: state[i] = FAILED /* the memory cannot be reached */
          fi;
#endif
next:     skip
       od
    od;
dead: skip
}

/* Does the reader know that nothing comes of the claim any more? */
#if defined(DEATH) && !defined(NO_END)
#define IS_SETTLED(i) (state[i] != CLAIMED || is_dead)
#else
#define IS_SETTLED(i) (state[i] != CLAIMED)
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
       :: i < N -> is_whole[i] = false; state[i] = OPEN; i++
       od;
       i = 0;
       do /* its own, from the front */
       :: i == N -> break
       :: i < N ->
#ifdef STORE
          is_mine = (state[i] == OPEN);
          if
          :: is_mine -> state[i] = NONE
          :: else
          fi;
#else
          atomic { if
          :: state[i] == OPEN -> state[i] = NONE; is_mine = true
          :: else -> is_mine = false
          fi }
#endif
          if
          :: is_mine -> copy(i, landing); is_whole[i] = true
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
          :: state[i] == PUSHED -> is_whole[i] = true
          :: else -> state[i] = NONE; copy(i, landing); is_whole[i] = true
          fi;
          state[i] = NONE;
          assert(first[i] == landing && second[i] == landing); /* P2 */
          i++
       od;
over:  atomic {
           is_out = false;
           i = 0;
           do
           :: i == N -> break
           :: i < N -> first[i] = USERS; second[i] = USERS; i++
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
