/* The control ring (src/transport/shm/control_ring.h): datagrams of one slot or two, from a writer to a reader that
 * sleeps when there is none.
 *
 *     N  datagrams                       S  slots of the ring
 *
 * P1  What the reader takes is what the writer put: whole, and in order.
 * P2  All datagrams are taken: no reader sleeps for good while there is one. (No invalid end.)
 *
 * A mistake put in on purpose has to be found:
 *     -DRELAXED      the writer puts with a relaxed store: the bytes come later
 *     -DFORWARD      the writer puts the first slot first
 *     -DPEEK         the reader copies the first part before it sees that it is there
 *     -DFREE_EARLY   the reader frees a slot, and copies its part then
 *     -DNO_ROOM      the writer does not ask whether a second slot is free
 *     -DPUT_PASSES   the writer looks for a sleeper before its datagram is in memory
 *     -DLOOK_PASSES  the reader looks once more before it is in memory that it sleeps */
#ifndef N
#define N 3
#endif
#ifndef S
#define S 3
#endif

#define WRITER 0
#define READER 1
#define CPUS 2

#define BYTES(n) (1 + (n) % S)     /* of the datagram that begins there, as slots; 0: the slot is free */
#define PART(n) (1 + S + (n) % S)
#define ASLEEP (1 + S + S)         /* the reader: it is to be woken */
#define WORDS (2 + S + S)
#include "order.inc"

#ifdef RELAXED
#define put_first store
#else
#define put_first release
#endif

#define slots_of(datagram) (1 + (datagram) % 2)
#define part_of(datagram, i) (2 * (datagram) + (i))

#ifdef NO_ROOM
#define HAS_ROOM (load(WRITER, BYTES(next)) == 0)
#else
#define HAS_ROOM \
    (load(WRITER, BYTES(next)) == 0 && (slots_of(datagram) == 1 || load(WRITER, BYTES(next + 1)) == 0))
#endif

byte wake_ups; /* datagrams that wake the reader */

inline put_slot(i)
{
    store(WRITER, PART(next + i), part_of(datagram, i));
    if
    :: i == 0 -> put_first(WRITER, BYTES(next), slots_of(datagram))
    :: else -> store(WRITER, BYTES(next + i), slots_of(datagram))
    fi
}

active proctype writer()
{
    byte datagram = 1, next;

    do
    :: datagram > N -> break
    :: datagram <= N && HAS_ROOM ->
#ifdef FORWARD
       put_slot(0);
#endif
       if
       :: slots_of(datagram) == 2 -> put_slot(1)
       :: else
       fi;
#ifndef FORWARD
       put_slot(0);
#endif
       next = next + slots_of(datagram);
       datagram++;
#ifndef PUT_PASSES
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
    od
}

inline take_slot(i)
{
#ifdef FREE_EARLY
    release(READER, BYTES(next + i), 0);
#endif
#ifdef PEEK
    if
    :: i > 0 -> part = load(READER, PART(next + i))
    :: else
    fi;
#else
    part = load(READER, PART(next + i));
#endif
    assert(part == part_of(datagram, i)); /* P1 */
#ifndef FREE_EARLY
    release(READER, BYTES(next + i), 0)
#endif
}

active proctype reader()
{
    byte datagram = 1, next, slots, part;

    do
    :: datagram > N -> break
    :: datagram <= N ->
#ifdef PEEK
       part = load(READER, PART(next));
#endif
       slots = load(READER, BYTES(next));
       if
       :: slots > 0 ->
          assert(slots == slots_of(datagram)); /* P1 */
          take_slot(0);
          if
          :: slots == 2 -> take_slot(1)
          :: else
          fi;
          next = next + slots;
          datagram++
       :: else ->
          release(READER, ASLEEP, 1);
#ifndef LOOK_PASSES
          is_ordered(READER);
#endif
          if
          :: load(READER, BYTES(next)) > 0
          :: else -> wake_ups > 0; wake_ups-- /* sleeps */
          fi;
          release(READER, ASLEEP, 0)
       fi
    od
}
