#include "zcrp-link/packets.h"

#include "../../support/suite.h"

#include <signal.h>

#include <string.h>

TEST(packets_take__as_many_as_there_may_be)
{
    struct packets p;
    struct packet *taken[3];
    packets_init(&p, 1500, 3);
    for (int i = 0; i < 3; i++) {
        taken[i] = packets_take(&p);
        ck_assert_ptr_nonnull(taken[i]);
        memset(taken[i]->bytes, i, 1500);
    }
    ck_assert_ptr_null(packets_take(&p));
    packets_put(&p, taken[1]);
    ck_assert_ptr_eq(packets_take(&p), taken[1]);
    ck_assert_ptr_null(packets_take(&p));
    for (int i = 0; i < 3; i++)
        packets_put(&p, taken[i]);
    ck_assert_uint_eq(p.made, 3);
    packets_fini(&p);
}

TEST(packets_fini__notices_what_is_still_out, .signal = SIGABRT)
{
    struct packets p;
    packets_init(&p, 100, 1);
    packets_take(&p);
    packets_fini(&p);
}
