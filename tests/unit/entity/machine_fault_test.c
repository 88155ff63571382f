/* Which messages fail because their memory is not there. */
#include "core/receiver/receiver_state.h"
#include "link/machine.h"
#include "link/options.h"

#include "../../support/suite.h"

#include <sys/mman.h>

enum { MESSAGES = 4, BYTES = 100, IN_A_ROW = 3 };

/* A machine that has some messages, numbered from 0 on. */
static struct {
    struct machine machine;
    struct message message[MESSAGES];
    uint8_t bytes[MESSAGES][BYTES];
    struct burst burst;
    struct landing landing;
} f;

static void begin_faults(enum machine_role role)
{
    const struct channel channel = {.datagram_max = 65507, .path_bytes = 1472, .path_most = 1472};
    struct zcrp_options options;

    ck_assert_int_eq(options_complete(&options, NULL, 0), 0);
    ck_assert(machine_init(&f.machine, role, &options, &channel));
    for (uint32_t i = 0; i < MESSAGES; i++) {
        f.message[i] = (struct message){.public.buffer = f.bytes[i], .size = BYTES};
        ck_assert(machine_submit(&f.machine, 0, &f.message[i]));
        ck_assert_uint_eq(f.message[i].number, i);
    }
}

/* Which messages have failed, because of their memory; a bit each. */
static uint32_t failed(void)
{
    struct event event;
    uint32_t bits = 0;

    while (machine_event(&f.machine, &event)) {
        ck_assert_int_eq(event.outcome, OUTCOME_FAULT);
        bits |= UINT32_C(1) << ((const struct message *)event.user - f.message);
    }
    return bits;
}

/* A burst of two of the messages, whose units are these pieces. */
static void plan_burst(struct iovec one, struct iovec other)
{
    f.burst = (struct burst){.datagrams = 1, .pins = 2, .iov = {one, other}};
    f.burst.pin[0].message = 1;
    f.burst.pin[1].message = 2;
}

/* The memory is there when somebody looks. The burst's messages fail only if the kernel could not
 * read it again and again; a burst that it could read starts the count again. */
TEST(machine_on_burst_fault__no_culprit)
{
    const struct burst control = {.datagrams = 1, .is_control = true};

    begin_faults(MACHINE_SENDER);
    plan_burst((struct iovec){f.bytes[1], BYTES}, (struct iovec){f.bytes[2], BYTES});
    machine_on_burst_fault(&f.machine, &f.burst);
    for (int i = 0; i < IN_A_ROW; i++)
        machine_on_burst_fault(&f.machine, &control); /* which has no messages */
    machine_on_burst_fault(&f.machine, &f.burst);
    machine_on_burst_read(&f.machine, &control);
    ck_assert_uint_eq(failed(), 0);
    machine_on_burst_read(&f.machine, &f.burst);
    for (int i = 1; i < IN_A_ROW; i++)
        machine_on_burst_fault(&f.machine, &f.burst);
    ck_assert_uint_eq(failed(), 0);
    machine_on_burst_fault(&f.machine, &f.burst);
    ck_assert_uint_eq(failed(), 1 << 1 | 1 << 2);
    machine_fini(&f.machine);
}

/* Submits a message of one byte, which is not there. */
static void submit_lost(struct message *lost)
{
    uint8_t *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    ck_assert_ptr_ne(gone, MAP_FAILED);
    *lost = (struct message){.public.buffer = gone, .size = 1};
    ck_assert(machine_submit(&f.machine, 0, lost));
    ck_assert_uint_eq(lost->number, MESSAGES);
}

/* It alone has failed. */
static void expect_lost(const struct message *lost)
{
    struct event event;

    ck_assert(machine_event(&f.machine, &event));
    ck_assert_ptr_eq(event.user, lost);
    ck_assert_int_eq(event.outcome, OUTCOME_FAULT);
    ck_assert_uint_eq(failed(), 0);
}

/* One byte that is not there is enough. Its message fails at once, and no other: if it is of the
 * burst. */
TEST(machine_on_burst_fault__culprit)
{
    struct message lost;

    begin_faults(MACHINE_SENDER);
    submit_lost(&lost);
    plan_burst((struct iovec){f.bytes[1], BYTES}, (struct iovec){lost.public.buffer, 1});
    f.burst.pin[1].message = lost.number;
    f.burst.pins = 1;
    machine_on_burst_fault(&f.machine, &f.burst);
    ck_assert_uint_eq(failed(), 0);
    f.burst.pins = 2;
    machine_on_burst_fault(&f.machine, &f.burst);
    expect_lost(&lost);
    for (int i = 1; i < IN_A_ROW; i++)
        machine_on_burst_fault(&f.machine, &f.burst);
    ck_assert_uint_eq(failed(), 0);
    machine_fini(&f.machine);
}

/* A receive that ran into a fault lands nothing that counts, but bytes may lie in messages. */
static void fault_plan(uint32_t times)
{
    for (uint32_t i = 0; i < times; i++) {
        f.landing.is_spoilt = false;
        machine_on_plan_fault(&f.machine, &f.landing);
        ck_assert(f.landing.is_spoilt);
    }
}

TEST(machine_on_plan_fault__no_culprit)
{
    begin_faults(MACHINE_RECEIVER);
    f.machine.receiver->planned = (struct interval){1, 3};
    fault_plan(IN_A_ROW - 1);
    ck_assert_uint_eq(failed(), 0);
    fault_plan(1);
    ck_assert_uint_eq(failed(), 1 << 1 | 1 << 2);
    machine_fini(&f.machine);
}

TEST(machine_on_plan_fault__culprit)
{
    struct message lost;

    begin_faults(MACHINE_RECEIVER);
    submit_lost(&lost);
    f.landing.iov[0] = (struct iovec){lost.public.buffer, 1};
    f.landing.openings = f.landing.first[1] = 1;
    f.machine.receiver->planned = (struct interval){lost.number - 1, lost.number + 1};
    fault_plan(1);
    expect_lost(&lost);
    machine_fini(&f.machine);
}

/* A plan without messages does not count. */
TEST(machine_on_plan_fault__no_messages)
{
    begin_faults(MACHINE_RECEIVER);
    f.machine.receiver->planned = (struct interval){2, 2};
    fault_plan(2 * IN_A_ROW);
    f.machine.receiver->planned = (struct interval){1, 3};
    fault_plan(IN_A_ROW - 1);
    ck_assert_uint_eq(failed(), 0);
    machine_fini(&f.machine);
}
