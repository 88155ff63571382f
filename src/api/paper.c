/* The paper's API: one sender and one receiver a process (process.h), and the reason of the calling
 * thread's last failure. */
#include "link/message.h"
#include "link/process.h"

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
    if (descriptors == NULL)
        return ZCRP_ERROR_ARGUMENT;
    if (!side_change(side, SIDE_NONE, SIDE_OPENING))
        return ZCRP_ERROR_STARTED;
    int code = open(&side->entity, descriptors, NULL, 0);
    (void)side_change(side, SIDE_OPENING, code == ZCRP_OK ? SIDE_OPEN : SIDE_NONE);
    return code;
}

static int submit_side(struct side *side, struct zcrp_msg *message, nlong size)
{
    int code = side_use(side);

    if (code != ZCRP_OK)
        return code;
    code = zcrp_submit(side->entity, message, size);
    side_leave(side);
    return code;
}

static int stats_side(struct side *side, struct zcrp_stats *stats, size_t stats_size)
{
    if (side_use(side) != ZCRP_OK)
        return ZCRP_ERROR_NOT_STARTED;
    int code = zcrp_stats_sized(side->entity, stats, stats_size);
    side_leave(side);
    return code;
}

/* That the peer did not confirm is no failure of the paper's close. */
static int close_side(struct side *side)
{
    if (!side_change(side, SIDE_OPEN, SIDE_CLOSING))
        return ZCRP_ERROR_NOT_STARTED;
    side_await_unused(side);
    bool is_busy = zcrp_close(side->entity) == ZCRP_ERROR_BUSY;
    (void)side_change(side, SIDE_CLOSING, is_busy ? SIDE_OPEN : SIDE_NONE);
    return is_busy ? ZCRP_ERROR_BUSY : ZCRP_OK;
}

nbyte zcrp_send_init(int *file_descriptors)
{
    return is_success(open_side(process_sender(), zcrp_open_sender_sized, file_descriptors));
}

nbyte zcrp_rcv_init(int *file_descriptors)
{
    return is_success(open_side(process_receiver(), zcrp_open_receiver_sized, file_descriptors));
}

nbyte zcrp_send(struct zcrp_msg *message, nlong size)
{
    return is_success(submit_side(process_sender(), message, size));
}

nbyte zcrp_rcv(struct zcrp_msg *message, nlong size)
{
    return is_success(submit_side(process_receiver(), message, size));
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
    return is_success(close_side(process_sender()));
}

nbyte zcrp_rcv_close(void)
{
    return is_success(close_side(process_receiver()));
}

int zcrp_error(const struct zcrp_msg *message)
{
    return message == NULL ? last_error : message_code(message_of_const(message));
}

int zcrp_send_stats_sized(struct zcrp_stats *stats, size_t stats_size)
{
    return stats_side(process_sender(), stats, stats_size);
}

int zcrp_rcv_stats_sized(struct zcrp_stats *stats, size_t stats_size)
{
    return stats_side(process_receiver(), stats, stats_size);
}
