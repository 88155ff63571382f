/* Short stories, told by the simulator, against the expected ones. */
#include "../sim/world.h"
#include "../support/suite.h"
#include "trace.h"

struct story {
    const char *name;
    void (*change)(struct setup *setup);
};

static void clean(struct setup *setup)
{
    setup->submits.messages = setup->posts.messages = 3;
}

/* Datagrams out: 0 and 1 are hellos, 2 to 4 the units of message 0. Back: 0 is a cookie, 1 the
 * request, 2 and 3 acknowledge. */
static void one_loss(struct setup *setup)
{
    setup->out.lost_mask = 1 << 3;
}

/* A buffer that is left keeps the receiver from closing at once. */
static void lost_acknowledgement(struct setup *setup)
{
    setup->back.lost_mask = 1 << 2 | 1 << 3;
    setup->posts.messages = 3;
    setup->posts.close_at = 40 * MILLISECOND;
    setup->may_fail = true;
}

/* The first cookie, too; behind the second one it is datagram 2. */
static void lost_request(struct setup *setup)
{
    setup->back.lost_mask = 1 << 0 | 1 << 2;
}

static void reorder(struct setup *setup)
{
    setup->out.reorder_permille = 300;
    setup->out.reorder_by = 1;
}

static void duplicate(struct setup *setup)
{
    setup->out.duplicate_permille = 400;
}

static void no_buffer(struct setup *setup)
{
    setup->posts.start = 100 * MILLISECOND;
}

static void too_large(struct setup *setup)
{
    setup->submits.messages = setup->posts.messages = 3;
    setup->smaller_one_in = 2;
}

static void cancelled_by_sender(struct setup *setup)
{
    setup->submits.messages = setup->posts.messages = 3;
    setup->submits.cancel_index = 1;
    setup->submits.cancel_after = 4500 * MICROSECOND;
}

static void cancelled_by_receiver(struct setup *setup)
{
    setup->submits.messages = setup->posts.messages = 3;
    setup->posts.cancel_index = 1;
    setup->posts.cancel_after = 4500 * MICROSECOND;
}

static void silence(struct setup *setup)
{
    setup->posts.stop_at = 4500 * MICROSECOND;
    setup->may_fail = true;
}

static void closed_by_sender(struct setup *setup)
{
    setup->submits.messages = 1;
    setup->posts.messages = 2;
    setup->may_fail = true;
}

static void closed_by_receiver(struct setup *setup)
{
    setup->submits.messages = 2;
    setup->posts.messages = 1;
    setup->may_fail = true;
}

static void restart(struct setup *setup, struct habits *habits)
{
    setup->submits.messages = setup->posts.messages = 6;
    setup->submits.outstanding = setup->posts.outstanding = 2;
    setup->submits.close_at = setup->posts.close_at = 60 * MILLISECOND;
    habits->restart_at = 5500 * MICROSECOND;
    setup->may_fail = true;
}

static void restart_of_sender(struct setup *setup)
{
    restart(setup, &setup->submits);
}

static void restart_of_receiver(struct setup *setup)
{
    restart(setup, &setup->posts);
}

static const struct story stories[] = {
    {"clean", clean},
    {"one_loss", one_loss},
    {"lost_acknowledgement", lost_acknowledgement},
    {"lost_request", lost_request},
    {"reorder", reorder},
    {"duplicate", duplicate},
    {"no_buffer", no_buffer},
    {"too_large", too_large},
    {"cancelled_by_sender", cancelled_by_sender},
    {"cancelled_by_receiver", cancelled_by_receiver},
    {"silence", silence},
    {"closed_by_sender", closed_by_sender},
    {"closed_by_receiver", closed_by_receiver},
    {"restart_of_sender", restart_of_sender},
    {"restart_of_receiver", restart_of_receiver},
};
enum { STORIES = sizeof(stories) / sizeof(stories[0]) };

/* Two messages of three units each, a millisecond each way, a silence limit of half a second. */
static struct setup plain(void)
{
    struct setup setup = setup_plain(7);
    setup.submits.messages = setup.posts.messages = 2;
    setup.size = 4000;
    setup.sender.silence = setup.receiver.silence = SECOND / 2;
    return setup;
}

/* The story as text; to be freed. */
static char *tell(const struct story *story)
{
    char *text = NULL;
    size_t size = 0;
    FILE *log = open_memstream(&text, &size);
    struct setup setup = plain();
    story->change(&setup);
    struct world *world = world_create(&setup, log);
    bool is_right = world_run(world);
    fclose(log);
    ck_assert_msg(is_right, "%s: %s\n%s", story->name, world->scene.failure, text);
    world_destroy(world);
    return text;
}

TEST(golden__as_told, .rows = STORIES)
{
    char *told = tell(&stories[_i]);
    trace_expect(stories[_i].name, told);
    free(told);
}
