/* The assertions of libcheck. */
#ifndef ZCRP_TESTS_SUPPORT_ASSERTS_H
#define ZCRP_TESTS_SUPPORT_ASSERTS_H

/* It includes math.h, which takes longer to read than most tests, for assertions about
 * floating-point numbers: a test that has those includes it. */
#ifndef _MATH_H
#define _MATH_H 1 /* NOLINT: the name is the C library's */
#include <check.h>
#undef _MATH_H
#else
#include <check.h>
#endif

/* libcheck notes by a system call that an assertion holds. A loop has millions of those, so the
 * note is left out: a test that ends by a signal is reported without a line. */
#undef _mark_point
#define _mark_point(file, line) ((void)0) /* NOLINT: the name is libcheck's */

#endif
