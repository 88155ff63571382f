/* Those who connect to a far end by memory and have not shown the proof yet. Each is heard by a
 * thread of its own, so that nobody who says nothing delays the near end, which may be the last to
 * connect. */
#ifndef ZCRP_CP_CALLERS_H
#define ZCRP_CP_CALLERS_H

#include <pthread.h>
#include <stdbool.h>

#include "session.h"

enum { CALLERS_MOST = 16 }; /* at once; more wait in the listener */

enum caller_state {
    CALLER_NONE = 0,
    CALLER_SPEAKS, /* its thread waits for the proof, or hangs up */
    CALLER_PROVED, /* the near end: it has its answer */
    CALLER_GONE,   /* a stranger, whose connection is closed */
};

struct caller {
    struct callers *callers;
    pthread_t thread;        /* while the state is not NONE */
    enum caller_state state; /* under the lock */
    struct line line;
    struct session *session; /* PROVED: what it wants */
};

struct callers {
    const struct session_rules *rules;
    int changed; /* an eventfd: poll it, and call callers_take */
    pthread_mutex_t lock;
    struct caller rows[CALLERS_MOST];
};

/* 0, or -1 with errno. */
int callers_init(struct callers *callers, const struct session_rules *rules);

/* Has everybody hang up, and waits for the threads. */
void callers_fini(struct callers *callers);

/* Has those who still speak hang up, and waits for nobody. */
void callers_end(struct callers *callers);

bool callers_have_room(struct callers *callers);

/* Hears one more, whose connection is theirs from then on. There has to be room. */
void callers_add(struct callers *callers, struct zcrp_connection *connection);

/* The session of one that has shown the proof, and its connection; the caller's from then on. NULL:
 * there is none yet. */
struct session *callers_take(struct callers *callers, struct zcrp_connection **connection);

#endif
