/* What random calls beside a list (property/messages_test.c) do not reach. */
#include "core/receiver/messages_in.h"

#include "../../support/suite.h"
#include "../../support/tables.h"

#include <signal.h>

enum { CAPACITY = 4, NODES = 3 };

static struct message_in ring[CAPACITY];
static struct missing_node node[NODES];
static struct messages_in m;

static void setup(void)
{
    messages_in_init(&m, TABLE_OF(ring), TABLE_OF(node), 0);
}

static struct message_in *add(void)
{
    static uint8_t buffer[100];
    return messages_in_add(&m, NULL, buffer, sizeof buffer);
}

FIXTURE(setup, NULL)

TEST(messages_in_init__needs_a_power_of_two, .rows = 2, .signal = SIGABRT)
{
    messages_in_init(&m, table_of(ring, _i == 0 ? 0 : 3, sizeof ring[0]), TABLE_OF(node), 0);
}

TEST(messages_in_add__misses_all_of_it)
{
    struct message_in *message = add();
    ck_assert_uint_eq(message->missing.bytes, 100);
    ck_assert_uint_eq(missing_next(&m.missing, &message->missing, 0).last, 100);
    ck_assert(!message->is_length_known);
}

TEST(messages_in_withdraw__twice, .signal = SIGABRT)
{
    struct message_in *message = add();
    messages_in_withdraw(&m, message, OUTCOME_CANCELLED);
    messages_in_withdraw(&m, message, OUTCOME_CANCELLED);
}

TEST(messages_in_end_row__with_one_that_is_withdrawn, .signal = SIGABRT)
{
    add();
    messages_in_withdraw(&m, add(), OUTCOME_CANCELLED);
    messages_in_end_row(&m, 0, 2, 100);
}

TEST(messages_in_check__fires, .rows = 5, .signal = SIGABRT)
{
    struct message_in *message = add();
    if (_i == 0)
        m.next += CAPACITY; /* I1 */
    if (_i == 1)
        message->state = MESSAGE_IN_FREE; /* I2 */
    if (_i == 2)
        message->is_ready = true; /* I3 */
    if (_i == 3)
        message->state = MESSAGE_IN_ENDED; /* I4 */
    if (_i == 4)
        m.withdrawn++;
    messages_in_check(&m);
}
