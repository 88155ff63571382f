/* The user of one host: begins messages, takes some of them back, and keeps a record of how each
 * of them ended. */
#ifndef ZCRP_TESTS_SIM_USER_H
#define ZCRP_TESTS_SIM_USER_H

#include "scene.h"
#include "shadow.h"

/* One message, as this user knows it. */
struct entry {
    uint32_t index;    /* the how many-th this user began */
    uint64_t number;   /* the core's name for it */
    uint64_t size;     /* of the message, or of the buffer posted for it */
    uint64_t length;   /* delivered */
    instant cancel_at; /* or NEVER */
    instant ended;
    bool is_over;
    bool is_abandoned; /* its process is gone; there will be no event */
    bool was_cancelled;
    bool was_offered; /* its buffer is as large as the peer said that the message is */
    enum outcome outcome;
    struct shadow shadow; /* the buffer */
};

struct user {
    struct scene *scene;
    const struct habits *habits;
    const char *name;
    struct entry *entry;
    uint32_t begun;
    uint32_t over;
    uint32_t oldest; /* all before are over */
    instant next_at; /* not before then the next one is begun */
    bool is_closing;
    bool was_restarted;
};

void user_init(struct user *user, struct scene *scene, const struct habits *habits,
               const char *name);
void user_fini(struct user *user);

/* The next thing this user does of itself; may be in the past. */
instant user_next_at(const struct user *user);

/* The entry to be begun now; NULL if none is. Its size and buffer are still to be set, unless the
 * core refused it before. */
struct entry *user_wants(struct user *user);
void user_on_begun(struct user *user, struct entry *entry);

/* A message to be taken back now; NULL if there is none. */
struct entry *user_takes_back(struct user *user);

/* Is it time to close, or to restart? Each is true once. */
bool user_closes(struct user *user);
bool user_restarts(struct user *user);

/* The message's event came. */
void user_on_event(struct user *user, const struct event *event);

/* The process is gone, and all its messages. */
void user_on_death(struct user *user);

/* Everything it meant to begin was begun and is over. */
bool user_is_done(const struct user *user);

#endif
