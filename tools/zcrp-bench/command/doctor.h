/* `zcrp-bench doctor`: what of this machine's set-up limits ZCRP, in plain words, and what to do
 * about it. Changes nothing. */
#ifndef BENCH_DOCTOR_H
#define BENCH_DOCTOR_H

/* Writes the list to standard output. 0, or -1 with a complaint if it cannot be written. */
int doctor_run(void);

#endif
