/* Numbers with a unit, as people write them: 155M bits a second, 1.5ms, 2.5%. Decimal: k is 1000.
 * Each returns 0, or -1 if `text` is anything else or too large; none complains. */
#ifndef COMMON_DIMENSION_H
#define COMMON_DIMENSION_H

#include <stdint.h>

/* Bits a second: "64k", "155M", "2.5G", "9600". At least 1. */
int dimension_rate(const char *text, uint64_t *bits_per_second);

/* A length of time: "10ns", "50us", "1.5ms", "2s", "1m"; 0 needs no unit, anything else does. */
int dimension_time(const char *text, int64_t *ns);

/* A share from 0 to 1: "1%", "0.5%", or without the sign "0.005". */
int dimension_share(const char *text, double *share);

#endif
