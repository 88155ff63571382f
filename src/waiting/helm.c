#include "helm.h"

#include "platform/system.h"

void helm_init(struct helm *helm, duration spin)
{
    *helm = (struct helm){.look_at = NEVER, .left = -HELM_TICK};
    spinning_init(&helm->spinning, spin);
}

/* The one place that moves the state. */
static void helm_move(struct helm *helm, enum helm_state state)
{
    atomic_store(&helm->state, (int)state);
}

/* The mean of the last few; a long one counts as HELM_TICK. */
static void note_absence(struct helm *helm, duration absence)
{
    if (absence > HELM_TICK)
        absence = HELM_TICK;
    helm->absence += (absence - helm->absence) / 4;
}

bool helm_take(struct helm *helm, struct wake *wake)
{
    bool is_ours = helm_state(helm) == HELM_FREE && !helm->is_closed;

    if (is_ours) {
        atomic_store(&helm->wake, wake);
        helm_move(helm, HELM_AWAKE);
        note_absence(helm, clock_now() - helm->left);
        for (struct sleeper *s = helm->sleepers; s != NULL; s = s->next)
            s->is_called = false; /* whoever was called comes too late, and is called again */
    }
    return is_ours;
}

/* A waiter is there: that is what a look would find. */
static void forget_look(struct helm *helm)
{
    helm->look_at = NEVER;
    helm->look = 2 * helm->look < HELM_LOOK_MOST ? 2 * helm->look : HELM_LOOK_MOST;
}

void helm_sleep(struct helm *helm, instant due)
{
    if (helm->look_at != NEVER)
        forget_look(helm);
    atomic_store(&helm->due, due);
    helm_move(helm, HELM_ASLEEP);
}

void helm_wake_up(struct helm *helm)
{
    helm_move(helm, HELM_AWAKE);
}

void helm_leave(struct helm *helm)
{
    helm_move(helm, HELM_FREE);
    helm->left = clock_now();
}

void helm_call(struct helm *helm)
{
    if (helm_state(helm) == HELM_ASLEEP)
        wake_signal(atomic_load(&helm->wake));
}

void helm_call_before(struct helm *helm, instant due)
{
    if (helm_state(helm) == HELM_ASLEEP && due < atomic_load(&helm->due))
        wake_signal(atomic_load(&helm->wake));
}

bool helm_is_attended(const struct helm *helm)
{
    switch (helm_state(helm)) {
    case HELM_AWAKE:
        return true;
    case HELM_ASLEEP:
        return false;
    case HELM_FREE:
        break;
    }
    return helm->is_let_be && clock_now() < helm->left + HELM_TICK;
}

void helm_add_sleeper(struct helm *helm, struct sleeper *sleeper)
{
    sleeper->is_called = false;
    sleeper->next = helm->sleepers;
    helm->sleepers = sleeper;
}

void helm_remove_sleeper(struct helm *helm, struct sleeper *sleeper)
{
    struct sleeper **at = &helm->sleepers;

    while (*at != sleeper)
        at = &(*at)->next;
    *at = sleeper->next;
}

/* The one that has slept longest and was not called; NULL if one was, or nobody sleeps. */
static struct sleeper *next_to_call(const struct helm *helm)
{
    struct sleeper *next = NULL;

    for (struct sleeper *s = helm->sleepers; s != NULL; s = s->next) {
        if (s->is_called)
            return NULL;
        next = s;
    }
    return next;
}

/* From now on it is armed. */
static void stop_looking(struct helm *helm)
{
    helm->is_let_be = false;
    helm->look_at = NEVER;
}

struct handover helm_hand_over(struct helm *helm)
{
    struct handover over = {.called = NULL};

    if (helm_state(helm) != HELM_FREE)
        return over;
    if (helm->sleepers != NULL && !helm->is_closed) {
        struct sleeper *s = next_to_call(helm);
        if (s == NULL)
            return over; /* one was called already */
        s->is_called = true;
        over.called = latch_call(s->latch) ? s->latch : NULL;
        return over;
    }
    over.must_arm = helm->is_let_be && helm->absence >= HELM_AT_ONCE;
    if (over.must_arm)
        stop_looking(helm);
    else if (helm->is_let_be && helm->look_at == NEVER)
        helm->look_at = clock_now() + helm->look;
    return over;
}

bool helm_lets_be(struct helm *helm)
{
    bool is_looked_after = helm_state(helm) != HELM_FREE;

    if (is_looked_after && !helm->is_let_be) {
        helm->is_let_be = true;
        helm->look = HELM_TICK;
    }
    return is_looked_after;
}

bool helm_arms(struct helm *helm, instant now)
{
    if (now < helm->look_at)
        return false;
    if (helm_state(helm) == HELM_FREE && now < helm->left + HELM_TICK) {
        helm->look_at = helm->left + HELM_TICK;
        return false;
    }
    if (helm_state(helm) == HELM_FREE) {
        stop_looking(helm);
        return true;
    }
    forget_look(helm);
    return false;
}

void helm_close(struct helm *helm)
{
    helm->is_closed = true;
}
