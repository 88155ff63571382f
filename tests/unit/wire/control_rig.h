/* What tests of control datagrams have in common. Verdicts have short names, for tables of rules.
 */
#ifndef ZCRP_TESTS_UNIT_CONTROL_RIG_H
#define ZCRP_TESTS_UNIT_CONTROL_RIG_H

#include "../../support/suite.h"
#include "core/wire/control.h"

#include <string.h>

enum {
    OK = VERDICT_OK,
    SHORT = VERDICT_SHORT,
    VERSION = VERDICT_VERSION,
    TYPE = VERDICT_TYPE,
    MALFORMED = VERDICT_MALFORMED,
};

/* One byte of a good datagram is set; offsets count from its beginning. */
struct change {
    size_t at;
    uint8_t value;
    int verdict;
};

static inline void control_rig_change(uint8_t *in, const uint8_t *good, size_t size,
                                      const struct change *change)
{
    memcpy(in, good, size);
    in[change->at] = change->value;
}

static const struct pairing pairing = {.session = 0x11121314, .tag = 0x15161718};

#endif
