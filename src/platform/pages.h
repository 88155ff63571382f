/* Whether pages of this process are there, and a thread that waits for those that are not.
 *
 * A page of a mapped file may have to come from a network file system that does not answer. Whoever
 * touches it sleeps, without a limit, and no signal but one that ends the process wakes it. So a
 * peer that reads this process's memory is offered pages that are there, and what is not there is
 * brought by a thread that can be left behind: nobody waits for it, and nobody joins it. */
#ifndef ZCRP_PLATFORM_PAGES_H
#define ZCRP_PLATFORM_PAGES_H

#include "core/instant.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
    FETCH_STEP = 1 << 20,  /* bytes that become pages between two calls of `told` */
    FETCH_MOST = 32 << 20, /* bytes that one fetch brings */
    FETCHES = 64,          /* that a process has at once, those left behind among them */
};

/* True if this process can read all of [at, at + bytes) without waiting for a page; also if there
 * is no such memory, which a read tells at once. Never waits. A system call, 0.4 us for 1 MiB.
 *
 * Before Linux 6.7, or without /proc, the kernel tells it of files that this user may write or owns
 * (mincore), and calls pages of other files present. */
bool pages_are_there(const void *at, size_t bytes);

/* Pages that were found there a moment ago: what is asked about next often follows them. 0: none.
 */
struct pages_seen {
    uintptr_t first, end;
    instant at;
};

/* The same of `count` pieces, those at piece[0], piece[stride], and so on. If they lie together,
 * that is one call, or none if they were seen in the last PAGES_SEEN_FOR. If it is false, `*absent`
 * (NULL: nobody asks) is the first of them that is not there. */
#define PAGES_SEEN_FOR (10 * MILLISECOND)
bool pages_of_all_are_there(struct pages_seen *seen, const struct iovec *piece, size_t count,
                            size_t stride, size_t *absent);

/* Some memory, whose pages a thread brings. */
struct fetch;

/* Starts to bring the first FETCH_MOST bytes, at most, of [at, at + bytes). The thread calls `told`
 * after each step and at the end, without a lock of the caller's. NULL: no memory, no thread, or
 * FETCHES are under way. */
struct fetch *fetch_begin(const void *at, size_t bytes, void (*told)(void *context), void *context);

/* Is this memory within what the fetch has brought? What is not there now has gone again, or never
 * comes: a read tells which. */
bool fetch_has_brought(const struct fetch *f, const void *at, size_t bytes);

/* Is nothing more to come of it? */
bool fetch_is_over(const struct fetch *f);

/* Leaves it: `told` is not called any more, and does not run. The thread ends when it can. Fine for
 * NULL. */
void fetch_leave(struct fetch *f);

/* In a child: frees what the parent's fetch has here. Fine for NULL. */
void fetch_abandon(struct fetch *f);

/* In a child: there are no fetches. */
void pages_after_fork(void);

#endif
