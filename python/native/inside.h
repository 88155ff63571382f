/* What the files of this folder share. */
#ifndef ZCRP_DOOR_INSIDE_H
#define ZCRP_DOOR_INSIDE_H

#include "door.h"

#include <stdatomic.h>
#include <sys/types.h>

/* Lock letters: (c) constant; (a) atomic; (x) written before is_closed, read afterwards. */
struct door {
    struct zcrp_connection *connection; /* (c) of a connection; else NULL */
    struct zcrp_listener *listener;     /* (c) of a listener; else NULL */
    pid_t process;                      /* (c) that opened it */
    _Atomic int references;             /* (a) of the caller, and of the thread that closes */
    _Atomic int users;                  /* (a) calls that have the library's handle */
    _Atomic bool is_closing;            /* (a) no call begins any more */
    _Atomic bool is_closed;             /* (a) */
    _Atomic int over;                   /* (a) an eventfd, readable once closed; or none yet */
    int code;                           /* (x) of zcrp_connection_close */
};

struct door_post {
    uint64_t id;          /* the caller's */
    int count;            /* of messages */
    _Atomic int left;     /* of them, that no queue has told of */
    _Atomic bool is_late; /* a message was BUSY when it was cancelled, and has not ended since */
    struct zcrp_msg *messages[];
};

/* A call begins: false if the door is closing. It ends, with this code. */
bool door_enter(struct door *door);
int door_leave(struct door *door, int code);

/* A door that is closing, and that no call has any more, leaves the queue that it is in: no take
 * reads its first messages any more. In the process that opened it. */
void door_leave_queues(struct door *door);

/* No take of a queue reads posts meanwhile: whoever frees one holds this. */
void door_lock_posts(void);
void door_unlock_posts(void);

/* The end of a time limit; what is left of it, -1: there is none. */
int64_t door_deadline(int64_t timeout_ns);
int64_t door_left(int64_t deadline);

#endif
