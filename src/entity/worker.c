#include "worker.h"

#include "turns.h"

struct duty {
    const char *name;
    bool (*rest)(struct zcrp_entity *e);
    void (*turn)(struct zcrp_entity *e);
};

static const struct duty sending = {"zcrp-sending", sending_rest, sending_turn};
static const struct duty update = {"zcrp-update", arriving_rest, update_turn};
static const struct duty receiving = {"zcrp-receiving", arriving_rest, receiving_turn};
static const struct duty timeout = {"zcrp-timeout", timeout_rest, timeout_turn};

static const struct duty *const duties[][WORKERS_MOST] = {
    [MACHINE_SENDER] = {&sending, &update, &timeout},
    [MACHINE_RECEIVER] = {&receiving, &timeout},
};

static void run(void *context)
{
    const struct worker *w = context;

    while (w->duty->rest(w->entity))
        w->duty->turn(w->entity);
}

int worker_start_all(struct zcrp_entity *e)
{
    const struct duty *const *duty = duties[e->machine.role];

    for (int i = 0; i < WORKERS_MOST && duty[i] != NULL; i++) {
        struct worker *w = &e->workers[i];
        *w = (struct worker){.duty = duty[i], .entity = e};
        int error = thread_start(&w->thread, w->duty->name, run, w);
        if (error) {
            worker_stop_all(e);
            return error;
        }
        e->worker_count = i + 1;
    }
    return 0;
}

void worker_stop_all(struct zcrp_entity *e)
{
    entity_enter(e);
    e->is_stopping = true;
    entity_leave(e);
    wake_signal(&e->stop);
    condition_signal(&e->helm.parked);
    for (int i = 0; i < e->worker_count; i++)
        thread_join(&e->workers[i].thread);
    e->worker_count = 0;
}
