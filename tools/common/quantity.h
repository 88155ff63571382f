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

/* Numbers with a unit, as people write them: 155M bits a second, 1.5ms, 2.5%. Decimal: k is 1000.
 * Each returns 0, or -1 if `text` is anything else or too large; none complains. */

/* Bits a second: "64k", "155M", "2.5G", "9600". At least 1. */
int dimension_rate(const char *text, uint64_t *bits_per_second);

/* A length of time: "10ns", "50us", "1.5ms", "2s", "1m"; 0 needs no unit, anything else does. */
int dimension_time(const char *text, int64_t *ns);

/* A share from 0 to 1: "1%", "0.5%", or without the sign "0.005". */
int dimension_share(const char *text, double *share);

#endif
