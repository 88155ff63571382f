/* The options of connections that the command line sets. */
#include "zcrp-tunnel/stream.h"

#include "../../support/suite.h"

static uint32_t messages_for(uint64_t window)
{
    const struct stream_settings settings = {.window = window};

    return stream_setup(&settings, NULL).messages;
}

/* The window is full of buffers, and control messages have room besides. */
TEST(stream_setup__messages_of_a_window)
{
    ck_assert_uint_eq(messages_for((uint64_t)CREDIT_LEAST * STREAM_BYTES), 64);
    ck_assert_uint_eq(messages_for(3 << 20), 64);
    ck_assert_uint_ge(messages_for(64 << 20), (64 << 20) / STREAM_BYTES + CREDIT_LEAST);
    ck_assert_uint_ge(messages_for(1 << 30), (1 << 30) / STREAM_BYTES + CREDIT_LEAST);
    ck_assert_uint_le(messages_for(1 << 30), 1 << 20); /* zcrp.h */
}
