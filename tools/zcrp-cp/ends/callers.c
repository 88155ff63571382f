#include "callers.h"

#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The near end says what it wants as soon as it is connected. */
static const int64_t patience_ns = 2000000000;

int callers_init(struct callers *callers, const struct session_rules *rules)
{
    memset(callers, 0, sizeof(*callers));
    callers->rules = rules;
    (void)pthread_mutex_init(&callers->lock, NULL);
    callers->changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return callers->changed >= 0 ? 0 : -1;
}

static enum caller_state state_of(struct caller *caller)
{
    pthread_mutex_lock(&caller->callers->lock);
    enum caller_state state = caller->state;
    pthread_mutex_unlock(&caller->callers->lock);
    return state;
}

static void *hear(void *context)
{
    struct caller *caller = context;
    struct callers *callers = caller->callers;

    (void)pthread_setname_np(pthread_self(), "zcrp-cp hear");
    (void)session_hear(&caller->line, callers->rules, patience_ns, &caller->session);
    if (caller->session == NULL)
        line_fini(&caller->line);
    pthread_mutex_lock(&callers->lock);
    caller->state = caller->session != NULL ? CALLER_PROVED : CALLER_GONE;
    pthread_mutex_unlock(&callers->lock);
    (void)eventfd_write(callers->changed, 1);
    return NULL;
}

/* A row whose thread has nothing more to do. */
static void leave(struct caller *caller)
{
    (void)pthread_join(caller->thread, NULL);
    memset(caller, 0, sizeof(*caller));
}

void callers_end(struct callers *callers)
{
    for (int i = 0; i < CALLERS_MOST; i++) {
        if (callers->rows[i].callers != NULL)
            line_end_waits(&callers->rows[i].line, LINE_INTERRUPTED);
    }
}

void callers_fini(struct callers *callers)
{
    callers_end(callers);
    for (int i = 0; i < CALLERS_MOST; i++) {
        struct caller *caller = &callers->rows[i];

        if (caller->callers == NULL)
            continue;
        (void)pthread_join(caller->thread, NULL);
        if (caller->session != NULL)
            line_fini(&caller->line);
        session_drop(caller->session);
    }
    if (callers->changed >= 0)
        (void)close(callers->changed);
    (void)pthread_mutex_destroy(&callers->lock);
}

/* A row that is free; NULL: none. */
static struct caller *find_room(struct callers *callers)
{
    for (int i = 0; i < CALLERS_MOST; i++) {
        if (callers->rows[i].callers == NULL)
            return &callers->rows[i];
    }
    return NULL;
}

bool callers_have_room(struct callers *callers)
{
    return find_room(callers) != NULL;
}

void callers_add(struct callers *callers, struct zcrp_connection *connection)
{
    struct caller *caller = find_room(callers);

    caller->callers = callers;
    caller->state = CALLER_SPEAKS;
    line_init(&caller->line, connection);
    if (pthread_create(&caller->thread, NULL, hear, caller) == 0)
        return;
    line_fini(&caller->line); /* the near end connects to the other listener then */
    memset(caller, 0, sizeof(*caller));
}

struct session *callers_take(struct callers *callers, struct zcrp_connection **connection)
{
    struct session *session = NULL;
    eventfd_t count;

    (void)eventfd_read(callers->changed, &count);
    for (int i = 0; i < CALLERS_MOST && session == NULL; i++) {
        struct caller *caller = &callers->rows[i];
        enum caller_state state = caller->callers != NULL ? state_of(caller) : CALLER_NONE;

        if (state == CALLER_PROVED) {
            session = caller->session;
            *connection = caller->line.connection;
        }
        if (state == CALLER_PROVED || state == CALLER_GONE)
            leave(caller);
    }
    return session;
}
