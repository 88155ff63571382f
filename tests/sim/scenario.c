#include "scenario.h"

#include <inttypes.h>

enum { FEW_SEEDS = 20 }; /* then the long scenarios have a third of their runs */

uint32_t scenario_runs(const struct scenario *scenario, uint32_t seeds)
{
    if (scenario->percent == 0)
        return seeds < FEW_SEEDS ? (scenario->runs + 2) / 3 : scenario->runs;
    uint32_t runs = (uint32_t)((uint64_t)seeds * scenario->percent / 100);
    return runs == 0 ? 1 : runs;
}

static void count_messages(struct figures *f, const struct world *w)
{
    const struct user *receiver = &w->receiver.user;
    for (uint32_t i = 0; i < receiver->begun; i++) {
        const struct entry *entry = &receiver->entry[i];
        bool is_ok = entry->is_over && !entry->is_abandoned && entry->outcome == OUTCOME_OK;
        f->ok += is_ok;
        f->not_ok += !is_ok;
        f->bytes += is_ok ? entry->length : 0;
    }
}

static void count(struct figures *f, const struct world *w)
{
    const struct sender_counters *s = sender_counters(w->sender.core);
    const struct receiver_counters *r = receiver_counters(w->receiver.core);
    f->units += s->units + w->sender.dead.units;
    f->repeated += s->repeated + w->sender.dead.repeated;
    f->probes += s->probes + w->sender.dead.probes;
    f->accepted += r->units + w->receiver.dead.units;
    f->in_place += r->in_place + w->receiver.dead.in_place;
    duration time = w->scene.now - w->setup.submits.start;
    f->time += time;
    if (time > f->longest)
        f->longest = time;
    count_messages(f, w);
}

/* Bytes of this user's messages if all ended well; else UINT64_MAX. */
static uint64_t bytes_of(const struct user *user)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < user->begun; i++) {
        const struct entry *entry = &user->entry[i];
        if (!entry->is_over || entry->is_abandoned || entry->outcome != OUTCOME_OK)
            return UINT64_MAX;
        bytes += entry->length;
    }
    return bytes;
}

/* Where all went well, each byte has arrived once in either end's counts, whatever was repeated;
 * not where an acknowledgement may be of what never arrived. */
static bool are_bytes_counted(const struct world *w)
{
    uint64_t sent = bytes_of(&w->sender.user);
    uint64_t received = bytes_of(&w->receiver.user);
    if (w->sender.user.was_restarted || w->receiver.user.was_restarted || w->setup.is_corrupt)
        return true;
    return (sent == UINT64_MAX || sender_counters(w->sender.core)->bytes == sent) &&
           (received == UINT64_MAX || receiver_counters(w->receiver.core)->bytes == received);
}

bool scenario_run(const struct scenario *scenario, uint64_t seed, struct figures *figures,
                  FILE *log)
{
    struct setup setup = scenario->setup(seed, scenario->parameter);
    struct world *world = world_create(&setup, log);
    bool is_right = world_run(world);
    if (is_right && scenario->judge != NULL)
        is_right = scenario->judge(world, scenario->parameter) && !world->scene.has_failed;
    is_right = is_right && are_bytes_counted(world);
    figures->runs++;
    figures->failed += !is_right;
    count(figures, world);
    if (!is_right)
        fprintf(stderr, "%s, seed %" PRIu64 ": at %.3f ms: %s\n", scenario->name, seed,
                (double)world->scene.now / (double)MILLISECOND,
                world->scene.has_failed ? world->scene.failure : "not as expected");
    world_destroy(world);
    return is_right;
}

struct finish scenario_finish(const struct setup *setup)
{
    struct finish finish = {NEVER, NEVER};
    struct world *world = world_create(setup, NULL);
    if (world_run(world))
        finish = (struct finish){world_last_end(world), world->scene.now};
    world_destroy(world);
    return finish;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : 100 * (double)part / (double)whole;
}

void figures_print(const struct figures *f, const char *name)
{
    double seconds = (double)f->time / (double)SECOND;
    printf("%-30s %5" PRIu32 " runs  %6" PRIu64 " ok %5" PRIu64 " not  %7.2f Mb/s  "
           "%5.1f %% repeated  %5.1f %% in place  %5" PRIu64 " timeouts  longest %8.3f s\n",
           name, f->runs, f->ok, f->not_ok, seconds > 0 ? 8e-6 * (double)f->bytes / seconds : 0,
           percent(f->repeated, f->units), percent(f->in_place, f->accepted), f->probes,
           (double)f->longest / (double)SECOND);
}
