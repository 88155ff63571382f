/* The far end, started through a remote shell. Its standard input carries the meeting's line and
 * stays open as long as this end lives; its standard output carries the answer; its complaints go
 * where ours go. */
#ifndef ZCRP_CP_REMOTE_H
#define ZCRP_CP_REMOTE_H

#include <stdint.h>
#include <sys/types.h>

#include "meeting.h"
#include "zcrp-cp/wire/line.h"

struct remote {
    pid_t pid; /* 0: none */
    int in, out;
    const char *login; /* user@host: the caller's */
};

/* Runs `shell`, words with blanks between them, with `login`, `program` and "--far". 0, or -1 with
 * a complaint. */
int remote_start(struct remote *remote, const char *shell, const char *login, const char *program);

/* Tells the far end the secrets, and waits for its ports. 0, or -1 with a complaint (none if a
 * signal ended the wait: errno is EINTR). */
int remote_meet(struct remote *remote, const struct meeting *meeting, uint16_t *port,
                uint16_t *memory_port);

/* From now on, when the far end ends, so do the waits of the line, which lives as long as the
 * process. 0, or -1 with a complaint. */
int remote_watch(struct remote *remote, struct line *line);

/* Tells the far end that this one is over, waits for it a while, and ends it if it goes on. */
void remote_end(struct remote *remote);

/* Far end: when standard input ends, the near end is gone, however that has ended. Then the waits
 * of the line end, and 2 seconds later the process, whatever it waits for: part files stay. */
int remote_watch_near(struct line *line);

#endif
