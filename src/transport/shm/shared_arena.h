/* A shared arena: memory for messages of one connection that its peer on this host may map, too.
 * The peer then copies from it like from its own memory, and needs no right to read any other.
 *
 * The peer maps it to read: its file is sealed (shared_file.h), also against writing. The peer can
 * see what is written into the arena for as long as the arena lasts, also where no message is.
 *
 * Memory is taken in whole pages, from the lowest place that has room. What is given back is taken
 * again, and goes back to the system with the arena. The arena lasts until the last piece was given
 * back and nobody holds it.
 *
 * Any thread, any time. A child of the process that made it has the same pages, and counts for
 * itself how long it needs them. It takes none: its parent may take what is free there. What it
 * gives back is not taken again: the lock may be held by a thread that the child does not have. */
#ifndef ZCRP_TRANSPORT_SHM_SHARED_ARENA_H
#define ZCRP_TRANSPORT_SHM_SHARED_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shared_arena;

/* An arena of `bytes`, not 0; the caller holds it. The system gives pages at their first touch.
 * NULL: there is no memory, or the system cannot seal it (before Linux 5.1). */
__attribute__((warn_unused_result)) struct shared_arena *shared_arena_create(uint64_t bytes);

/* One holder more. NULL stays NULL. */
struct shared_arena *shared_arena_hold(struct shared_arena *a);

/* The holder lets go; NULL is fine. */
void shared_arena_let_go(struct shared_arena *a);

/* Memory for `bytes`, at the start of a page; NULL if there is none. Until it is given back it
 * holds the arena. */
__attribute__((warn_unused_result)) void *shared_arena_take(struct shared_arena *a, size_t bytes);
void shared_arena_give(struct shared_arena *a, void *memory);

/* Does all of [at, at + bytes) lie within? NULL has nothing. */
bool shared_arena_has(const struct shared_arena *a, const void *at, size_t bytes);

/* Bytes from the start. `at` lies within. */
uint64_t shared_arena_offset(const struct shared_arena *a, const void *at);

/* The file, for the peer, and its size. */
int shared_arena_descriptor(const struct shared_arena *a);
size_t shared_arena_bytes(const struct shared_arena *a);

#endif
