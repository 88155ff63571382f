/* How many instructions something takes: a child does it, stepped by its parent. Where the code and
 * what it decides are the same the figure is the same, on any machine and under any load. */
#ifndef ZCRP_TESTS_SUPPORT_STEPS_H
#define ZCRP_TESTS_SUPPORT_STEPS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void steps_be_counted(void (*work)(void *context), void *context)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(EXIT_FAILURE);
    raise(SIGSTOP);
    work(context);
    raise(SIGSTOP);
    _exit(EXIT_SUCCESS);
}

#ifndef __has_feature
#define __has_feature(name) 0
#endif

/* Instructions of `work` and a few around it, which are always the same. What it changes is the
 * child's alone. 0 where processes may not be traced, and under a sanitizer, whose instructions say
 * nothing. */
static inline uint64_t steps_of(void (*work)(void *context), void *context)
{
    if (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
        return 0;
    int status = 0;
    uint64_t steps = 0;
    pid_t pid = fork();
    if (pid == 0)
        steps_be_counted(work, context);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        return 0;
    do {
        steps++;
        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0)
            break;
        (void)waitpid(pid, &status, 0);
    } while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
    bool is_through = WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP;
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, &status, 0);
    return is_through ? steps : 0;
}

#endif
