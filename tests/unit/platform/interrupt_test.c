/* An interrupt ends the waits that began before it, or else the next one. */
#include "../../support/suite.h"
#include "platform/waking.h"

static struct interrupt interrupt;

static void setup(void)
{
    interrupt = (struct interrupt){.raised = 0};
}

FIXTURE(setup, NULL)

TEST(interrupt__ends_the_next_wait)
{
    uint32_t begun = interrupt_begin(&interrupt);

    ck_assert(!interrupt_is_due(&interrupt, begun));
    interrupt_raise(&interrupt);
    interrupt_raise(&interrupt);
    ck_assert(interrupt_is_due(&interrupt, interrupt_begin(&interrupt)));
    interrupt_tell(&interrupt);
    ck_assert(!interrupt_is_due(&interrupt, interrupt_begin(&interrupt)));
    ck_assert(interrupt_is_due(&interrupt, begun));
}

/* A wait for any of several has no number of its own for each of them. */
TEST(interrupt__ends_waits_that_another_told_of)
{
    uint64_t before = interrupts_so_far();

    ck_assert(!interrupt_is_due_since(&interrupt, before));
    interrupt_raise(&interrupt);
    ck_assert(interrupt_is_due_since(&interrupt, interrupts_so_far()));
    interrupt_tell(&interrupt);
    ck_assert(interrupt_is_due_since(&interrupt, before));
    ck_assert(!interrupt_is_due_since(&interrupt, interrupts_so_far()));
}

/* It does not concern this one. */
TEST(interrupt__of_another)
{
    struct interrupt other = {.raised = 0};
    uint64_t before = interrupts_so_far();

    interrupt_raise(&other);
    ck_assert_uint_gt(interrupts_so_far(), before);
    ck_assert(!interrupt_is_due_since(&interrupt, before));
}
