#include "world.h"

#include "chance.h"

#include <stdlib.h>

enum { STILL_MOST = 100000 }; /* steps at one instant: more is an endless loop */

static void on_sent(void *scene, const uint8_t *bytes, uint32_t size, bool is_lost)
{
    scene_tell_datagram(scene, "sender", bytes, size, is_lost ? "> LOST" : ">");
}

static void on_sent_back(void *scene, const uint8_t *bytes, uint32_t size, bool is_lost)
{
    scene_tell_datagram(scene, "receiver", bytes, size, is_lost ? "> LOST" : ">");
}

struct world *world_create(const struct setup *setup, FILE *log)
{
    struct world *w = calloc(1, sizeof(*w));
    w->setup = *setup;
    w->lies_at = setup->lie_every > 0 ? 0 : NEVER;
    w->moves_at = setup->move.at;
    w->scene = (struct scene){.setup = &w->setup, .log = log, .random = chance_of(setup->seed, 0)};
    link_init(&w->out, &setup->out, &w->scene.random, host_receiver_deliver, &w->receiver);
    link_init(&w->back, &setup->back, &w->scene.random, host_sender_deliver, &w->sender);
    w->out.witness = on_sent;
    w->back.witness = on_sent_back;
    w->out.witness_of = w->back.witness_of = &w->scene;
    w->sealing = sealing_create(&w->scene);
    whole_ring_init(&w->memory, &w->scene);
    host_sender_init(&w->sender, &w->scene, &w->out, &w->memory, w->sealing);
    host_receiver_init(&w->receiver, &w->scene, &w->back, &w->sender, w->sealing);
    return w;
}

void world_destroy(struct world *w)
{
    host_sender_fini(&w->sender);
    host_receiver_fini(&w->receiver);
    link_fini(&w->out);
    link_fini(&w->back);
    sealing_destroy(w->sealing);
    free(w);
}

static bool is_host_over(const struct habits *habits, instant now, bool is_closed)
{
    return is_closed || now >= habits->stop_at;
}

bool world_is_over(const struct world *w)
{
    instant now = w->scene.now;
    return is_host_over(&w->setup.submits, now, host_sender_is_closed(&w->sender)) &&
           is_host_over(&w->setup.posts, now, host_receiver_is_closed(&w->receiver));
}

static instant last_end(const struct user *user, instant last)
{
    for (uint32_t i = 0; i < user->begun; i++)
        if (user->entry[i].is_over && user->entry[i].ended > last)
            last = user->entry[i].ended;
    return last;
}

instant world_last_end(const struct world *w)
{
    return last_end(&w->receiver.user, last_end(&w->sender.user, 0));
}

static instant not_before(instant at, instant now)
{
    return at < now ? now : at;
}

/* What has come for a sender that is frozen stays on the link; a receiver has a socket of its own.
 */
static instant back_at(const struct world *w)
{
    instant at = not_before(link_next_at(&w->back), w->scene.now);
    return host_sender_awake_at(&w->sender, at);
}

instant world_next_at(struct world *w)
{
    instant now = w->scene.now;
    instant sender = not_before(host_sender_next_at(&w->sender), now);
    instant receiver = not_before(host_receiver_next_at(&w->receiver), now);
    instant next = instant_earlier(not_before(link_next_at(&w->out), now), back_at(w));
    next = instant_earlier(next, not_before(w->lies_at, now));
    next = instant_earlier(next, not_before(w->moves_at, now));
    next = instant_earlier(next, host_sender_awake_at(&w->sender, sender));
    return instant_earlier(next, host_receiver_awake_at(&w->receiver, receiver));
}

/* A stranger tells both ends that nobody listens at the other. */
static void lie(struct world *w)
{
    if (w->lies_at > w->scene.now)
        return;
    host_sender_refuse(&w->sender);
    host_receiver_refuse(&w->receiver);
    w->lies_at = w->scene.now + w->setup.lie_every;
    w->lies++;
}

/* Nothing passes from now on. */
static void leave_path(struct link *link)
{
    link_lose_all(link);
    link->conditions = (struct conditions){.loss_permille = 1000};
}

/* The sending host leaves its address, or is at the other one, as both ends know then. */
static void move(struct world *w)
{
    const struct move *m = &w->setup.move;
    const struct sender_config *c = &w->setup.sender;
    if (w->moves_at > w->scene.now)
        return;
    if (!w->is_under_way) {
        leave_path(&w->out);
        leave_path(&w->back);
        w->is_under_way = true;
        w->moves_at = m->at + m->gap;
        return;
    }
    w->out.conditions = m->out;
    w->back.conditions = m->back;
    w->moves_at = NEVER;
    sender_on_moved(w->sender.core, w->scene.now, c->unit_bytes, c->unit_most);
    receiver_on_moved(w->receiver.core, w->scene.now);
}

/* The network first. */
void world_step(struct world *w, instant now)
{
    w->scene.now = now;
    lie(w);
    move(w);
    while (link_next_at(&w->out) <= w->scene.now)
        link_run(&w->out);
    while (back_at(w) <= w->scene.now)
        link_run(&w->back);
    whole_ring_tend(&w->memory, sender_pairing(w->sender.core), receiver_pairing(w->receiver.core));
    host_receiver_run(&w->receiver);
    host_sender_run(&w->sender);
    w->steps++;
}

bool world_run_until(struct world *w, instant until)
{
    uint32_t still = 0;
    while (!w->scene.has_failed && !world_is_over(w)) {
        instant next = world_next_at(w);
        if (next > until)
            break;
        still = next == w->scene.now ? still + 1 : 0;
        scene_expect(&w->scene, still < STILL_MOST, "time stands still");
        world_step(w, next);
    }
    return !w->scene.has_failed;
}

bool world_run(struct world *w)
{
    if (!world_run_until(w, w->setup.limit))
        return false;
    scene_expect(&w->scene, world_is_over(w), "not finished at %.3f s",
                 (double)w->setup.limit / (double)SECOND);
    if (!w->scene.has_failed)
        verdict(w);
    return !w->scene.has_failed;
}
