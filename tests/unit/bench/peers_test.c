/* What is said of peers that are not built in: in this program none is (tools/bench.mk). */
#include <stdio.h>

#include "../../support/suite.h"
#include "common/complain.h"
#include "zcrp-bench/command/options.h"
#include "zcrp-bench/transports/transport.h"

TEST(peers_complain__how_to_get_it, .rows = PEERS)
{
    const struct peer *peer = &peers[_i];
    char text[COMPLAIN_ROOM];

    complain_silently();
    ck_assert_ptr_eq(peers_find(peer->name), peer);
    ck_assert_ptr_null(transport_find(peer->name));
    ck_assert_int_eq(peers_complain(peer), -1);
    snprintf(text, sizeof text, "%s: not built in; install %s and build again", peer->name,
             peer->packages);
    ck_assert_str_eq(complain_last(), text);
}

TEST(options_parse__leaves_them_out)
{
    char *words[] = {"zcrp-bench", "--transport", "zcrp,peers", NULL};
    static struct options options;

    complain_silently();
    ck_assert_int_eq(options_parse(&options, 3, words), 0);
    ck_assert_uint_eq(options.transport_count, 1);
    ck_assert_str_eq(options.transports[0].name, "zcrp");
    ck_assert_str_eq(complain_last(), "ktls: not built in; install libssl-dev and build again");
}
