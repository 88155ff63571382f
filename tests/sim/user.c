#include "user.h"

#include "chance.h"

#include <inttypes.h>
#include <stdlib.h>

void user_init(struct user *user, struct scene *scene, const struct habits *habits,
               const char *name)
{
    *user = (struct user){.scene = scene, .habits = habits, .name = name, .next_at = habits->start};
    user->entry = calloc(habits->messages + 1, sizeof(*user->entry));
}

void user_fini(struct user *user)
{
    for (uint32_t i = 0; i < user->habits->messages; i++)
        shadow_fini(&user->entry[i].shadow);
    free(user->entry);
}

static bool may_begin(const struct user *user)
{
    bool is_opening = user->habits->opens_alone && user->begun == 1 && user->over == 0;
    return !user->is_closing && !is_opening && user->begun < user->habits->messages &&
           user->begun - user->over < user->habits->outstanding;
}

bool user_is_done(const struct user *user)
{
    return user->begun == user->habits->messages && user->over == user->begun;
}

static instant close_at(const struct user *user)
{
    if (user->is_closing)
        return NEVER;
    return user_is_done(user) ? user->scene->now : user->habits->close_at;
}

static instant begin_at(const struct user *user)
{
    instant now = user->scene->now;
    if (!may_begin(user))
        return NEVER;
    return absence_end(&user->habits->idle, user->next_at > now ? user->next_at : now);
}

instant user_next_at(const struct user *user)
{
    instant next = begin_at(user);
    next = instant_earlier(next, close_at(user));
    if (!user->was_restarted)
        next = instant_earlier(next, user->habits->restart_at);
    for (uint32_t i = user->oldest; i < user->begun; i++)
        if (!user->entry[i].is_over)
            next = instant_earlier(next, user->entry[i].cancel_at);
    return next;
}

struct entry *user_wants(struct user *user)
{
    if (begin_at(user) > user->scene->now)
        return NULL;
    struct entry *entry = &user->entry[user->begun];
    entry->index = user->begun;
    entry->cancel_at = NEVER;
    return entry;
}

static bool is_to_be_cancelled(struct user *user, uint32_t index)
{
    return index == user->habits->cancel_index ||
           chance_one_in(&user->scene->random, user->habits->cancel_one_in);
}

void user_on_begun(struct user *user, struct entry *entry)
{
    const struct habits *habits = user->habits;
    struct scene *scene = user->scene;
    bool is_chosen = entry->index == habits->cancel_index;
    user->begun++;
    user->next_at = scene->now + scene_some(scene, habits->pause);
    if (is_to_be_cancelled(user, entry->index))
        entry->cancel_at = scene->now + (is_chosen ? habits->cancel_after
                                                   : scene_some(scene, habits->cancel_after));
}

struct entry *user_takes_back(struct user *user)
{
    for (uint32_t i = user->oldest; i < user->begun; i++) {
        struct entry *entry = &user->entry[i];
        if (entry->is_over || entry->cancel_at > user->scene->now)
            continue;
        entry->cancel_at = NEVER;
        return entry;
    }
    return NULL;
}

bool user_closes(struct user *user)
{
    if (user->is_closing || close_at(user) > user->scene->now)
        return false;
    user->is_closing = true;
    return true;
}

bool user_restarts(struct user *user)
{
    if (user->was_restarted || user->habits->restart_at > user->scene->now)
        return false;
    user->was_restarted = true;
    return true;
}

static void end(struct user *user, struct entry *entry)
{
    entry->is_over = true;
    entry->ended = user->scene->now;
    user->over++;
    while (user->oldest < user->begun && user->entry[user->oldest].is_over)
        user->oldest++;
}

void user_on_event(struct user *user, const struct event *event)
{
    struct entry *entry = event->user;
    scene_tell(user->scene, user->name, "* message %" PRIu32 ": %s, %" PRIu64 " bytes",
               entry->index, scene_outcome(event->outcome), event->length);
    scene_expect(user->scene, !entry->is_over, "%s: message %" PRIu32 " ended twice", user->name,
                 entry->index);
    if (entry->is_over)
        return;
    entry->outcome = event->outcome;
    entry->length = event->length;
    end(user, entry);
}

void user_on_death(struct user *user)
{
    for (uint32_t i = user->oldest; i < user->begun; i++) {
        struct entry *entry = &user->entry[i];
        if (entry->is_over)
            continue;
        entry->is_abandoned = true;
        end(user, entry);
    }
}
