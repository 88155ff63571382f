/* Entities that are opened and closed over and over: nothing is left behind, and the next pair
 * finds the sockets as they were. ZCRP_CYCLES is how often (100; for more than 10,000 raise
 * CK_TIMEOUT_MULTIPLIER). */
#include "../support/ends.h"
#include "../support/own.h"

#include <poll.h>
#include <pthread.h>

LOAD(asleep)

enum {
    FIRST = 20,    /* cycles that do not count: what grows once */
    SLACK = 4096,  /* pages of address space, less than a pair of entities takes */
    IN_FLIGHT = 3, /* messages that a close meets */
};

static void cycle(const struct loopback *sockets, uint64_t i)
{
    struct ends e = ends_open_at(sockets, NULL, NULL);
    struct zcrp_msg *in = ends_empty(3000), *out = ends_filled(3000, i);

    ck_assert_int_eq(zcrp_submit(e.sender, out, 3000), 0);
    ck_assert_int_eq(zcrp_submit(e.receiver, in, 3000), 0);
    ck_assert_int_eq(ends_wait(in), 0);
    ck_assert_int_eq(zcrp_close(i % 2 == 0 ? e.sender : e.receiver), 0);
    ck_assert_int_eq(zcrp_close(i % 2 == 0 ? e.receiver : e.sender), 0);
    ck_assert(pattern_holds(in->buffer, 3000, i));
    zcrp_free_msg(in);
    zcrp_free_msg(out);
}

/* Close meets threads that send, receive and wait; whoever comes too late is told so. */
struct caller {
    pthread_t thread;
    struct zcrp_entity *entity;
    struct zcrp_msg *message[IN_FLIGHT];
};

static void *wait_for_all(void *context)
{
    struct caller *c = context;

    for (int i = 0; i < IN_FLIGHT; i++)
        if (zcrp_wait_for(c->message[i], -1) == ZCRP_ERROR_TIMEOUT)
            abort();
    return NULL;
}

static struct caller call(struct zcrp_entity *entity, bool is_sender)
{
    struct caller c = {.entity = entity};

    for (unsigned i = 0; i < IN_FLIGHT; i++) {
        c.message[i] = is_sender ? ends_filled(20000, i) : ends_empty(20000);
        ck_assert_int_eq(zcrp_submit(entity, c.message[i], 20000), 0);
    }
    return c;
}

static void hang_up(struct caller *c)
{
    pthread_join(c->thread, NULL);
    for (int i = 0; i < IN_FLIGHT; i++) {
        ck_assert_int_ne(zcrp_error(c->message[i]), ZCRP_ERROR_BUSY);
        zcrp_free_msg(c->message[i]);
    }
}

static void interrupted_cycle(const struct loopback *sockets, uint64_t i)
{
    const struct zcrp_options options = {.linger_ns = ENDS_SECOND / 10};
    struct ends e = ends_open_at(sockets, &options, &options);
    struct caller sends = call(e.sender, true), receives = call(e.receiver, false);

    pthread_create(&sends.thread, NULL, wait_for_all, &sends);
    pthread_create(&receives.thread, NULL, wait_for_all, &receives);
    (void)zcrp_close(i % 2 == 0 ? e.sender : e.receiver);
    (void)zcrp_close(i % 2 == 0 ? e.receiver : e.sender);
    hang_up(&sends);
    hang_up(&receives);
}

/* Of address space: what a process keeps mapped, whether it is used or not. */
static uint64_t count_pages(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return pages;
}

/* A sanitizer keeps what was freed, and tells of leaks by itself. */
static bool is_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#elif defined(__has_feature)
    return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
    return false;
#endif
}

static uint64_t cycles_wanted(void)
{
    const char *given = getenv("ZCRP_CYCLES");

    if (given != NULL)
        return strtoull(given, NULL, 0);
    return loopback_is_lossy() ? 20 : 100;
}

static void run_cycles(void (*run)(const struct loopback *sockets, uint64_t i), uint64_t count)
{
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);

    for (uint64_t i = 0; i < FIRST; i++)
        run(&sockets, i);
    int descriptors = own_descriptors();
    int threads = own_threads();
    uint64_t pages = count_pages();
    for (uint64_t i = 0; i < count; i++)
        run(&sockets, i);
    ck_assert_int_eq(own_descriptors(), descriptors);
    /* A thread that was joined may be listed for a moment more. */
    for (int i = 0; i < 1000 && own_threads() > threads; i++)
        poll(NULL, 0, 1);
    ck_assert_int_le(own_threads(), threads);
    if (!is_sanitized())
        ck_assert_uint_le(count_pages(), pages + SLACK);
    loopback_close(&sockets);
}

TEST(close__cycles)
{
    ck_assert_int_eq(zcrp_close(NULL), 0);
    run_cycles(cycle, cycles_wanted());
}

TEST(close__interrupts_cycles)
{
    run_cycles(interrupted_cycle, cycles_wanted() / 2);
}
