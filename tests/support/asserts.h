/* The assertions of libcheck. */
#ifndef ZCRP_TESTS_SUPPORT_ASSERTS_H
#define ZCRP_TESTS_SUPPORT_ASSERTS_H

#include <check.h>

/* libcheck notes by a system call that an assertion holds. A loop has millions of those, so the
 * note is left out: a test that ends by a signal is reported without a line. */
#undef _mark_point
#define _mark_point(file, line) ((void)0) /* NOLINT: the name is libcheck's */

#endif
