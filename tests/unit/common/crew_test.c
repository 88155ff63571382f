#include "common/crew.h"

#include "../../support/suite.h"

enum { JOBS = 8 };

static struct crew crew;
static pthread_barrier_t all_here;

static void setup(void)
{
    ck_assert_int_eq(crew_init(&crew, "crew test", JOBS), 0);
}

static void teardown(void)
{
    crew_fini(&crew);
}

FIXTURE(setup, teardown)

static void meet(struct crew_job *job)
{
    (void)job;
    (void)pthread_barrier_wait(&all_here);
}

/* Each job goes on only once all have begun: none may wait for a thread that is busy. */
TEST(crew_add__one_thread_for_each_job)
{
    struct crew_job jobs[JOBS];

    ck_assert_int_eq(pthread_barrier_init(&all_here, NULL, JOBS), 0);
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < JOBS; i++) {
            jobs[i] = (struct crew_job){.work = meet};
            crew_add(&crew, &jobs[i]);
        }
        for (int i = 0; i < JOBS; i++)
            crew_wait(&crew, &jobs[i]);
    }
    ck_assert_int_eq(pthread_barrier_destroy(&all_here), 0);
}

TEST(crew_is_done__tells_without_a_wait)
{
    struct crew_job job = {.work = meet};

    ck_assert_int_eq(pthread_barrier_init(&all_here, NULL, 2), 0);
    crew_add(&crew, &job);
    ck_assert(!crew_is_done(&crew, &job));
    (void)pthread_barrier_wait(&all_here);
    crew_wait(&crew, &job);
    ck_assert(crew_is_done(&crew, &job));
    ck_assert_int_eq(pthread_barrier_destroy(&all_here), 0);
}

static const struct crew_job *order[JOBS];
static int count;

static void note(struct crew_job *job)
{
    order[count++] = job;
}

/* One thread does them in their order, and again when they are added again. */
TEST(crew_add__in_order)
{
    static struct crew one;
    struct crew_job jobs[JOBS];

    ck_assert_int_eq(crew_init(&one, "crew test", 1), 0);
    for (int round = 0; round < 2; round++) {
        count = 0;
        for (int i = 0; i < JOBS; i++) {
            jobs[i] = (struct crew_job){.work = note};
            crew_add(&one, &jobs[i]);
        }
        crew_wait(&one, &jobs[JOBS - 1]);
        for (int i = 0; i < JOBS; i++)
            ck_assert_ptr_eq(order[i], &jobs[i]);
    }
    crew_fini(&one);
}
