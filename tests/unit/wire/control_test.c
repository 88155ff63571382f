/* What the vectors (vectors_test.c) cannot say about the datagrams without data: encoding where
 * there is no room, reading where there is nothing, and sizes that no datagram of UDP has. */
#include "core/wire/control.h"

#include "../../support/suite.h"

#include <stdlib.h>

static const struct pairing pairing = {.session = 0x11121314, .tag = 0x15161718};

TEST(encode__no_room, .rows = 5, .signal = SIGABRT)
{
    uint8_t out[TRAILER_BYTES];
    size_t size = sizeof out - 1;
    if (_i == 0)
        (void)block_ack_encode(out, size, &(struct block_ack){.pairing = pairing});
    else if (_i == 1)
        (void)request_encode(out, size, &(struct request){.pairing = pairing});
    else if (_i == 2)
        (void)hello_encode(out, size, &(struct hello){.pairing = pairing});
    else if (_i == 3)
        (void)cookie_answer_encode(out, size, &(struct cookie_answer){.pairing = pairing});
    else
        (void)offer_encode(out, size, &(struct offer){.pairing = pairing});
}

/* Runs and bounds may lie elsewhere, or in place already. */
TEST(encode__takes_its_body_from_anywhere, .rows = 2)
{
    uint8_t out[2 * TRAILER_BYTES], elsewhere[2 * TRAILER_BYTES];
    uint8_t *body = _i == 0 ? out : elsewhere;
    struct request request = {.pairing = pairing, .length = 1, .runs = body};
    struct block_ack ack = {.pairing = pairing, .newest = 8, .length = 1, .bounds = body};

    request_run_encode(body, &(struct request_run){.first = 7, .count = 3, .size = 1000});
    size_t size = request_encode(out, sizeof out, &request);
    ck_assert_int_eq(request_decode(out, size, &request), VERDICT_OK);
    ck_assert_uint_eq(request_run(&request, 0).first, 7);
    ck_assert_uint_eq(request_run(&request, 0).count, 3);
    ck_assert_uint_eq(request_run(&request, 0).size, 1000);

    ack_bound_encode(body, 5);
    ack_bound_encode(body + ACK_BOUND_BYTES, 9);
    size = block_ack_encode(out, sizeof out, &ack);
    ck_assert_int_eq(block_ack_decode(out, size, &ack), VERDICT_OK);
    ck_assert_uint_eq(ack_bound(&ack, 0), 5);
    ck_assert_uint_eq(ack_bound(&ack, 1), 9);
}

TEST(decode__too_short_is_not_touched)
{
    for (size_t size = 0; size < TRAILER_BYTES; size++) {
        ck_assert_int_eq(block_ack_decode(NULL, size, &(struct block_ack){0}), VERDICT_SHORT);
        ck_assert_int_eq(request_decode(NULL, size, &(struct request){0}), VERDICT_SHORT);
        ck_assert_int_eq(hello_decode(NULL, size, &(struct hello){0}), VERDICT_SHORT);
        ck_assert_int_eq(cookie_answer_decode(NULL, size, &(struct cookie_answer){0}),
                         VERDICT_SHORT);
        ck_assert_int_eq(offer_decode(NULL, size, &(struct offer){0}), VERDICT_SHORT);
        ck_assert_int_eq(path_probe_decode(NULL, size, &(struct path_probe){0}), VERDICT_SHORT);
        ck_assert_int_eq(path_answer_decode(NULL, size, &(struct path_probe){0}), VERDICT_SHORT);
    }
}

TEST(version_answer_decode__of_another_size_is_not_touched)
{
    struct pairing echoed;
    uint8_t version;
    for (size_t size = 0; size <= 2 * TRAILER_BYTES; size++) {
        if (size != VERSION_ANSWER_BYTES)
            ck_assert(!version_answer_decode(NULL, size, &echoed, &version));
    }
}

TEST(block_ack_encode__empty_says_no_newest)
{
    uint8_t out[TRAILER_BYTES];
    struct block_ack ack = {.pairing = pairing, .newest = 77};
    size_t size = block_ack_encode(out, sizeof out, &ack);
    ck_assert_int_eq(block_ack_decode(out, size, &ack), VERDICT_OK);
    ck_assert_uint_eq(ack.newest, 0);
    ck_assert(ack.first_is_positive);
}

/* 65,535 intervals need 262,144 bytes of bounds: more than any UDP datagram, but no special case.
 */
TEST(block_ack_decode__most_intervals)
{
    size_t size = 65536u * ACK_BOUND_BYTES + TRAILER_BYTES;
    uint8_t *in = malloc(size);
    ck_assert_ptr_nonnull(in);
    for (uint32_t b = 0; b < 65536; b++)
        ack_bound_encode(in + b * ACK_BOUND_BYTES, b + 3);
    struct block_ack ack = {.pairing = pairing, .newest = 65537, .length = 65535, .bounds = in};
    ck_assert_uint_eq(block_ack_encode(in, size, &ack), size);
    ck_assert_int_eq(block_ack_decode(in, size, &ack), VERDICT_OK);
    ck_assert_uint_eq(ack_bound(&ack, 65535), 65538);
    free(in);
}

/* Larger than UDP's, up to what the length can say. */
TEST(path_probe_decode__largest)
{
    struct path_probe probe = {.pairing = pairing, .bytes = UINT16_MAX + TRAILER_BYTES};
    uint8_t trailer[TRAILER_BYTES];
    path_probe_encode(trailer, &probe);
    ck_assert_int_eq(path_probe_decode(trailer, UINT16_MAX + TRAILER_BYTES, &probe), VERDICT_OK);
    ck_assert_uint_eq(probe.bytes, UINT16_MAX + TRAILER_BYTES);
}
