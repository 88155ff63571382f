#include "platform/waking.h"

#include "platform/sleep.h"
#include "platform/system.h"

#include "../../support/suite.h"

static struct wake wake;

static void setup(void)
{
    ck_assert_int_eq(wake_init(&wake), 0);
}

static void teardown(void)
{
    wake_fini(&wake);
}

static int is_ready(void)
{
    struct pollfd set = {.fd = wake_fd(&wake), .events = POLLIN};
    return ready_wait(&set, 1, 0);
}

FIXTURE(setup, teardown)

TEST(wake_signal__until_cleared)
{
    ck_assert_int_eq(is_ready(), 0);
    wake_signal(&wake);
    wake_signal(&wake);
    ck_assert_int_eq(is_ready(), 1);
    ck_assert_int_eq(is_ready(), 1);
    wake_clear(&wake);
    ck_assert_int_eq(is_ready(), 0);
    wake_clear(&wake);
    wake_signal(&wake);
    ck_assert_int_eq(is_ready(), 1);
}

TEST(ready_wait__deadline)
{
    struct pollfd set = {.fd = wake_fd(&wake), .events = POLLIN};
    instant deadline = clock_now() + MILLISECOND;

    ck_assert_int_eq(ready_wait(&set, 1, deadline), 0);
    ck_assert_int_ge(clock_now(), deadline);
}
