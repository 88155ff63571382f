#include "line.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/complain.h"

enum { FAREWELL_S = 2, GOING_MS = 200, PIPE_ROOM = 64 << 10, AGAIN_US = 10000 };

static const int64_t tick_ns = 100000000;
static const int64_t last_words_ns = 1000000000;

void line_init(struct line *line, struct zcrp_connection *connection)
{
    line->connection = connection;
    line->sender = zcrp_connection_sender(connection);
    line->receiver = zcrp_connection_receiver(connection);
}

void line_fini(struct line *line)
{
    while (zcrp_connection_close(line->connection) == ZCRP_ERROR_BUSY)
        (void)usleep(AGAIN_US);
    line->connection = NULL;
}

void line_take_back(struct zcrp_msg *message)
{
    while (message != NULL && zcrp_cancel(message) == ZCRP_ERROR_BUSY)
        (void)usleep(AGAIN_US);
}

void line_end_waits(struct line *line, enum line_stop why)
{
    int goes = LINE_GOES;

    (void)atomic_compare_exchange_strong(&line->stop, &goes, (int)why);
}

/* As line_stopped; waits for that at most `most_ms`. What is written there meanwhile is passed
 * over, a pipe full at a time, so that nobody can keep the line busy with it. */
static enum line_stop look(struct line *line, int most_ms)
{
    struct pollfd place = {.fd = line->watched, .events = POLLIN};
    char nothing[PIPE_ROOM];

    if (line->on_end != LINE_GOES && atomic_load(&line->stop) == LINE_GOES &&
        poll(&place, 1, most_ms) > 0) {
        ssize_t count = read(line->watched, nothing, sizeof(nothing));

        if (count == 0 || (count < 0 && errno != EINTR)) {
            line_end_waits(line, line->on_end);
            if (line->on_end == LINE_INTERRUPTED)
                (void)alarm(FAREWELL_S);
        }
    }
    return (enum line_stop)atomic_load(&line->stop);
}

enum line_stop line_stopped(struct line *line)
{
    return look(line, 0);
}

int line_wait(struct line *line, struct zcrp_msg *message, int64_t most_ns)
{
    int64_t end = most_ns < 0 ? INT64_MAX : clock_now_ns() + most_ns;

    for (;;) {
        int64_t left = end == INT64_MAX ? tick_ns : end - clock_now_ns();
        int code = zcrp_wait_for(message, left < 0 ? 0 : left < tick_ns ? left : tick_ns);

        enum line_stop stop =
            code == 0 ? (enum line_stop)atomic_load(&line->stop) : line_stopped(line);
        if (stop == LINE_LEFT && code != 0) /* what it said last may still be on its way */
            code = zcrp_wait_for(message, last_words_ns);
        if (stop == LINE_INTERRUPTED || (stop == LINE_LEFT && code != 0))
            return ZCRP_ERROR_INTERRUPTED;
        if (line->tick != NULL)
            line->tick(line->context);
        if (code != ZCRP_ERROR_INTERRUPTED && (code != ZCRP_ERROR_TIMEOUT || left <= 0))
            return code;
    }
}

bool line_is_over(int code)
{
    return code != 0 && code != ZCRP_ERROR_FAULT && code != ZCRP_ERROR_PEER_CANCELLED &&
           code != ZCRP_ERROR_CANCELLED;
}

enum line_end line_complain(struct line *line, int code)
{
    /* A near end that gives up closes first, and then is gone. */
    if (look(line, line->on_end == LINE_INTERRUPTED ? GOING_MS : 0) != LINE_GOES)
        return LINE_STOPPED;
    if (code != LINE_BROKEN)
        (void)complain("%s%sthe copy broke off: %s", line->host != NULL ? line->host : "",
                       line->host != NULL ? ": " : "", zcrp_explain(code));
    return LINE_FAILED;
}

/* ---- the first message each way ---- */

/* Frees a message that may be in flight. */
static void drop(struct zcrp_msg *message)
{
    line_take_back(message);
    zcrp_free_msg(message);
}

int line_send_first(struct line *line, struct zcrp_msg *message, size_t length, int64_t most_ns)
{
    int code = zcrp_submit(line->sender, message, length);

    if (code == 0)
        code = line_wait(line, message, most_ns);
    drop(message);
    return code;
}

struct zcrp_msg *line_receive_first(struct line *line, int64_t most_ns, int *code)
{
    struct zcrp_msg *message = zcrp_alloc_msg(OPEN_ROOM);

    *code = message != NULL ? 0 : ZCRP_ERROR_MEMORY;
    if (message != NULL)
        *code = zcrp_submit(line->receiver, message, OPEN_ROOM);
    if (*code == 0)
        *code = line_wait(line, message, most_ns);
    if (*code == 0)
        return message;
    drop(message);
    return NULL;
}

/* ---- what is received ---- */

int inbox_init(struct inbox *inbox, struct line *line)
{
    int code = 0;

    *inbox = (struct inbox){.line = line};
    for (int i = 0; i < INBOX_MOST && code == 0; i++) {
        inbox->ring[i] = zcrp_alloc_msg(REQUEST_ROOM);
        code = inbox->ring[i] != NULL ? zcrp_submit(line->receiver, inbox->ring[i], REQUEST_ROOM)
                                      : ZCRP_ERROR_MEMORY;
    }
    if (code != 0)
        inbox_fini(inbox);
    return code;
}

void inbox_fini(struct inbox *inbox)
{
    for (int i = 0; i < INBOX_MOST; i++) {
        drop(inbox->ring[i]);
        inbox->ring[i] = NULL;
    }
}

struct zcrp_msg *inbox_receive(struct inbox *inbox, int64_t most_ns, int *code)
{
    struct zcrp_msg *message = inbox->ring[inbox->next];

    *code = line_wait(inbox->line, message, most_ns);
    return *code == 0 ? message : NULL;
}

int inbox_put_back(struct inbox *inbox)
{
    struct zcrp_msg *message = inbox->ring[inbox->next];

    inbox->next = (inbox->next + 1) % INBOX_MOST;
    return zcrp_submit(inbox->line->receiver, message, REQUEST_ROOM);
}

/* ---- what is sent ---- */

/* What all copies of this process have. */
static atomic_size_t all_bytes;

static bool is_own(const struct sent *sent)
{
    return sent->in_flight == NULL && sent->message->message_size == PACK_ROOM;
}

static void forget_bytes(struct outbox *outbox, size_t bytes)
{
    outbox->bytes -= bytes;
    atomic_fetch_sub(&all_bytes, bytes);
}

/* Lets go of the oldest, which has ended. */
static void put_back(struct outbox *outbox)
{
    struct sent *sent = &outbox->ring[outbox->first];

    if (sent->in_flight != NULL)
        --*sent->in_flight;
    if (is_own(sent) && outbox->spare_count < OUTBOX_SPARE &&
        atomic_load(&all_bytes) <= OUTBOX_BYTES_ALL) {
        outbox->spare[outbox->spare_count++] = sent->message;
    } else {
        if (is_own(sent))
            forget_bytes(outbox, PACK_ROOM);
        zcrp_free_msg(sent->message);
    }
    outbox->first = (outbox->first + 1) % OUTBOX_MOST;
    outbox->count--;
}

void outbox_fini(struct outbox *outbox)
{
    while (outbox->count > 0) {
        line_take_back(outbox->ring[outbox->first].message);
        put_back(outbox);
    }
    while (outbox->spare_count > 0)
        zcrp_free_msg(outbox->spare[--outbox->spare_count]);
    forget_bytes(outbox, outbox->bytes);
}

int outbox_reap(struct outbox *outbox)
{
    while (outbox->count > 0) {
        int code = zcrp_error(outbox->ring[outbox->first].message);

        if (code == ZCRP_ERROR_BUSY)
            return 0;
        if (line_is_over(code))
            return code;
        put_back(outbox);
    }
    return 0;
}

static int wait_for_oldest(struct outbox *outbox)
{
    int code = line_wait(outbox->line, outbox->ring[outbox->first].message, -1);

    return line_is_over(code) ? code : outbox_reap(outbox);
}

/* Takes the bytes of one more message, if there is room for them. */
static bool take_bytes(struct outbox *outbox)
{
    size_t own = outbox->bytes + PACK_ROOM;
    size_t all = atomic_fetch_add(&all_bytes, PACK_ROOM) + PACK_ROOM;

    if (own <= OUTBOX_BYTES_LEAST || (own <= OUTBOX_BYTES_MOST && all <= OUTBOX_BYTES_ALL)) {
        outbox->bytes = own;
        return true;
    }
    atomic_fetch_sub(&all_bytes, PACK_ROOM);
    return false;
}

struct zcrp_msg *outbox_take(struct outbox *outbox, int *code)
{
    *code = outbox_reap(outbox);
    while (*code == 0 && outbox->spare_count == 0) {
        if (take_bytes(outbox)) {
            struct zcrp_msg *message = zcrp_alloc_msg(PACK_ROOM);

            *code = message != NULL ? 0 : ZCRP_ERROR_MEMORY;
            return message;
        }
        *code = wait_for_oldest(outbox);
    }
    return *code == 0 ? outbox->spare[--outbox->spare_count] : NULL;
}

int outbox_wait(struct outbox *outbox)
{
    int code = 0;

    while (code == 0 && outbox->count > 0)
        code = wait_for_oldest(outbox);
    return code;
}

static int submit(struct outbox *outbox, struct zcrp_msg *message, size_t length,
                  uint32_t *in_flight)
{
    int code = message == NULL                ? ZCRP_ERROR_MEMORY
               : outbox->count == OUTBOX_MOST ? wait_for_oldest(outbox)
                                              : 0;

    if (code == 0)
        code = zcrp_submit(outbox->line->sender, message, length);
    if (code != 0) {
        zcrp_free_msg(message);
        return code;
    }
    if (in_flight != NULL)
        ++*in_flight;
    outbox->ring[(outbox->first + outbox->count++) % OUTBOX_MOST] =
        (struct sent){message, in_flight};
    return 0;
}

int outbox_send(struct outbox *outbox, struct zcrp_msg *message, size_t length)
{
    return submit(outbox, message, length, NULL);
}

int outbox_send_slice(struct outbox *outbox, void *slice, size_t length, uint32_t *in_flight)
{
    return submit(outbox, zcrp_wrap_msg(slice, length), length, in_flight);
}

int outbox_send_nothing(struct outbox *outbox)
{
    return submit(outbox, zcrp_alloc_msg(0), 0, NULL);
}
