/* A file whose bytes are sent: mapped into memory, so that messages go out of it as it is. */
#ifndef BENCH_INPUT_H
#define BENCH_INPUT_H

#include <stddef.h>
#include <stdint.h>

struct input {
    uint8_t *bytes; /* NULL: no file */
    size_t size;
};

/* Maps a readable, not empty, regular file. 0, or -1 with a complaint; then *input is empty. The
 * file must not shrink until input_close. */
int input_open(struct input *input, const char *path);

void input_close(struct input *input);

#endif
