/* An entity whose peer is not there, for end-to-end tests: what is submitted stays in flight. */
#ifndef ZCRP_TESTS_SUPPORT_LONELY_H
#define ZCRP_TESTS_SUPPORT_LONELY_H

#include "ends.h"

struct lonely {
    struct loopback sockets;
    struct zcrp_entity *entity;
};

static inline struct lonely lonely_open(bool is_sender)
{
    const struct zcrp_options alone = {.linger_ns = 1, .messages = 4};
    struct lonely l = {.sockets = loopback_open(LOOPBACK_UDP4, false)};

    ck_assert_int_eq(ends_open_role(&l.entity, &l.sockets, is_sender, &alone), 0);
    return l;
}

#endif
