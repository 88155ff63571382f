/* The two commands, and everything that they start.
 *
 *      zcrp-link --+-- init         the first process of a process namespace
 *                  +-- command A    \  in that namespace too, as all that they start
 *                  \-- command B    /
 *
 * Init waits for the end of zcrp-link: a pipe tells. When init ends, the kernel kills all of them.
 * So nothing is left however zcrp-link ends, kill -9 included. */
#ifndef LINK_COMMANDS_H
#define LINK_COMMANDS_H

#include <stdbool.h>
#include <sys/types.h>

#include "ends.h"

struct commands {
    pid_t init;
    pid_t pid[ENDS];
    bool is_over[ENDS];
    int status[ENDS]; /* as a shell says it: 0 to 255, 128 + signal; of those that are over */
    int keep;         /* the pipe whose end is init's end */
    int go;           /* the pipe that A waits for */
};

/* Starts B, and A up to its very beginning. Each finds its own address in ZCRP_HERE and the other's
 * in ZCRP_THERE; B reads nothing from standard input, which is A's. 0, or -1 with a complaint. */
int commands_start(struct commands *c, char **const command[ENDS], const struct ends *ends);

/* Lets A begin. */
void commands_go(struct commands *c);

/* Notices which commands are over; after a SIGCHLD. If somebody kills init, both are. */
void commands_notice(struct commands *c);

/* Sends a signal to a command that is not over. */
void commands_signal(const struct commands *c, int end, int signal);

/* Kills what is left, and waits until all of it is gone. */
void commands_end(struct commands *c);

#endif
