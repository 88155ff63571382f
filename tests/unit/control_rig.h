/* What tests of control datagrams have in common. Verdicts have short names, for tables of rules.
 */
#ifndef ZCRP_TESTS_UNIT_CONTROL_RIG_H
#define ZCRP_TESTS_UNIT_CONTROL_RIG_H

#include "../support/suite.h"
#include "core/control.h"

enum {
    OK = VERDICT_OK,
    SHORT = VERDICT_SHORT,
    VERSION = VERDICT_VERSION,
    TYPE = VERDICT_TYPE,
    MALFORMED = VERDICT_MALFORMED,
};

static const struct pairing pairing = {.session = 0x11121314, .tag = 0x1516};

#endif
