/* Assertions that stay in release builds. They guard invariants, never input: whatever comes from
 * the network or the user is handled, not asserted. */
#ifndef ZCRP_CORE_CHECK_H
#define ZCRP_CORE_CHECK_H

/* Ends the process; prints the place. The one symbol the core asks of the platform. */
_Noreturn void check_failed(const char *expression, const char *file, int line);

#define CHECK(expression) ((expression) ? (void)0 : check_failed(#expression, __FILE__, __LINE__))

#endif
