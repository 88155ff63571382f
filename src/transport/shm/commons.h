/* Commons: memory for messages of one connection that its peer on this host may map, too. The peer
 * then copies it like its own memory, and needs no right to read any other.
 *
 * The peer maps it to read: the file is sealed (shared_file.h), also against writing. What is
 * written into the commons can be seen by the peer for as long as the commons last, also where no
 * message is.
 *
 * Memory is taken in whole pages, from the lowest place that has room. What is given back is taken
 * again, and goes back to the system with the commons. They last until the last piece was given
 * back and nobody holds them.
 *
 * Any thread, any time. In a child of the process that made them, giving back and letting go do
 * nothing: a lock may be held by a thread that the child does not have. */
#ifndef ZCRP_TRANSPORT_SHM_COMMONS_H
#define ZCRP_TRANSPORT_SHM_COMMONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct commons;

/* Commons of `bytes`, not 0; the caller holds them. The system gives pages at their first touch.
 * NULL: there is no memory, or the system cannot seal it (before Linux 5.1). */
__attribute__((warn_unused_result)) struct commons *commons_create(size_t bytes);

/* One holder more. NULL stays NULL. */
struct commons *commons_hold(struct commons *c);

/* The holder lets go; NULL is fine. */
void commons_let_go(struct commons *c);

/* Memory for `bytes`, at the start of a page; NULL if there is none. Until it is given back it
 * holds the commons. */
__attribute__((warn_unused_result)) void *commons_take(struct commons *c, size_t bytes);
void commons_give(struct commons *c, void *memory);

/* Does all of [at, at + bytes) lie within? NULL has nothing. */
bool commons_has(const struct commons *c, const void *at, size_t bytes);

/* Bytes from the start. `at` lies within. */
uint64_t commons_offset(const struct commons *c, const void *at);

/* The file, for the peer, and its size. */
int commons_descriptor(const struct commons *c);
size_t commons_bytes(const struct commons *c);

#endif
