#include "process.h"

#include "channels.h"
#include "collection.h"
#include "entity.h"
#include "platform/pages.h"
#include "platform/system.h"
#include "platform/waking.h"
#include "statsfile/board.h"
#include "zcrp.h"

static struct mutex mutex = {.handle = PTHREAD_MUTEX_INITIALIZER};
static struct side sending = {.unused = {PTHREAD_COND_INITIALIZER}};
static struct side receiving = {.unused = {PTHREAD_COND_INITIALIZER}};

struct side *process_sender(void)
{
    return &sending;
}

struct side *process_receiver(void)
{
    return &receiving;
}

bool side_change(struct side *side, enum side_state from, enum side_state to)
{
    mutex_lock(&mutex);
    bool is_so = side->state == from;
    if (is_so)
        side->state = to;
    mutex_unlock(&mutex);
    return is_so;
}

int side_use(struct side *side)
{
    int code = ZCRP_OK;

    mutex_lock(&mutex);
    if (side->state == SIDE_CLOSING)
        code = ZCRP_ERROR_CLOSED;
    else if (side->state != SIDE_OPEN)
        code = ZCRP_ERROR_NOT_STARTED;
    else
        side->users++;
    mutex_unlock(&mutex);
    return code;
}

void side_leave(struct side *side)
{
    mutex_lock(&mutex);
    side->users--;
    if (side->users == 0)
        condition_broadcast(&side->unused);
    mutex_unlock(&mutex);
}

void side_await_unused(struct side *side)
{
    mutex_lock(&mutex);
    while (side->users > 0)
        (void)condition_wait(&side->unused, &mutex, NEVER);
    mutex_unlock(&mutex);
}

/* ---- calls that are refused ---- */

static _Thread_local bool runs_trace;

int process_refusal(uint32_t generation)
{
    if (generation != forked_generation())
        return ZCRP_ERROR_FORKED;
    return runs_trace ? ZCRP_ERROR_TRACE : ZCRP_OK;
}

void process_set_tracing(bool is_tracing)
{
    runs_trace = is_tracing;
}

/* ---- forks ---- */

/* What another thread of the parent's was opening or closing stays as it was before. */
static void side_after_fork(struct side *side)
{
    side->users = 0;
    condition_init(&side->unused);
    if (side->state == SIDE_OPENING)
        side->state = SIDE_NONE;
    else if (side->state == SIDE_CLOSING)
        side->state = SIDE_OPEN;
}

static void after_fork(void)
{
    bell_after_fork();
    board_after_fork();
    collection_after_fork();
    channels_after_fork();
    engine_after_fork();
    entity_after_fork();
    workspace_after_fork();
    pages_after_fork();
    mutex_init(&mutex);
    side_after_fork(&sending);
    side_after_fork(&receiving);
}

void process_watch_forks(void)
{
    forked_watch(after_fork);
}
