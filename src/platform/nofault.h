/* Copies between memory that is there, the library's, and memory that may be gone, the user's: a
 * file that is mapped may become shorter at any time. The kernel copies, and says how far it came;
 * a copy by this process would end it (SIGBUS).
 *
 * Little, or much in small pieces, goes over a file in memory that the process has for this: a call
 * that writes to it or reads from it is cheaper than one that looks up the page of each piece. The
 * rest goes that other way (process_vm_readv), which copies it once less. One piece that is read
 * goes there, too.
 *
 * Any thread. A child of a fork gets a file of its own, if it needs one. */
#ifndef ZCRP_PLATFORM_NOFAULT_H
#define ZCRP_PLATFORM_NOFAULT_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

enum {
    NOFAULT_LITTLE = 8192, /* bytes that go over the file in any case, */
    NOFAULT_PIECE = 2048,  /* or that a piece of more has in the mean, at most */
    NOFAULT_MOST = 65536,  /* that go over the file at all */
    NOFAULT_PLACES = 8,    /* as many threads copy so at once; others take the other way */
};

/* Makes the process's file, if it has none yet. Without one everything takes the other way. */
void nofault_begin(void);

/* In the child: its parent's file is closed at once, before the child may close it and give its
 * number to another. */
void nofault_after_fork(void);

/* Copies pieces that may be gone, `bytes` in all, to `to`. The bytes copied, fewer if some of them
 * are gone; -1 and errno (EFAULT) if the first one is, or if the kernel forbids it. */
ssize_t nofault_read(void *to, const struct iovec *from, size_t pieces, size_t bytes);

/* Copies pieces of `bytes` in all to pieces that may be gone, as many bytes. Returns the same. */
ssize_t nofault_write(const struct iovec *to, size_t tos, const struct iovec *from, size_t froms,
                      size_t bytes);

/* Sets memory that may be gone to 0, as far as it is there. */
void nofault_clear(void *at, size_t bytes);

#endif
