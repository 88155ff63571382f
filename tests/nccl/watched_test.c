/* Receives whose memory is looked at before they end, as NCCL's kernels do with the protocols LL
 * and LL128: nothing comes there but what belongs there. */
#include "../../nccl/handle.h"
#include "../support/crossing.h"
#include "../support/random.h"
#include "load.h"
#include "ranks.h"

#include <string.h>

enum { VERSIONS = ROWS(driver_versions), BYTES = 4096 };

/* ---- what is not tested yet */

static uint8_t memory[2 * BYTES];

static void send_both(const struct driver *d, int bootstrap)
{
    void *sender = ranks_sender(d, bootstrap);

    memset(memory, 0x77, sizeof(memory));
    for (int i = 0; i < 2; i++)
        must(ranks_send(d, sender, memory + i * BYTES, BYTES) == NET_OK);
    must(driver_endings(d).close_sender(sender) == NET_OK);
}

static size_t count_of(uint8_t byte, const uint8_t *bytes)
{
    size_t count = 0;

    for (size_t i = 0; i < BYTES; i++)
        count += bytes[i] == byte;
    return count;
}

/* The first message ends before the second one, which the sender submits later. Version 8 does not
 * say which receives are looked at, and so may not the others, if the user wants that. */
TEST(watched__comes_with_its_test, .rows = 4 * VERSIONS)
{
    bool is_said = _i % VERSIONS > 0 && _i / (2 * VERSIONS) == 0;
    void *request[2];
    int size = -1;

    ranks_choose(_i / VERSIONS % 2 == 1);
    must(setenv("NCCL_NET_OPTIONAL_RECV_COMPLETION", is_said ? "1" : "0", 1) == 0);
    struct ranks r = ranks_start(driver_versions[_i % VERSIONS], send_both);
    void *receiver = ranks_receiver(&r.driver, r.bootstrap);
    for (int i = 0; i < 2; i++) {
        request[i] = is_said ? NET_END_IS_OPTIONAL : NULL;
        must(driver_receive(&r.driver, receiver, 1, memory + i * BYTES, BYTES, &request[i]) ==
             NET_OK);
    }
    ck_assert_int_eq(driver_end(&r.driver, request[1], &size), NET_OK);
    ck_assert_uint_eq(count_of(0, memory), BYTES);
    ck_assert_uint_eq(count_of(0x77, memory + BYTES), BYTES);
    ck_assert_int_eq(driver_end(&r.driver, request[0], &size), NET_OK);
    ck_assert_int_eq(size, BYTES);
    ck_assert_uint_eq(count_of(0x77, memory), BYTES);
    ck_assert_int_eq(driver_endings(&r.driver).close_receiver(receiver), NET_OK);
    ranks_finish(&r);
}

/* ---- units that are lost */

/* As large as NCCL's steps of LL. */
static const struct load load = {.bytes = 65536, .messages = 400, .at_once = 8, .is_watched = true};

static void send_load(const struct driver *d, int bootstrap)
{
    void *sender = ranks_sender(d, bootstrap);

    load_send(d, sender, &load);
    must(driver_endings(d).close_sender(sender) == NET_OK);
}

static uint64_t state = 1998; /* of the losses */

enum { DATAGRAM_MOST = 1472 }; /* of an MTU of 1500 */

/* Loses one in a hundred, and all that are too large. */
static bool passes(void *random, bool is_outward, const uint8_t *datagram, size_t size)
{
    (void)is_outward, (void)datagram;
    return !random_chance(random, 1) && size <= DATAGRAM_MOST;
}

/* The receiver listens behind a bad network, and gives its address to the sender. */
static void *receiver_behind(struct crossing **way, const struct ranks *r)
{
    const struct crossing_faults faults = {.see = passes, .context = &state};
    char bytes[NET_HANDLE_BYTES];
    void *listener, *receiver;
    struct handle h;

    must(driver_listen(&r->driver, bytes, &listener) == NET_OK);
    must(handle_read(&h, bytes));
    *way = crossing_open(h.port, &faults, 1);
    h.port = (uint16_t)atoi(crossing_port(*way));
    handle_write(&h, bytes);
    ranks_give(r->bootstrap, bytes, sizeof(bytes));
    must(driver_accept_fully(&r->driver, listener, &receiver) == NET_OK);
    must(driver_endings(&r->driver).close_listener(listener) == NET_OK);
    return receiver;
}

/* A unit that comes in place of one that was lost lands where it does not belong. */
TEST(watched__with_losses)
{
    struct crossing *way;

    ranks_choose(false);
    struct ranks r = ranks_start(11, send_load);
    void *receiver = receiver_behind(&way, &r);
    load_receive(&r.driver, receiver, &load);
    ck_assert_int_eq(driver_endings(&r.driver).close_receiver(receiver), NET_OK);
    ranks_finish(&r);
    crossing_close(way);
}
