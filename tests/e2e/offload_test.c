/* A path that loses all bursts which the kernel cuts. */
#include "../support/drop_cut.h"
#include "../support/ends.h"

enum { SIZE = 1 << 20, MESSAGES = 20, UNIT = 1472, LOST_MOST = 200 };

/* Nothing arrives of the first; then datagrams leave singly, and what is lost until then does not
 * grow with what is sent. */
TEST(offload__a_path_that_loses_cut_bursts)
{
    const struct zcrp_options options = {.unit_bytes = UNIT, .flags = ZCRP_NO_MEMORY};
    struct ends e = ends_open(LOOPBACK_UDP4, false, &options);
    struct zcrp_stats stats;

    if (!loopback_is_aal5())
        ck_assert(drop_cut(e.sockets.receiver[0], UNIT + 100));
    for (unsigned i = 0; i < MESSAGES; i++) {
        struct zcrp_msg *out = ends_filled(SIZE, i);
        struct zcrp_msg *in = ends_empty(SIZE);
        ends_submit(&e, in, out, SIZE);
        ends_finish(in, out, SIZE, i);
    }
    ck_assert_int_eq(zcrp_stats(e.sender, &stats), 0);
    ck_assert_uint_eq(stats.offload_failures, loopback_is_aal5() ? 0 : 1);
    ck_assert(loopback_is_aal5() || stats.units_lost < LOST_MOST);
    ends_close(&e);
}
