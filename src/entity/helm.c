#include "helm.h"

#include "platform/system.h"

static const duration TICK = 250 * MICROSECOND;
static const duration LOOK_MOST = 4 * MILLISECOND;

int helm_init(struct helm *helm, duration spin)
{
    *helm = (struct helm){.left = -TICK};
    spin_init(&helm->spin, spin);
    int error = wake_init(&helm->wake);
    if (!error)
        condition_init(&helm->parked);
    return error;
}

void helm_fini(struct helm *helm)
{
    condition_fini(&helm->parked);
    wake_fini(&helm->wake);
}

/* The one place that moves the state. */
static void helm_move(struct helm *helm, enum helm_state state)
{
    atomic_store(&helm->state, (int)state);
}

bool helm_take(struct helm *helm)
{
    bool is_ours = helm_state(helm) == HELM_FREE && !helm->is_closed;

    if (is_ours)
        helm_move(helm, HELM_AWAKE);
    return is_ours;
}

void helm_sleep(struct helm *helm, instant due)
{
    helm->due = due;
    helm->sleeps++;
    helm_move(helm, HELM_ASLEEP);
}

void helm_wake_up(struct helm *helm)
{
    helm_move(helm, HELM_AWAKE);
    if (helm->parking == PARKING_LONG)
        condition_signal(&helm->parked);
}

void helm_leave(struct helm *helm)
{
    helm_move(helm, HELM_FREE);
    helm->left = clock_now();
}

void helm_call(struct helm *helm)
{
    if (helm_state(helm) == HELM_ASLEEP)
        wake_signal(&helm->wake);
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
    return helm->parking != PARKING_NONE && clock_now() < helm->left + TICK;
}

/* Until the next look; without limit if the waiter has slept since the last one, and looks are as
 * rare as they get. A shorter sleep ends before the thread parks for long, and so without a call.
 */
static void park_once(struct helm *helm, struct mutex *mutex, duration look, uint64_t sleep_seen)
{
    bool is_long = helm_state(helm) == HELM_ASLEEP && helm->sleeps == sleep_seen;

    helm->parking = is_long && look == LOOK_MOST ? PARKING_LONG : PARKING_LOOKS;
    instant until = helm->parking == PARKING_LONG ? NEVER : clock_now() + look;
    (void)condition_wait(&helm->parked, mutex, until);
    helm->parking = PARKING_LOOKS;
}

void helm_park(struct helm *helm, struct mutex *mutex)
{
    duration look = TICK;
    uint64_t sleep_seen = 0;

    helm->parking = PARKING_LOOKS;
    while (!helm->is_closed && (helm_state(helm) != HELM_FREE || helm_is_attended(helm))) {
        uint64_t sleep = helm->sleeps;
        park_once(helm, mutex, look, sleep_seen);
        look = 2 * look < LOOK_MOST ? 2 * look : LOOK_MOST;
        sleep_seen = sleep;
    }
    helm->parking = PARKING_NONE;
}

void helm_close(struct helm *helm)
{
    helm->is_closed = true;
    condition_signal(&helm->parked);
}
