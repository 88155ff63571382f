/* The lookups of names that the tests take from the C library (sockets_test.c). */
#ifndef TESTS_UNIT_TUNNEL_LOOKUP_H
#define TESTS_UNIT_TUNNEL_LOOKUP_H

/* "slow" has no answer, and "once" is 127.0.0.1 the first time alone. When a lookup begins that has
 * no answer, this descriptor gets a byte. */
extern int lookup_hangs;

#endif
