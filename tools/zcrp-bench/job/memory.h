/* The memory that messages live in: one area, cut into slots of one size, touched beforehand.
 * Message n lives in slot n modulo the number of slots. */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct memory {
    uint8_t *base;
    size_t area_bytes;
    uint64_t slot_bytes; /* from one slot to the next: the message's size, to a full cache line */
    uint64_t slots;
};

/* Maps and touches `slots` slots for messages of `size` bytes. Large pages are asked for. 0, or -1
 * with a complaint; then *memory is empty and memory_fini is fine. */
int memory_init(struct memory *memory, uint64_t slots, uint64_t size);

/* Makes *memory, empty or not, what memory_init would make it; keeps it if it is that already. */
int memory_refit(struct memory *memory, uint64_t slots, uint64_t size);

void memory_fini(struct memory *memory);

static inline uint8_t *memory_slot(const struct memory *memory, uint64_t message)
{
    return memory->base + message % memory->slots * memory->slot_bytes;
}

/* A file whose bytes are sent: mapped into memory, so that messages go out of it as it is. */

struct input {
    uint8_t *bytes; /* NULL: no file */
    size_t size;
};

/* Maps a readable, not empty, regular file. 0, or -1 with a complaint; then *input is empty. The
 * file must not shrink until input_close. */
int input_open(struct input *input, const char *path);

void input_close(struct input *input);

#endif
