#include "inside.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
    NO_DESCRIPTOR = -1,
    SECOND_NS = 1000000000,
    MILLISECOND_NS = 1000000,
    STEP_NS = 10 * MILLISECOND_NS, /* between looks, where there is no descriptor to wait for */
};

/* ---- time */

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

int64_t door_deadline(int64_t timeout_ns)
{
    int64_t now = now_ns();

    return timeout_ns < 0 || timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
}

int64_t door_left(int64_t deadline)
{
    if (deadline == INT64_MAX)
        return -1;
    int64_t left = deadline - now_ns();
    return left > 0 ? left : 0;
}

static void sleep_ns(int64_t duration)
{
    const struct timespec time = {.tv_sec = duration / SECOND_NS, .tv_nsec = duration % SECOND_NS};

    (void)nanosleep(&time, NULL);
}

/* ---- calls and closing */

/* Closing sees the call, or the call sees closing. */
bool door_enter(struct door *door)
{
    atomic_fetch_add(&door->users, 1);
    if (!atomic_load(&door->is_closing))
        return true;
    atomic_fetch_sub(&door->users, 1);
    return false;
}

int door_leave(struct door *door, int code)
{
    atomic_fetch_sub(&door->users, 1);
    return code == ZCRP_ERROR_INTERRUPTED ? ZCRP_ERROR_CLOSED : code;
}

static void release(struct door *door)
{
    if (atomic_fetch_sub(&door->references, 1) > 1)
        return;
    if (door->over != NO_DESCRIPTOR)
        (void)close(door->over);
    free(door);
}

/* Waits until no call has the handle. An interrupt ends one wait that is under way, or the next
 * one, so it is repeated. */
static void await_users(struct door *door)
{
    while (atomic_load(&door->users) > 0) {
        if (door->listener != NULL)
            (void)zcrp_listener_interrupt(door->listener);
        else
            (void)zcrp_connection_interrupt(door->connection);
        sleep_ns(MILLISECOND_NS / 4);
    }
}

static void close_now(struct door *door)
{
    if (door->listener != NULL)
        door->code = zcrp_listener_close(door->listener);
    else
        do
            door->code = zcrp_connection_close(door->connection);
        while (door->code == ZCRP_ERROR_BUSY);
    atomic_store(&door->is_closed, true);
    int over = atomic_load(&door->over);
    if (over != NO_DESCRIPTOR)
        (void)eventfd_write(over, 1);
    release(door);
}

static void *run_closing(void *door)
{
    await_users(door);
    door_leave_queues(door);
    close_now(door);
    return NULL;
}

/* Signals are for the threads of Python; a fault is the thread's own. */
static bool start_closing(struct door *door)
{
    sigset_t all, before;
    pthread_t thread;

    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGSEGV);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = pthread_create(&thread, NULL, run_closing, door) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!is_started)
        return false;
    (void)pthread_setname_np(thread, "zcrp-closing");
    (void)pthread_detach(thread);
    return true;
}

/* Of a child's copies, calls of other threads do not come back: nobody waits for them. */
void door_close(struct door *door)
{
    if (atomic_exchange(&door->is_closing, true))
        return;
    atomic_fetch_add(&door->references, 1);
    if (door->process != getpid())
        close_now(door);
    else if (!start_closing(door))
        (void)run_closing(door);
}

int door_closed_descriptor(struct door *door)
{
    int known = atomic_load(&door->over);
    if (known != NO_DESCRIPTOR)
        return known;
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return ZCRP_ERROR_SYSTEM;
    if (!atomic_compare_exchange_strong(&door->over, &known, fd)) {
        (void)close(fd);
        fd = known;
    }
    if (atomic_load(&door->is_closed)) /* it may not have seen the descriptor */
        (void)eventfd_write(fd, 1);
    return fd;
}

int door_closed(struct door *door, int64_t timeout_ns, int *code)
{
    int64_t deadline = door_deadline(timeout_ns);
    struct pollfd set = {.fd = door_closed_descriptor(door), .events = POLLIN};
    bool is_woken = false;

    /* A parent's thread that was closing is not there in the child, and has not closed the copy. */
    while (!atomic_load(&door->is_closed) && door->process == getpid()) {
        int64_t left = door_left(deadline);
        if (left == 0 || is_woken)
            return ZCRP_ERROR_TIMEOUT;
        int64_t step = left < 0 || left > SECOND_NS ? SECOND_NS : left;
        if (set.fd >= 0)
            is_woken = poll(&set, 1, (int)(step / MILLISECOND_NS) + 1) < 0;
        else
            sleep_ns(step < STEP_NS ? step : STEP_NS);
    }
    *code = door->code;
    return ZCRP_OK;
}

void door_free(struct door *door)
{
    if (door == NULL)
        return;
    door_close(door); /* which has a reference of its own */
    release(door);    /* NOLINT(clang-analyzer-unix.Malloc): the last but that */
}

void door_free_made(struct door **made)
{
    door_free(*made);
}

/* ---- opening */

static struct door *make(void)
{
    struct door *door = malloc(sizeof(*door));

    if (door != NULL)
        *door = (struct door){.process = getpid(), .references = 1, .over = NO_DESCRIPTOR};
    return door;
}

/* The door, if its handle could be had. */
static int made(struct door **result, struct door *door, int code)
{
    if (code != ZCRP_OK)
        free(door);
    else
        *result = door;
    return code;
}

int door_listen(struct door **result, const char *host, const char *port,
                const struct zcrp_options *options)
{
    struct door *door = make();

    if (door == NULL)
        return ZCRP_ERROR_MEMORY;
    return made(result, door, zcrp_listen(&door->listener, host, port, options));
}

int door_connect(struct door **result, const char *host, const char *port,
                 const struct zcrp_options *options)
{
    struct door *door = make();

    if (door == NULL)
        return ZCRP_ERROR_MEMORY;
    return made(result, door, zcrp_connect(&door->connection, host, port, options, 0));
}

int door_accept(struct door *listener, struct door **result, int64_t timeout_ns)
{
    if (!door_enter(listener))
        return ZCRP_ERROR_CLOSED;
    struct door *door = make();
    if (door == NULL)
        return door_leave(listener, ZCRP_ERROR_MEMORY);
    int code = zcrp_accept(listener->listener, &door->connection, timeout_ns);
    return door_leave(listener, made(result, door, code));
}

/* ---- one call of the library each */

int door_connection_wait(struct door *door, int64_t timeout_ns)
{
    if (!door_enter(door))
        return ZCRP_ERROR_CLOSED;
    return door_leave(door, zcrp_connection_wait(door->connection, timeout_ns));
}

int door_connection_status(struct door *door)
{
    if (!door_enter(door))
        return ZCRP_ERROR_CLOSED;
    return door_leave(door, zcrp_connection_status(door->connection));
}

int door_connection_peer(struct door *door, char *text, size_t size)
{
    if (!door_enter(door))
        return ZCRP_ERROR_CLOSED;
    return door_leave(door, zcrp_connection_peer(door->connection, text, size));
}

int door_connection_local(struct door *door, char *text, size_t size)
{
    if (!door_enter(door))
        return ZCRP_ERROR_CLOSED;
    return door_leave(door, zcrp_connection_local(door->connection, text, size));
}

int door_connection_identity(struct door *door, char *text, size_t size)
{
    if (!door_enter(door))
        return ZCRP_ERROR_CLOSED;
    return door_leave(door, zcrp_connection_identity(door->connection, text, size));
}

static struct zcrp_entity *half_of(const struct door *door, int half)
{
    return half == DOOR_SENDER ? zcrp_connection_sender(door->connection)
                               : zcrp_connection_receiver(door->connection);
}

int door_expect(struct door *door, uint64_t *size, int64_t timeout_ns)
{
    nlong bytes = 0;

    if (!door_enter(door))
        return ZCRP_ERROR_CLOSED;
    int code = zcrp_expect(half_of(door, DOOR_RECEIVER), &bytes, timeout_ns);
    *size = bytes;
    return door_leave(door, code);
}

int door_send_copy(struct door *door, const void *bytes, uint64_t size)
{
    if (!door_enter(door))
        return ZCRP_ERROR_CLOSED;
    return door_leave(door, zcrp_send_copy(half_of(door, DOOR_SENDER), bytes, size));
}

int door_stats(struct door *door, int half, struct zcrp_stats *stats)
{
    if (!door_enter(door))
        return ZCRP_ERROR_CLOSED;
    return door_leave(door, zcrp_stats(half_of(door, half), stats));
}

int door_alloc(struct door *door, uint64_t size, struct zcrp_msg **message, void **memory)
{
    if (!door_enter(door))
        return ZCRP_ERROR_CLOSED;
    *message = zcrp_connection_alloc_msg(door->connection, size);
    if (*message == NULL)
        return door_leave(door, ZCRP_ERROR_MEMORY);
    *memory = (*message)->buffer;
    return door_leave(door, ZCRP_OK);
}

/* Within a call the connection has not freed the message. */
int door_first_end(struct door *door, uint32_t index, int64_t timeout_ns, uint64_t *length)
{
    if (!door_enter(door))
        return ZCRP_ERROR_CLOSED;
    struct zcrp_msg *message = zcrp_connection_first(door->connection, index);
    int code = message != NULL ? zcrp_wait_for(message, timeout_ns) : ZCRP_ERROR_ARGUMENT;
    *length = code == ZCRP_OK || code == ZCRP_ERROR_TOO_LARGE ? message->length : 0;
    return door_leave(door, code);
}

int door_first_copy(struct door *door, uint32_t index, void *buffer, uint64_t length)
{
    if (!door_enter(door))
        return ZCRP_ERROR_CLOSED;
    const struct zcrp_msg *message = zcrp_connection_first(door->connection, index);
    bool is_it = message != NULL && zcrp_error(message) == ZCRP_OK && message->length == length;
    if (is_it)
        memcpy(buffer, message->buffer, (size_t)length);
    return door_leave(door, is_it ? ZCRP_OK : ZCRP_ERROR_ARGUMENT);
}

int door_listener_port(struct door *door)
{
    if (!door_enter(door))
        return ZCRP_ERROR_CLOSED;
    return door_leave(door, zcrp_listener_port(door->listener));
}

int door_listener_stats(struct door *door, struct zcrp_listener_stats *stats)
{
    if (!door_enter(door))
        return ZCRP_ERROR_CLOSED;
    return door_leave(door, zcrp_listener_stats(door->listener, stats));
}

/* ---- posts */

struct door_post *door_post_new(int count)
{
    struct door_post *post = calloc(1, sizeof(*post) + (size_t)count * sizeof(struct zcrp_msg *));

    if (post == NULL)
        return NULL;
    for (post->count = 0; post->count < count; post->count++) {
        struct zcrp_msg *message = zcrp_wrap_msg(NULL, 0);
        if (message == NULL) {
            door_post_free(post);
            return NULL;
        }
        message->context = post;
        post->messages[post->count] = message;
    }
    return post;
}

struct door_post *door_post_of_pieces(const struct iovec *pieces, int count)
{
    struct door_post *post = calloc(1, sizeof(*post) + sizeof(struct zcrp_msg *));
    struct zcrp_msg *message = post != NULL ? zcrp_wrap_iov(pieces, count) : NULL;

    if (message == NULL) {
        int reason = errno;
        free(post);
        errno = reason;
        return NULL;
    }
    message->context = post;
    post->messages[post->count++] = message;
    return post;
}

/* One that was BUSY has ended meanwhile, and zcrp_cancel says IDLE. Each that is BUSY takes 100 ms
 * or more, so a few are tried. */
enum { BUSY_MOST = 4 };

int door_post_cancel(struct door_post *post, bool *has_cancelled)
{
    int busy = 0;

    for (int i = post->count; i-- > 0 && busy < BUSY_MOST;) {
        int code = zcrp_cancel(post->messages[i]);
        busy += code == ZCRP_ERROR_BUSY;
        if (code == ZCRP_OK ||
            (post->is_late && zcrp_error(post->messages[i]) == ZCRP_ERROR_CANCELLED))
            *has_cancelled = true;
    }
    post->is_late = busy > 0;
    return busy > 0 ? ZCRP_ERROR_BUSY : ZCRP_OK;
}

static void cancel_all(struct door_post *post)
{
    bool has_cancelled = false;

    while (door_post_cancel(post, &has_cancelled) == ZCRP_ERROR_BUSY)
        ;
}

void door_post_free(struct door_post *post)
{
    if (post == NULL)
        return;
    cancel_all(post);
    door_lock_posts();
    for (int i = 0; i < post->count; i++)
        zcrp_free_msg(post->messages[i]);
    free(post);
    door_unlock_posts();
}

/* Within a call. */
static int submit_all(struct zcrp_entity *entity, struct door_post *post, void *const buffers[],
                      const uint64_t sizes[])
{
    int code = ZCRP_OK;

    post->left = post->count;
    for (int i = 0; i < post->count && code == ZCRP_OK; i++) {
        code = zcrp_rewrap_msg(post->messages[i], buffers[i], sizes[i]);
        if (code == ZCRP_OK)
            code = zcrp_submit(entity, post->messages[i], sizes[i]);
    }
    if (code != ZCRP_OK)
        cancel_all(post);
    return code;
}

int door_submit(struct door *door, int half, struct door_post *post, uint64_t id,
                void *const buffers[], const uint64_t sizes[])
{
    if (!door_enter(door))
        return ZCRP_ERROR_CLOSED;
    post->id = id;
    return door_leave(door, submit_all(half_of(door, half), post, buffers, sizes));
}

int door_submit_one(struct door *door, int half, struct door_post *post, uint64_t id, void *buffer,
                    uint64_t size)
{
    return door_submit(door, half, post, id, &buffer, &size);
}

int door_submit_pieces(struct door *door, int half, struct door_post *post, uint64_t id)
{
    if (!door_enter(door))
        return ZCRP_ERROR_CLOSED;
    post->id = id;
    post->left = 1;
    return door_leave(
        door, zcrp_submit(half_of(door, half), post->messages[0], post->messages[0]->message_size));
}

int64_t door_pass(struct door *door, int half, struct door_post *post, void *buffer, uint64_t size,
                  int64_t timeout_ns)
{
    int code = door_submit(door, half, post, 0, &buffer, &size);

    return code == ZCRP_OK ? door_post_end(post, timeout_ns) : code;
}

/* The library says INTERRUPTED when the door is closing; the message ends soon then. */
static int wait_for_one(struct zcrp_msg *message, int64_t deadline)
{
    int code;

    do
        code = zcrp_wait_for(message, door_left(deadline));
    while (code == ZCRP_ERROR_INTERRUPTED);
    return code;
}

int door_post_wait(struct door_post *post, int64_t timeout_ns)
{
    int64_t deadline = door_deadline(timeout_ns);
    int first = ZCRP_OK;

    for (int i = 0; i < post->count; i++) {
        int code = wait_for_one(post->messages[i], deadline);
        if (code == ZCRP_ERROR_TIMEOUT)
            return code;
        if (first == ZCRP_OK)
            first = code;
    }
    return first;
}

int64_t door_post_end(struct door_post *post, int64_t timeout_ns)
{
    int code = wait_for_one(post->messages[0], door_deadline(timeout_ns));

    return code == ZCRP_OK ? (int64_t)post->messages[0]->length : code;
}

bool door_post_is_over(const struct door_post *post)
{
    bool is_over = true;

    for (int i = post->count; i-- > 0 && is_over;)
        is_over = zcrp_error(post->messages[i]) != ZCRP_ERROR_BUSY;
    return is_over;
}

int door_post_code(const struct door_post *post, int index)
{
    return zcrp_error(post->messages[index]);
}

uint64_t door_post_length(const struct door_post *post, int index)
{
    return post->messages[index]->length;
}

int door_post_result(const struct door_post *post, uint64_t lengths[])
{
    int first = ZCRP_OK;

    for (int i = 0; i < post->count; i++) {
        int code = door_post_code(post, i);
        if (first == ZCRP_OK)
            first = code;
        lengths[i] = door_post_length(post, i);
    }
    return first;
}

/* The first message of the post that is in flight; NULL: none is. */
static struct zcrp_msg *in_flight(const struct door_post *post)
{
    for (int i = 0; i < post->count; i++)
        if (zcrp_error(post->messages[i]) == ZCRP_ERROR_BUSY)
            return post->messages[i];
    return NULL;
}

/* Each post stands for its first message in flight. When that ends, the next one does. */
int door_wait_any(struct door_post *const posts[], int count, int64_t timeout_ns)
{
    int64_t deadline = door_deadline(timeout_ns);
    struct zcrp_msg **messages = calloc((size_t)count + 1, sizeof(struct zcrp_msg *));
    int code = ZCRP_ERROR_TIMEOUT;
    bool is_over = false;

    if (messages == NULL)
        return ZCRP_ERROR_MEMORY;
    do {
        for (int i = 0; i < count; i++) {
            messages[i] = in_flight(posts[i]);
            is_over = is_over || messages[i] == NULL;
        }
        code = is_over ? ZCRP_OK : zcrp_wait_any(messages, count, door_left(deadline));
    } while (!is_over && (code >= 0 || code == ZCRP_ERROR_INTERRUPTED));
    free(messages);
    return code;
}
