/* Messages, and the queue of their units that a test looks at the head of. The peer's buffers are
 * known, and each as large as its message. */
#ifndef ZCRP_TESTS_UNIT_UNITS_TO_SEND_RIG_H
#define ZCRP_TESTS_UNIT_UNITS_TO_SEND_RIG_H

#include "../../support/tables.h"
#include "core/sender/units_to_send.h"
#include "core/wire/control.h"
#include "core/wire/datagram.h"

#include <check.h>

enum { MESSAGES = 8, REPEATS = 4, MAX = 64 };

static struct message_out ring[MESSAGES];
static uint64_t posted[MESSAGES * MESSAGES_OUT_AHEAD];
static struct fragment memory[REPEATS];
static struct messages_out messages;
static struct units_to_send u;
static uint64_t origin; /* message numbers in the tests count from here */

static inline void setup_at(uint64_t first)
{
    origin = first;
    messages_out_init(&messages, TABLE_OF(ring), TABLE_OF(posted), first);
    units_to_send_init(&u, &messages, memory, REPEATS, first);
}

static inline void setup(void)
{
    setup_at(0);
}

/* A message whose buffer is known. */
static inline struct message_out *add(uint64_t size)
{
    static const uint8_t buffer[1];
    messages_out_announce(&messages, messages.next, size);
    return messages_out_add(&messages, NULL, buffer, size);
}

static inline void expect_head(uint64_t index, uint64_t offset, uint32_t length, bool is_last)
{
    struct fragment head;
    ck_assert(units_to_send_head(&u, MAX, &head));
    ck_assert_uint_eq(head.message, origin + index);
    ck_assert_uint_eq(head.offset, offset);
    ck_assert_uint_eq(head.length, length);
    ck_assert_int_eq(head.is_last, is_last);
}

static inline void expect_unit(uint64_t index, uint64_t offset, uint32_t length, bool is_last)
{
    struct fragment head;
    expect_head(index, offset, length, is_last);
    units_to_send_head(&u, MAX, &head);
    units_to_send_take(&u, &head, 1);
}

static inline void expect_nothing(void)
{
    struct fragment head;
    ck_assert(!units_to_send_head(&u, MAX, &head));
}

static inline void repeat(uint64_t index, uint64_t offset, uint32_t length, bool is_last)
{
    struct fragment fragment = {.message = origin + index,
                                .offset = offset,
                                .length = length,
                                .is_last = is_last,
                                .is_repeat = true};
    units_to_send_repeat(&u, &fragment);
}

#endif
