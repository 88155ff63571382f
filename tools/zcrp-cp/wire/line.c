#include "line.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/complain.h"

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
    (void)zcrp_connection_close(line->connection);
    line->connection = NULL;
}

void line_end_waits(struct line *line, enum line_stop why)
{
    int goes = LINE_GOES;

    (void)atomic_compare_exchange_strong(&line->stop, &goes, (int)why);
}

int line_wait(struct line *line, struct zcrp_msg *message, int64_t most_ns)
{
    int64_t end = most_ns < 0 ? INT64_MAX : clock_now_ns() + most_ns;

    for (;;) {
        int64_t left = end == INT64_MAX ? tick_ns : end - clock_now_ns();
        int code = zcrp_wait_for(message, left < 0 ? 0 : left < tick_ns ? left : tick_ns);

        int stop = atomic_load(&line->stop);
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
    if (atomic_load(&line->stop) != LINE_GOES)
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
    if (message != NULL)
        (void)zcrp_cancel(message);
    zcrp_free_msg(message);
}

int line_send_first(struct line *line, const void *bytes, size_t length, int64_t most_ns)
{
    struct zcrp_msg *message = zcrp_alloc_msg(length);
    int code = message != NULL ? 0 : ZCRP_ERROR_MEMORY;

    if (message != NULL) {
        memcpy(message->buffer, bytes, length);
        code = zcrp_submit(line->sender, message, length);
    }
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

/* ---- requests ---- */

int requests_init(struct requests *requests, struct line *line, bool receives)
{
    int code = 0;

    *requests = (struct requests){.line = line};
    for (int i = 0; i < LINE_REQUESTS && code == 0; i++) {
        requests->ring[i] = zcrp_alloc_msg(REQUEST_ROOM);
        if (requests->ring[i] == NULL)
            code = ZCRP_ERROR_MEMORY;
        else if (receives)
            code = zcrp_submit(line->receiver, requests->ring[i], REQUEST_ROOM);
    }
    if (code != 0)
        requests_fini(requests);
    return code;
}

void requests_fini(struct requests *requests)
{
    for (int i = 0; i < LINE_REQUESTS; i++) {
        drop(requests->ring[i]);
        requests->ring[i] = NULL;
    }
}

struct zcrp_msg *requests_take(struct requests *requests, int *code)
{
    struct zcrp_msg *message = requests->ring[requests->next];

    *code = zcrp_error(message);
    if (*code == ZCRP_ERROR_BUSY)
        *code = line_wait(requests->line, message, -1);
    if (*code == ZCRP_ERROR_IDLE)
        *code = 0;
    return *code == 0 ? message : NULL;
}

int requests_send(struct requests *requests, size_t length)
{
    struct zcrp_msg *message = requests->ring[requests->next];

    requests->next = (requests->next + 1) % LINE_REQUESTS;
    return zcrp_submit(requests->line->sender, message, length);
}

struct zcrp_msg *requests_receive(struct requests *requests, int64_t most_ns, int *code)
{
    struct zcrp_msg *message = requests->ring[requests->next];

    *code = line_wait(requests->line, message, most_ns);
    return *code == 0 ? message : NULL;
}

int requests_put_back(struct requests *requests)
{
    struct zcrp_msg *message = requests->ring[requests->next];

    requests->next = (requests->next + 1) % LINE_REQUESTS;
    return zcrp_submit(requests->line->receiver, message, REQUEST_ROOM);
}
