#include "helm.h"

#include "platform/system.h"

void helm_init(struct helm *helm, duration spin)
{
    *helm = (struct helm){.arm_at = NEVER};
    spin_init(&helm->spin, spin);
}

/* The one place that moves the state. */
static void helm_move(struct helm *helm, enum helm_state state)
{
    atomic_store(&helm->state, (int)state);
}

bool helm_take(struct helm *helm, struct wake *wake)
{
    bool is_ours = helm_state(helm) == HELM_FREE && !helm->is_closed;

    if (is_ours) {
        atomic_store(&helm->wake, wake);
        helm_move(helm, HELM_AWAKE);
        for (struct sleeper *s = helm->sleepers; s != NULL; s = s->next)
            s->is_called = false; /* whoever was called comes too late, and is called again */
    }
    return is_ours;
}

void helm_sleep(struct helm *helm, instant due)
{
    atomic_store(&helm->due, due);
    helm_move(helm, HELM_ASLEEP);
}

/* By the waiter itself, which alone sets it. */
void helm_sleep_until(struct helm *helm, instant due)
{
    if (due < atomic_load(&helm->due))
        atomic_store(&helm->due, due);
}

void helm_wake_up(struct helm *helm)
{
    helm_move(helm, HELM_AWAKE);
}

void helm_leave(struct helm *helm)
{
    helm_move(helm, HELM_FREE);
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
    return helm->is_let_be && clock_now() < helm->arm_at;
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

struct latch *helm_hand_over(struct helm *helm)
{
    if (helm_state(helm) != HELM_FREE)
        return NULL;
    if (helm->sleepers != NULL && !helm->is_closed) {
        struct sleeper *s = next_to_call(helm);
        if (s == NULL)
            return NULL; /* one was called already */
        s->is_called = true;
        helm->arm_at = NEVER;
        return latch_call(s->latch) ? s->latch : NULL;
    }
    if (helm->is_let_be && helm->arm_at == NEVER)
        helm->arm_at = clock_now() + HELM_TICK;
    return NULL;
}

bool helm_lets_be(struct helm *helm)
{
    bool is_looked_after = helm_state(helm) != HELM_FREE;

    if (is_looked_after) {
        helm->is_let_be = true;
        helm->arm_at = NEVER;
    }
    return is_looked_after;
}

/* A waiter that is there meanwhile has it done when it leaves. */
bool helm_arms(struct helm *helm, instant now)
{
    if (!helm->is_let_be || now < helm->arm_at)
        return false;
    bool is_free = helm_state(helm) == HELM_FREE;
    helm->arm_at = NEVER;
    helm->is_let_be = !is_free;
    return is_free;
}

void helm_close(struct helm *helm)
{
    helm->is_closed = true;
}
