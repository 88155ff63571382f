/* Completion queues that may be used at any time, by any thread.
 *
 * The library's take tells of a message by its address. Until the post of that has been read nobody
 * may free it: so takes hold a lock, shared, and whoever frees a post holds it alone. Hence a take
 * never sleeps in the library; it polls the queue's descriptor. */
#include "inside.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 64, MILLISECOND_NS = 1000000 };

struct door_queue {
    struct zcrp_queue *queue; /* (c) */
    int descriptor;           /* (c) */
    pid_t process;            /* (c) that opened it */
    _Atomic int users;        /* (a) calls that have the library's handle */
    _Atomic bool is_closing;  /* (a) no call begins any more */
    struct door_queue *next;  /* (o) of those that are open */
};

static pthread_mutex_t opened = PTHREAD_MUTEX_INITIALIZER; /* (o) */
static struct door_queue *first;

/* ---- posts */

static pthread_rwlock_t posts = PTHREAD_RWLOCK_INITIALIZER;

/* In a child nobody has it, and its parent's queues are of no use. */
static void on_fork(void)
{
    (void)pthread_rwlock_init(&posts, NULL);
    (void)pthread_mutex_init(&opened, NULL);
    first = NULL;
}

static void register_on_fork(void)
{
    (void)pthread_atfork(NULL, NULL, on_fork);
}

/* Before the lock is taken for the first time. */
static void watch_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, register_on_fork);
}

void door_lock_posts(void)
{
    watch_forks();
    (void)pthread_rwlock_wrlock(&posts);
}

void door_unlock_posts(void)
{
    (void)pthread_rwlock_unlock(&posts);
}

/* ---- calls and closing */

static bool enter(struct door_queue *queue)
{
    atomic_fetch_add(&queue->users, 1);
    if (!atomic_load(&queue->is_closing))
        return true;
    atomic_fetch_sub(&queue->users, 1);
    return false;
}

static int leave(struct door_queue *queue, int code)
{
    atomic_fetch_sub(&queue->users, 1);
    return code;
}

int door_queue_open(struct door_queue **result)
{
    struct door_queue *queue = malloc(sizeof(*queue));

    if (queue == NULL)
        return ZCRP_ERROR_MEMORY;
    watch_forks();
    *queue = (struct door_queue){.process = getpid()};
    int code = zcrp_queue_open(&queue->queue);
    if (code != ZCRP_OK) {
        free(queue);
        return code;
    }
    queue->descriptor = zcrp_queue_descriptor(queue->queue);
    (void)pthread_mutex_lock(&opened);
    queue->next = first;
    first = queue;
    (void)pthread_mutex_unlock(&opened);
    *result = queue;
    return ZCRP_OK;
}

/* If no call has the queue, it is not among the open ones any more. Calls of a parent's threads do
 * not come back. */
static bool retire(struct door_queue *queue)
{
    struct door_queue **at = &first;

    (void)pthread_mutex_lock(&opened);
    bool is_unused = atomic_load(&queue->users) == 0 || queue->process != getpid();
    while (is_unused && *at != NULL && *at != queue)
        at = &(*at)->next;
    if (is_unused && *at != NULL)
        *at = queue->next;
    (void)pthread_mutex_unlock(&opened);
    return is_unused;
}

/* An interrupt ends one poll, so it is repeated. */
void door_queue_close(struct door_queue *queue)
{
    if (atomic_exchange(&queue->is_closing, true))
        return;
    while (!retire(queue)) {
        const struct timespec step = {.tv_nsec = MILLISECOND_NS / 4};
        (void)zcrp_queue_interrupt(queue->queue);
        (void)nanosleep(&step, NULL);
    }
    (void)zcrp_queue_close(queue->queue);
}

void door_queue_free(struct door_queue *queue)
{
    if (queue == NULL)
        return;
    door_queue_close(queue);
    free(queue);
}

int door_queue_descriptor(struct door_queue *queue)
{
    if (!enter(queue))
        return ZCRP_ERROR_CLOSED;
    return leave(queue, zcrp_queue_descriptor(queue->queue));
}

int door_queue_interrupt(struct door_queue *queue)
{
    if (!enter(queue))
        return ZCRP_ERROR_CLOSED;
    return leave(queue, zcrp_queue_interrupt(queue->queue));
}

/* ---- members */

static int add(struct door_queue *queue, struct door *door, uint64_t member)
{
    void *context = (void *)(uintptr_t)member;

    if (!door_enter(door))
        return ZCRP_ERROR_CLOSED;
    if (door->listener != NULL)
        return door_leave(door, zcrp_queue_add_listener(queue->queue, door->listener, context));
    return door_leave(door, zcrp_queue_add_connection(queue->queue, door->connection, context));
}

int door_queue_add(struct door_queue *queue, struct door *door, uint64_t member)
{
    if (!enter(queue))
        return ZCRP_ERROR_CLOSED;
    return leave(queue, add(queue, door, member));
}

static int take_out(struct door_queue *queue, struct door *door)
{
    if (door->listener != NULL)
        return zcrp_queue_remove_listener(queue->queue, door->listener);
    return zcrp_queue_remove_connection(queue->queue, door->connection);
}

static int remove_door(struct door_queue *queue, struct door *door)
{
    if (!door_enter(door))
        return ZCRP_ERROR_CLOSED;
    return door_leave(door, take_out(queue, door));
}

/* A queue stays while it has a user, also one that is closing. */
void door_leave_queues(struct door *door)
{
    watch_forks();
    (void)pthread_mutex_lock(&opened);
    for (struct door_queue *queue = first; queue != NULL; queue = queue->next) {
        atomic_fetch_add(&queue->users, 1);
        (void)pthread_mutex_unlock(&opened);
        (void)take_out(queue, door);
        (void)pthread_mutex_lock(&opened);
        atomic_fetch_sub(&queue->users, 1);
    }
    (void)pthread_mutex_unlock(&opened);
    door_lock_posts();
    door_unlock_posts();
}

/* A take that has begun before tells what it has. */
int door_queue_remove(struct door_queue *queue, struct door *door)
{
    int code = enter(queue) ? leave(queue, remove_door(queue, door)) : ZCRP_ERROR_CLOSED;
    door_lock_posts();
    door_unlock_posts();
    return code;
}

/* ---- taking */

/* False: some messages of the post have not ended. */
static bool tell(struct door_completion *as, const struct zcrp_completion *c)
{
    struct door_post *post = c->message != NULL ? c->message->context : NULL;

    if (post != NULL && --post->left > 0)
        return false;
    *as = (struct door_completion){.kind = c->kind,
                                   .code = c->code,
                                   .is_first = c->message != NULL && post == NULL,
                                   .member = (uint64_t)(uintptr_t)c->context,
                                   .post = post != NULL ? post->id : 0};
    return true;
}

/* Takes what there is. A negative code, or how many are told; they may be fewer than `*taken`. */
static int take_now(struct door_queue *queue, struct door_completion completions[], int room,
                    int *taken)
{
    struct zcrp_completion c[ROOM];
    int told = 0;

    (void)pthread_rwlock_rdlock(&posts);
    /* Who leaves a queue that is closing waits for this lock alone, so nobody tells any more. */
    *taken = atomic_load(&queue->is_closing)
                 ? ZCRP_ERROR_CLOSED
                 : zcrp_queue_take(queue->queue, c, room < ROOM ? room : ROOM, 0);
    for (int i = 0; i < *taken; i++)
        told += tell(&completions[told], &c[i]);
    (void)pthread_rwlock_unlock(&posts);
    return *taken < 0 ? *taken : told;
}

/* False: the time is over, or a signal came. */
static bool wait_for_more(struct door_queue *queue, int64_t deadline)
{
    struct pollfd set = {.fd = queue->descriptor, .events = POLLIN};
    int64_t left = door_left(deadline);
    int64_t most = 3600 * 1000;
    int64_t ms = left < 0 || left / MILLISECOND_NS >= most ? most : left / MILLISECOND_NS + 1;

    return left != 0 && poll(&set, 1, (int)ms) >= 0;
}

int door_queue_take(struct door_queue *queue, struct door_completion completions[], int room,
                    int64_t timeout_ns)
{
    int64_t deadline = door_deadline(timeout_ns);
    int told, taken;

    if (!enter(queue))
        return ZCRP_ERROR_CLOSED;
    do
        told = take_now(queue, completions, room, &taken);
    while (told == 0 && (taken > 0 || wait_for_more(queue, deadline)));
    if (told == ZCRP_ERROR_INTERRUPTED && atomic_load(&queue->is_closing))
        told = ZCRP_ERROR_CLOSED;
    return leave(queue, told);
}
