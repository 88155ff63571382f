/* The lookups of names that the tests take from the C library (sockets_test.c). */
#ifndef TESTS_UNIT_TUNNEL_LOOKUP_H
#define TESTS_UNIT_TUNNEL_LOOKUP_H

/* "once" is 127.0.0.1 the first time. When it is looked up again, this descriptor gets a byte, and
 * the lookup never ends. */
extern int lookup_again;

#endif
