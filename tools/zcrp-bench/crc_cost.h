/* What AAL5's CRC costs on this machine. */
#ifndef BENCH_CRC_COST_H
#define BENCH_CRC_COST_H

/* Milliseconds of processor time for each GB (10^9 bytes) in PDUs of the usual MTU: by the fastest
 * function that the library is built with, and by tables. */
double crc_cost_best(void);
double crc_cost_tables(void);

#endif
