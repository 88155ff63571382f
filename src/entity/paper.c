/* The paper's API: one sender and one receiver a process, and the reason of the calling thread's
 * last failure. */
#include "paper.h"

#include "message.h"
#include "platform/thread.h"

enum side_state { SIDE_NONE, SIDE_OPENING, SIDE_OPEN, SIDE_CLOSING };

/* The process's sender, or receiver. Its mutex is held to look and to count, never while the entity
 * is opened, used or closed. */
struct side {
    enum side_state state;
    struct zcrp_entity *entity; /* good while OPEN, or in use */
    unsigned users;             /* calls that use the entity just now; closing waits for them */
    struct condition unused;    /* while CLOSING: users has come to 0 */
};

static struct mutex mutex = {PTHREAD_MUTEX_INITIALIZER};
static struct side sending = {.unused = {PTHREAD_COND_INITIALIZER}};
static struct side receiving = {.unused = {PTHREAD_COND_INITIALIZER}};

static _Thread_local int last_error = ZCRP_OK;

/* Turns a code into the paper's 1 or 0. */
static nbyte is_success(int code)
{
    if (code != ZCRP_OK)
        last_error = code;
    return code == ZCRP_OK;
}

/* From one state to another; false if it is not in the first. */
static bool side_change(struct side *side, enum side_state from, enum side_state to)
{
    mutex_lock(&mutex);
    bool is_so = side->state == from;
    if (is_so)
        side->state = to;
    mutex_unlock(&mutex);
    return is_so;
}

typedef int (*open_entity)(struct zcrp_entity **entity, const int descriptors[2],
                           const struct zcrp_options *options, size_t options_size);

static int side_open(struct side *side, open_entity open, const int *descriptors)
{
    if (descriptors == NULL)
        return ZCRP_ERROR_ARGUMENT;
    if (!side_change(side, SIDE_NONE, SIDE_OPENING))
        return ZCRP_ERROR_STARTED;
    int code = open(&side->entity, descriptors, NULL, 0);
    (void)side_change(side, SIDE_OPENING, code == ZCRP_OK ? SIDE_OPEN : SIDE_NONE);
    return code;
}

/* Counts the caller in. */
static int side_use(struct side *side)
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

static void side_leave(struct side *side)
{
    mutex_lock(&mutex);
    side->users--;
    if (side->users == 0)
        condition_broadcast(&side->unused);
    mutex_unlock(&mutex);
}

static int side_submit(struct side *side, struct zcrp_msg *message, nlong size)
{
    int code = side_use(side);

    if (code != ZCRP_OK)
        return code;
    code = zcrp_submit(side->entity, message, size);
    side_leave(side);
    return code;
}

static int side_stats(struct side *side, struct zcrp_stats *stats, size_t stats_size)
{
    if (side_use(side) != ZCRP_OK)
        return ZCRP_ERROR_NOT_STARTED;
    int code = zcrp_stats_sized(side->entity, stats, stats_size);
    side_leave(side);
    return code;
}

/* That the peer did not confirm is no failure of the paper's close. */
static int side_close(struct side *side)
{
    if (!side_change(side, SIDE_OPEN, SIDE_CLOSING))
        return ZCRP_ERROR_NOT_STARTED;
    mutex_lock(&mutex);
    while (side->users > 0)
        (void)condition_wait(&side->unused, &mutex, NEVER);
    mutex_unlock(&mutex);
    (void)zcrp_close(side->entity);
    (void)side_change(side, SIDE_CLOSING, SIDE_NONE);
    return ZCRP_OK;
}

nbyte zcrp_send_init(int *file_descriptors)
{
    return is_success(side_open(&sending, zcrp_open_sender_sized, file_descriptors));
}

nbyte zcrp_rcv_init(int *file_descriptors)
{
    return is_success(side_open(&receiving, zcrp_open_receiver_sized, file_descriptors));
}

nbyte zcrp_send(struct zcrp_msg *message, nlong size)
{
    return is_success(side_submit(&sending, message, size));
}

nbyte zcrp_rcv(struct zcrp_msg *message, nlong size)
{
    return is_success(side_submit(&receiving, message, size));
}

nlong zcrp_wait(struct zcrp_msg *message)
{
    return is_success(zcrp_wait_for(message, -1));
}

nbyte zcrp_probe(struct zcrp_msg *message)
{
    int code = message == NULL ? ZCRP_ERROR_ARGUMENT : message_code(message_of(message));
    bool has_ended =
        code != ZCRP_ERROR_ARGUMENT && code != ZCRP_ERROR_BUSY && code != ZCRP_ERROR_IDLE;

    return has_ended ? 1 : is_success(code);
}

nbyte zcrp_send_close(void)
{
    return is_success(side_close(&sending));
}

nbyte zcrp_rcv_close(void)
{
    return is_success(side_close(&receiving));
}

int zcrp_error(const struct zcrp_msg *message)
{
    return message == NULL ? last_error : message_code(message_of_const(message));
}

int zcrp_send_stats_sized(struct zcrp_stats *stats, size_t stats_size)
{
    return side_stats(&sending, stats, stats_size);
}

int zcrp_rcv_stats_sized(struct zcrp_stats *stats, size_t stats_size)
{
    return side_stats(&receiving, stats, stats_size);
}

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

void paper_after_fork(void)
{
    mutex_init(&mutex);
    side_after_fork(&sending);
    side_after_fork(&receiving);
}
