/* A file in memory that two processes map. Its owner seals it, so that nobody can make it shorter:
 * whoever reads beyond a file's end is ended by the kernel (SIGBUS). */
#ifndef ZCRP_TRANSPORT_SHM_SHARED_FILE_H
#define ZCRP_TRANSPORT_SHM_SHARED_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* A file of this many bytes, which can be sealed; -1 if the system has none, or its limits forbid
 * it.
 */
__attribute__((warn_unused_result)) int shared_file_create(size_t bytes);

/* Fixes its size, and sets the seals `more` (F_SEAL_FUTURE_WRITE, or 0), for good. False if the
 * system cannot. */
__attribute__((warn_unused_result)) bool shared_file_seal(int fd, unsigned more);

/* Is it a sealed file of `bytes`, not 0, all of which can be read whatever its owner does? */
bool shared_file_is_safe(int fd, size_t bytes);

/* Maps it with this access (PROT_READ, PROT_WRITE), for this process and not its children; NULL if
 * there is no room. */
__attribute__((warn_unused_result)) void *shared_file_map(int fd, size_t bytes, int access);
void shared_file_unmap(const void *memory, size_t bytes); /* fine for NULL */

#endif
