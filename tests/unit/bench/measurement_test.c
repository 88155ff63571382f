/* The jobs of zcrp-bench, for channels that were this fast when they were warmed up. */
#include "../../support/suite.h"
#include "zcrp-bench/ends/measurement.h"

enum { DEPTH = 1024, SIZE = 1000 };

static const int64_t second_ns = 1000000000;

static const struct options options = {
    .repeat = 1,
    .memory_bytes = 64u << 20,
    .duration_ns = second_ns,
    .transport_count = 2,
    .settings = {.flows = 1, .depth = DEPTH},
};

static struct sending_end end;

static void setup(void)
{
    end = (struct sending_end){.options = &options, .control = {.fd = -1}};
    for (size_t i = 0; i < 2; i++)
        end.contenders[i].lane_count = 2;
}

static void teardown(void)
{
    memory_fini(&end.memory);
}

/* The messages under way of a job for a channel with this rate. */
static uint64_t depth_at(size_t which, size_t lane, double bytes_per_s)
{
    struct contender *contender = &end.contenders[which];
    struct job job;

    contender->lane = lane;
    contender->lanes[lane]->bytes_per_s = bytes_per_s;
    ck_assert_int_eq(measurement_job(&end, contender, SIZE, &job), 0);
    return job.depth;
}

FIXTURE(setup, teardown)

/* A quarter of what the time carries, but never fewer than two or more than were asked for. */
TEST(measurement_job__under_way_for_a_part_of_the_time)
{
    ck_assert_uint_eq(depth_at(0, 0, 400e3), 100);
    ck_assert_uint_eq(depth_at(0, 0, 8e3), 2);
    ck_assert_uint_eq(depth_at(0, 0, 1), 2);
    ck_assert_uint_eq(depth_at(0, 0, 4 * SIZE * (DEPTH - 1)), DEPTH - 1);
    ck_assert_uint_eq(depth_at(0, 0, 1e12), DEPTH);
}

/* A slow channel holds up nobody else. */
TEST(measurement_job__each_channel_has_its_own_rate)
{
    ck_assert_uint_eq(depth_at(0, 0, 8e3), 2);
    ck_assert_uint_eq(depth_at(0, 1, 40e3), 10);
    ck_assert_uint_eq(depth_at(1, 0, 1e12), DEPTH);
    ck_assert_uint_eq(depth_at(0, 0, 8e3), 2);
}

TEST(measurement_trial__each_channel_has_its_own_rate)
{
    struct job job;

    end.contenders[0].lanes[0]->bytes_per_s = 8e3;
    end.contenders[1].lanes[0]->bytes_per_s = 1600e3;
    ck_assert_int_eq(measurement_trial(&end, &end.contenders[0], SIZE, &job), 0);
    ck_assert_uint_eq(job.depth, 2);
    ck_assert_int_eq(measurement_trial(&end, &end.contenders[1], SIZE, &job), 0);
    ck_assert_uint_eq(job.depth, 100);
}
