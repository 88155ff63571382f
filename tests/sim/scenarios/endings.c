/* How messages and sessions end otherwise than well. */
#include "../scenario.h"

#include "../chance.h"

#include <inttypes.h>
#include <string.h>

/* MEMORY: small messages cross memory that both share, as a whole, and it comes and goes. */
enum { BY_SENDER = 1, BY_RECEIVER = 2, BOTH = BY_SENDER | BY_RECEIVER, KEYED = 4, MEMORY = 8 };

/* A lively conversation over a bad link. */
static struct setup lively(uint64_t seed)
{
    struct setup setup = setup_plain(seed);
    setup.sizes = SIZES_EDGES;
    setup.submits.messages = setup.posts.messages = 40;
    setup.submits.pause = setup.posts.pause = 2 * MILLISECOND;
    setup.out.loss_permille = setup.back.loss_permille = 30;
    setup.out.jitter = setup.back.jitter = MILLISECOND;
    setup_slow_kernel(&setup, seed);
    return setup;
}

static struct setup too_large(uint64_t seed, uint32_t parameter)
{
    struct setup setup = lively(seed);
    setup.has_memory = (parameter & MEMORY) != 0;
    setup.smaller_one_in = 3;
    setup.larger_one_in = 3;
    return setup;
}

/* ---- a receiver that asks how large messages are: one in so many, by the parameter */

static struct setup expected(uint64_t seed, uint32_t parameter)
{
    struct setup setup = lively(seed);
    setup.expect_one_in = parameter;
    setup.smaller_one_in = setup.larger_one_in = 3;
    setup.out.duplicate_permille = setup.back.duplicate_permille = 30;
    if (seed % 2 == 0)
        setup.submits.start = (instant)(seed % 100) * MILLISECOND;
    return setup;
}

/* Most were answered in time, and none of those was too large. */
static bool were_offered(struct world *w, uint32_t parameter)
{
    const struct user *user = &w->receiver.user;
    uint32_t asked = 0;
    uint32_t offered = 0;
    (void)parameter;
    for (uint32_t i = 0; i < user->begun; i++) {
        asked += setup_expects(&w->setup, i);
        offered += user->entry[i].was_offered;
        scene_expect(&w->scene, !user->entry[i].was_offered || user->entry[i].outcome == OUTCOME_OK,
                     "message %" PRIu32 " was offered, and ended with %s", i,
                     scene_outcome(user->entry[i].outcome));
    }
    return scene_expect(&w->scene, offered * 2 >= asked,
                        "only %" PRIu32 " of %" PRIu32 " were offered", offered, asked);
}

static struct setup cancels(uint64_t seed, uint32_t parameter)
{
    struct setup setup = lively(seed);
    setup.has_memory = (parameter & MEMORY) != 0;
    setup.smaller_one_in = 5;
    setup.submits.cancel_one_in = (parameter & BY_SENDER) != 0 ? 3 : 0;
    setup.posts.cancel_one_in = (parameter & BY_RECEIVER) != 0 ? 3 : 0;
    setup.submits.cancel_after = setup.posts.cancel_after = 20 * MILLISECOND;
    return setup;
}

static struct setup closes(uint64_t seed, uint32_t parameter)
{
    struct setup setup = lively(seed);
    uint64_t random = seed;
    setup.may_fail = true;
    setup.has_memory = (parameter & MEMORY) != 0;
    if ((parameter & BY_SENDER) != 0)
        setup.submits.close_at = (instant)(random_next(&random) % 60) * MILLISECOND;
    if ((parameter & BY_RECEIVER) != 0)
        setup.posts.close_at = (instant)(random_next(&random) % 60) * MILLISECOND;
    return setup;
}

/* ---- a new process: it goes on with what is left of its user's plan, then both close */

static struct setup restarts(uint64_t seed, uint32_t parameter)
{
    struct setup setup = lively(seed);
    uint64_t random = seed;
    setup.may_fail = true;
    setup.has_memory = (parameter & MEMORY) != 0;
    setup.sizes = SIZES_LARGE;
    setup.submits.messages = setup.posts.messages = 400;
    setup.larger_one_in = 2;
    setup.expect_one_in = seed % 2 == 0 ? 5 : 0;
    setup.out.replay_permille = setup.back.replay_permille = 100;
    if ((parameter & BY_SENDER) != 0)
        setup.submits.restart_at = (instant)(20 + random_next(&random) % 100) * MILLISECOND;
    if ((parameter & BY_RECEIVER) != 0)
        setup.posts.restart_at = (instant)(20 + random_next(&random) % 100) * MILLISECOND;
    /* An idle sender takes up to two seconds to notice that its peer knows nothing of it. */
    setup.submits.close_at = setup.posts.close_at = 3 * SECOND;
    return setup;
}

/* Something was delivered after the last restart. */
static bool has_recovered(struct world *w, uint32_t parameter)
{
    (void)parameter;
    const struct user *user = &w->receiver.user;
    instant sender = w->setup.submits.restart_at;
    instant last = w->setup.posts.restart_at;
    if (last == NEVER || (sender != NEVER && sender > last))
        last = sender;
    for (uint32_t i = 0; i < user->begun; i++) {
        const struct entry *entry = &user->entry[i];
        if (!entry->is_abandoned && entry->outcome == OUTCOME_OK && entry->ended > last)
            return true;
    }
    return scene_expect(&w->scene, false, "nothing was delivered after the restart");
}

/* When this user was first told that the peer is silent; NEVER if it was not. */
static instant silent_at(const struct user *user)
{
    for (uint32_t i = 0; i < user->begun; i++)
        if (user->entry[i].is_over && user->entry[i].outcome == OUTCOME_SILENT)
            return user->entry[i].ended;
    return NEVER;
}

/* ---- a host that is gone: all that is outstanding fails, at the silence limit and not before */

static struct setup gone(uint64_t seed, uint32_t parameter)
{
    struct setup setup = lively(seed);
    instant at = (instant)(seed % 50 + 400) * MILLISECOND; /* paired, and amidst of it */
    setup.may_fail = true;
    setup_patience(&setup, 3 * SECOND);
    setup.submits.messages = setup.posts.messages = 16; /* all begun before it is gone */
    setup.submits.outstanding = setup.posts.outstanding = 16;
    setup.submits.pause = setup.posts.pause = 0;
    setup.sizes = SIZES_FIXED;
    setup.size = 1 << 20;
    setup.out.bytes_per_second = 10000000;
    if (parameter == BY_SENDER)
        setup.submits.stop_at = at;
    else
        setup.posts.stop_at = at;
    return setup;
}

static bool is_in_time(struct world *w, uint32_t parameter)
{
    bool is_sender = parameter == BY_SENDER;
    const struct user *left = is_sender ? &w->receiver.user : &w->sender.user;
    instant at = (is_sender ? &w->setup.submits : &w->setup.posts)->stop_at;
    uint32_t silent = 0;
    for (uint32_t i = 0; i < left->begun; i++) {
        const struct entry *entry = &left->entry[i];
        if (entry->outcome != OUTCOME_SILENT || !entry->is_over)
            continue;
        silent++;
        scene_expect(&w->scene, entry->ended >= at + 2 * SECOND && entry->ended <= at + 4 * SECOND,
                     "silence was noticed after %.3f ms",
                     (double)(entry->ended - at) / (double)MILLISECOND);
    }
    return scene_expect(&w->scene, silent > 0, "silence was not noticed");
}

/* ---- the same where the host is there still, and says that nobody listens: some seconds will do.
 * With keys too. */

static const duration GONE = 5 * SECOND;

static struct setup killed(uint64_t seed, uint32_t parameter)
{
    struct setup setup = gone(seed, parameter & (BY_SENDER | BY_RECEIVER));
    setup_patience(&setup, 30 * SECOND);
    setup.submits.is_host_left = setup.posts.is_host_left = true;
    if ((parameter & KEYED) != 0)
        setup_keys(&setup, 10);
    return setup;
}

static bool is_soon(struct world *w, uint32_t parameter)
{
    bool is_sender = (parameter & BY_SENDER) != 0;
    instant at = (is_sender ? &w->setup.submits : &w->setup.posts)->stop_at;
    instant silent = silent_at(is_sender ? &w->receiver.user : &w->sender.user);
    return scene_expect(&w->scene, silent >= at + GONE - SECOND && silent <= at + GONE + 3 * SECOND,
                        "silence was noticed after %.3f ms",
                        (double)(silent - at) / (double)MILLISECOND);
}

/* ---- a host that never was: the sender says so at the connect limit, not before */

static struct setup nobody(uint64_t seed, uint32_t parameter)
{
    struct setup setup = lively(seed);
    (void)parameter;
    setup.may_fail = true;
    setup.posts.stop_at = 0;
    setup.submits.start = (instant)(seed % 50) * MILLISECOND;
    setup.sender.connect = 3 * SECOND;
    return setup;
}

static bool is_unreachable(struct world *w, uint32_t parameter)
{
    const struct user *user = &w->sender.user;
    (void)parameter;
    const struct entry *first = &user->entry[0];
    return scene_expect(&w->scene,
                        first->outcome == OUTCOME_UNREACHABLE &&
                            first->ended == user->habits->start + 3 * SECOND,
                        "the first message ended after %.3f ms: %s",
                        (double)(first->ended - user->habits->start) / (double)MILLISECOND,
                        scene_outcome(first->outcome));
}

/* ---- the edge of the silence limit: the path is gone for a little less, or a little more */

static struct setup silence(uint64_t seed, uint32_t parameter)
{
    struct setup setup = setup_plain(seed);
    setup.size = 1 << 20;
    setup.out.bytes_per_second = 1000000;
    setup.out.outage = setup.back.outage = parameter * MILLISECOND;
    setup.out.outage_every = setup.back.outage_every = parameter * MILLISECOND + 4 * SECOND;
    setup_patience(&setup, 5 * SECOND);
    setup.may_fail = parameter > 5000;
    if (setup.may_fail) /* paired first */
        setup.submits.start = setup.posts.start = parameter * MILLISECOND;
    setup.check_every = 16;
    setup.limit = 200 * SECOND;
    return setup;
}

static bool has_failed_silent(struct world *w, uint32_t parameter)
{
    (void)parameter;
    return scene_expect(&w->scene, silent_at(&w->sender.user) != NEVER, "silence was not noticed");
}

/* ---- the silence limit, to the nanosecond: what arrives before it is a sign of life, and what
 * arrives behind it comes too late. The parameter is the end that has the limit. */

static const duration LIMIT = 5 * SECOND;

struct end {
    struct link *link; /* to it */
    const struct user *user;
};

static struct end end_of(struct world *w, uint32_t parameter)
{
    return parameter == BY_SENDER ? (struct end){&w->back, &w->sender.user}
                                  : (struct end){&w->out, &w->receiver.user};
}

/* A path for four seconds of ten that the data take, and then none until it is too late. */
static struct setup unheard(uint64_t seed, uint32_t parameter)
{
    struct setup setup = silence(seed, 10000);
    setup.submits.start = setup.posts.start =
        10 * SECOND + (instant)(seed % 100) * 1001 * MICROSECOND;
    setup.sender.silence = parameter == BY_SENDER ? LIMIT : 6 * LIMIT;
    setup.receiver.silence = parameter == BY_RECEIVER ? LIMIT : 6 * LIMIT;
    return setup;
}

/* The last datagram that passed. */
struct kept {
    uint8_t bytes[2048];
    uint32_t size;
};

static void keep(void *context, const uint8_t *bytes, uint32_t size, bool is_lost)
{
    struct kept *kept = context;
    if (is_lost || size > sizeof kept->bytes)
        return;
    memcpy(kept->bytes, bytes, size);
    kept->size = size;
}

/* The same world, in which the last datagram that passed arrives again at `at`: when is the peer
 * silent, if not later than `until`? */
static instant silent_with_a_sign(const struct world *w, uint32_t parameter, instant at,
                                  instant until)
{
    struct kept kept = {.size = 0};
    struct world *same = world_create(&w->setup, NULL);
    struct end end = end_of(same, parameter);
    instant leaves = at - end.link->conditions.delay;
    end.link->witness = keep;
    end.link->witness_of = &kept;
    world_run_until(same, leaves);
    end.link->conditions.outage = 0;
    end.link->conditions.bytes_per_second = 0;
    link_send(end.link, leaves, kept.bytes, kept.size);
    world_run_until(same, until);
    instant silent = silent_at(end.user);
    world_destroy(same);
    return silent;
}

/* How many datagrams had arrived at this end by then. */
static uint64_t arrived_by(const struct world *w, uint32_t parameter, instant at)
{
    struct world *same = world_create(&w->setup, NULL);
    world_run_until(same, at);
    uint64_t arrived = end_of(same, parameter).link->counters.delivered;
    world_destroy(same);
    return arrived;
}

static bool is_exact(struct world *w, uint32_t parameter)
{
    instant silent = silent_at(end_of(w, parameter).user);
    if (!scene_expect(&w->scene, silent != NEVER, "silence was not noticed"))
        return false;
    uint64_t arrived = arrived_by(w, parameter, silent - LIMIT);
    scene_expect(&w->scene, arrived > arrived_by(w, parameter, silent - LIMIT - 1),
                 "nothing arrived when the limit began");
    scene_expect(&w->scene, arrived == arrived_by(w, parameter, silent),
                 "something arrived before it was over");
    scene_expect(&w->scene, silent_with_a_sign(w, parameter, silent - 1, silent) == NEVER,
                 "a sign of life within the limit is none");
    return scene_expect(&w->scene,
                        silent_with_a_sign(w, parameter, silent + 1, silent + 1) == silent,
                        "a sign of life behind the limit is one");
}

const struct scenario scenarios_of_endings[] = {
    {"buffers too small and too large", too_large, NULL, 0, 100, 0, 0},
    {"sizes asked for", expected, were_offered, 1, 100, 0, 0},
    {"sizes asked for now and then", expected, were_offered, 4, 100, 0, 0},
    {"cancels by the sender", cancels, NULL, BY_SENDER, 100, 0, 0},
    {"cancels by the receiver", cancels, NULL, BY_RECEIVER, 100, 0, 0},
    {"cancels by both", cancels, NULL, BY_SENDER | BY_RECEIVER, 100, 0, 0},
    {"close by the sender", closes, NULL, BY_SENDER, 100, 0, 0},
    {"close by the receiver", closes, NULL, BY_RECEIVER, 100, 0, 0},
    {"close by both", closes, NULL, BY_SENDER | BY_RECEIVER, 100, 0, 0},
    {"restart of the sender", restarts, has_recovered, BY_SENDER, 50, 0, 0},
    {"restart of the receiver", restarts, has_recovered, BY_RECEIVER, 50, 0, 0},
    {"restart of both", restarts, has_recovered, BY_SENDER | BY_RECEIVER, 50, 0, 0},
    {"too small and too large, memory", too_large, NULL, MEMORY, 50, 0, 0},
    {"cancels by the sender, memory", cancels, NULL, BY_SENDER | MEMORY, 50, 0, 0},
    {"cancels by both, memory", cancels, NULL, BOTH | MEMORY, 50, 0, 0},
    {"close by the sender, memory", closes, NULL, BY_SENDER | MEMORY, 50, 0, 0},
    {"close by the receiver, memory", closes, NULL, BY_RECEIVER | MEMORY, 50, 0, 0},
    {"restart of the sender, memory", restarts, has_recovered, BY_SENDER | MEMORY, 50, 0, 0},
    {"restart of the receiver, memory", restarts, has_recovered, BY_RECEIVER | MEMORY, 50, 0, 0},
    {"restart of both, memory", restarts, has_recovered, BOTH | MEMORY, 50, 0, 0},
    {"sender is gone", gone, is_in_time, BY_SENDER, 10, 0, 0},
    {"receiver is gone", gone, is_in_time, BY_RECEIVER, 10, 0, 0},
    {"sender is killed", killed, is_soon, BY_SENDER, 10, 0, 0},
    {"receiver is killed", killed, is_soon, BY_RECEIVER, 10, 0, 0},
    {"sender is killed, keys", killed, is_soon, BY_SENDER | KEYED, 10, 0, 0},
    {"receiver is killed, keys", killed, is_soon, BY_RECEIVER | KEYED, 10, 0, 0},
    {"receiver never was", nobody, is_unreachable, 0, 10, 0, 0},
    {"silence below the limit", silence, NULL, 3800, 5, 0, 0},
    {"silence above the limit", silence, has_failed_silent, 5100, 5, 0, 0},
    {"silence to the nanosecond, sender", unheard, is_exact, BY_SENDER, 5, 0, 0},
    {"silence to the nanosecond, receiver", unheard, is_exact, BY_RECEIVER, 5, 0, 0},
    {.name = NULL},
};
