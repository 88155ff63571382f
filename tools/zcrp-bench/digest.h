/* A 64-bit digest of a message, against accidents: what the receiving end checks when it has no
 * copy of the file that is being sent. */
#ifndef BENCH_DIGEST_H
#define BENCH_DIGEST_H

#include <stddef.h>
#include <stdint.h>

uint64_t digest(const uint8_t *bytes, size_t size);

#endif
