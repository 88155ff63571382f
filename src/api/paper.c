/* The paper's API: one sender and one receiver a process, and the reason of the calling thread's
 * last failure. */
#include "core/check.h"
#include "link/codes.h"
#include "link/entity.h"
#include "link/message.h"
#include "link/process.h"
#include "platform/thread.h"
#include "probe.h"

#include <pthread.h>

enum side_state { SIDE_NONE, SIDE_OPENING, SIDE_OPEN, SIDE_CLOSING };

/* The process's sender, or receiver. One mutex guards both; it is held to look and to count, never
 * while the entity is opened, used or closed. */
struct side {
    enum side_state state;
    struct zcrp_entity *entity; /* good while OPEN, or in use */
    unsigned users;             /* calls that use the entity just now; closing waits for them */
    struct condition unused;    /* while CLOSING: users has come to 0 */
};

static struct mutex mutex;
static struct side sending;
static struct side receiving;

/* ---- a side ---- */

/* From one state to another; false if it is not in the first. */
static bool change(struct side *side, enum side_state from, enum side_state to)
{
    mutex_lock(&mutex);
    bool is_so = side->state == from;
    if (is_so)
        side->state = to;
    mutex_unlock(&mutex);
    return is_so;
}

/* Counts the caller in, until `leave`. */
static int use(struct side *side)
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

static void leave(struct side *side)
{
    mutex_lock(&mutex);
    side->users--;
    if (side->users == 0)
        condition_broadcast(&side->unused);
    mutex_unlock(&mutex);
}

/* While CLOSING. */
static void await_unused(struct side *side)
{
    mutex_lock(&mutex);
    while (side->users > 0)
        (void)condition_wait(&side->unused, &mutex, NEVER);
    mutex_unlock(&mutex);
}

/* What another thread of the parent's was opening or closing is not there; its memory is left. */
static void side_after_fork(struct side *side)
{
    side->users = 0;
    condition_init(&side->unused);
    if (side->state != SIDE_OPEN)
        side->state = SIDE_NONE;
}

static void after_fork(void)
{
    mutex_init(&mutex);
    side_after_fork(&sending);
    side_after_fork(&receiving);
}

static void watch_forks(void)
{
    CHECK(pthread_atfork(NULL, NULL, after_fork) == 0);
}

/* ---- calls ---- */

static _Thread_local int last_error = ZCRP_OK;

/* Turns a code into the paper's 1 or 0. */
static nbyte is_success(int code)
{
    if (code != ZCRP_OK)
        last_error = code;
    return code == ZCRP_OK;
}

typedef int (*open_entity)(struct zcrp_entity **entity, const int descriptors[2],
                           const struct zcrp_options *options, size_t options_size);

static int open_side(struct side *side, open_entity open, const int *descriptors)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (descriptors == NULL)
        return code_of_null("file_descriptors");
    CHECK(pthread_once(&once, watch_forks) == 0);
    if (!change(side, SIDE_NONE, SIDE_OPENING))
        return ZCRP_ERROR_STARTED;
    int code = open(&side->entity, descriptors, NULL, 0);
    (void)change(side, SIDE_OPENING, code == ZCRP_OK ? SIDE_OPEN : SIDE_NONE);
    return code;
}

static int submit_side(struct side *side, struct zcrp_msg *message, nlong size)
{
    int code = use(side);

    if (code != ZCRP_OK)
        return code;
    code = zcrp_submit(side->entity, message, size);
    leave(side);
    return code;
}

/* That the peer did not confirm is no failure of the paper's close. */
static int close_side(struct side *side)
{
    int code = process_refusal(forked_generation());

    if (code != ZCRP_OK)
        return code;
    if (!change(side, SIDE_OPEN, SIDE_CLOSING))
        return ZCRP_ERROR_NOT_STARTED;
    await_unused(side);
    bool is_busy = zcrp_close(side->entity) == ZCRP_ERROR_BUSY;
    (void)change(side, SIDE_CLOSING, is_busy ? SIDE_OPEN : SIDE_NONE);
    return is_busy ? ZCRP_ERROR_BUSY : ZCRP_OK;
}

nbyte zcrp_send_init(int *file_descriptors)
{
    return is_success(open_side(&sending, zcrp_open_sender_sized, file_descriptors));
}

nbyte zcrp_rcv_init(int *file_descriptors)
{
    return is_success(open_side(&receiving, zcrp_open_receiver_sized, file_descriptors));
}

nbyte zcrp_send(struct zcrp_msg *message, nlong size)
{
    return is_success(submit_side(&sending, message, size));
}

nbyte zcrp_rcv(struct zcrp_msg *message, nlong size)
{
    return is_success(submit_side(&receiving, message, size));
}

nlong zcrp_wait(struct zcrp_msg *message)
{
    return is_success(zcrp_wait_for(message, -1));
}

/* A message that is in flight may end because this thread receives. */
static int ask(struct message *m)
{
    struct zcrp_entity *e = process_refusal(m->generation) == ZCRP_OK ? entity_visit(m) : NULL;

    if (e != NULL) {
        entity_say_awaited(e);
        probe_receive(e);
        entity_depart(e);
    }
    return message_code(m);
}

nbyte zcrp_probe(struct zcrp_msg *message)
{
    if (message == NULL)
        return is_success(code_of_null("message"));
    int code = message_code(message_of(message));
    if (code == ZCRP_ERROR_BUSY)
        code = ask(message_of(message));
    bool has_ended = code != ZCRP_ERROR_BUSY && code != ZCRP_ERROR_IDLE;

    return has_ended ? 1 : is_success(code);
}

nbyte zcrp_send_close(void)
{
    return is_success(close_side(&sending));
}

nbyte zcrp_rcv_close(void)
{
    return is_success(close_side(&receiving));
}

int zcrp_error(const struct zcrp_msg *message)
{
    return message == NULL ? last_error : message_code(message_of_const(message));
}
