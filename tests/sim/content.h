/* What messages hold: bytes that follow from the message's index alone, and differ from those of
 * any other message and any other place. */
#ifndef ZCRP_TESTS_SIM_CONTENT_H
#define ZCRP_TESTS_SIM_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fills `size` bytes with the content of message `index`. */
void content_fill(uint8_t *bytes, size_t size, uint64_t index);

/* True if the bytes are just that content. */
bool content_is(const uint8_t *bytes, size_t size, uint64_t index);

#endif
