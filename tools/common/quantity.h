/* Numbers as people write and read them: 64K is 65536, 1234567 messages are 1.23 M. */
#ifndef COMMON_QUANTITY_H
#define COMMON_QUANTITY_H

#include <stdint.h>

enum { QUANTITY_ROOM = 32 };

/* Reads a whole number from 1 on, with an optional suffix K, M or G: powers of 1024. 0, or -1 if
 * `text` is anything else or does not fit; it complains about neither. */
int quantity_parse(const char *text, uint64_t *value);

/* Writes bytes as quantity_parse reads them: "64", "1K", "1000", "64M". */
void quantity_bytes(char out[QUANTITY_ROOM], uint64_t bytes);

/* Writes a figure with three significant digits: "0.0312", "4.20", "85.0", "1.23 M". */
void quantity_figure(char out[QUANTITY_ROOM], double value);

#endif
