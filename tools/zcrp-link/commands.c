#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/complain.h"

enum { CANNOT_RUN = 126, NOT_FOUND = 127 };

/* Waits until nobody can write to the pipe any more. */
static void wait_for_end(int pipe)
{
    char byte;

    while (read(pipe, &byte, 1) < 0 && errno == EINTR)
        ;
}

/* Orphans of the commands become children of this process; the kernel buries them. */
static _Noreturn void be_init(const int keep[2])
{
    prctl(PR_SET_NAME, "zcrp-link-init");
    signal(SIGCHLD, SIG_IGN);
    close(keep[1]);
    wait_for_end(keep[0]);
    _exit(EXIT_SUCCESS);
}

/* A /proc that shows the processes of the new namespace. Where a container forbids to mount one,
 * the command sees the old one, which harms few. */
static void mount_proc(void)
{
    if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
        (void)mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

static _Noreturn void become(char **command, const struct ends *ends, int end)
{
    if (setns(ends->namespace[end], CLONE_NEWNET) < 0) {
        complain("cannot enter the network namespace of %c: %s", "AB"[end], strerror(errno));
        _exit(CANNOT_RUN);
    }
    mount_proc();
    setenv("ZCRP_HERE", ends_address(end), 1);
    setenv("ZCRP_THERE", ends_address(ENDS - 1 - end), 1);
    execvp(command[0], command);
    complain("cannot run '%s': %s", command[0], strerror(errno));
    _exit(errno == ENOENT ? NOT_FOUND : CANNOT_RUN);
}

/* The child's side of a fork: A waits for a byte; without one zcrp-link is gone. */
static _Noreturn void begin(char **command, const struct ends *ends, int end, const int go[2])
{
    sigset_t none;
    char byte;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    close(go[1]);
    if (end == END_B) {
        int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

        if (nothing >= 0)
            dup2(nothing, STDIN_FILENO);
    } else if (read(go[0], &byte, 1) != 1) {
        _exit(EXIT_FAILURE);
    }
    become(command, ends, end);
}

static int fork_all(struct commands *c, char **const command[ENDS], const struct ends *ends,
                    const int keep[2], const int go[2])
{
    c->init = fork();
    if (c->init == 0)
        be_init(keep);
    for (int end = 0; end < ENDS && c->init > 0; end++) {
        c->pid[end] = fork();
        if (c->pid[end] == 0) {
            close(keep[1]);
            begin(command[end], ends, end, go);
        }
        if (c->pid[end] < 0)
            return complain("cannot start a process: %s", strerror(errno));
    }
    return c->init > 0 ? 0 : complain("cannot start a process: %s", strerror(errno));
}

/* What zcrp-link itself may start later, a leak checker's thread say, is not for the new namespace.
 * In a user namespace there is no way back, and nobody is harmed. */
static int start_all(struct commands *c, char **const command[ENDS], const struct ends *ends,
                     const int keep[2], const int go[2])
{
    int own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    int status = -1;

    if (own < 0 || unshare(CLONE_NEWPID) < 0)
        complain("cannot make a process namespace: %s", strerror(errno));
    else
        status = fork_all(c, command, ends, keep, go);
    if (own >= 0) {
        (void)setns(own, CLONE_NEWPID);
        close(own);
    }
    return status;
}

int commands_start(struct commands *c, char **const command[ENDS], const struct ends *ends)
{
    int keep[2], go[2];

    *c = (struct commands){.init = -1, .pid = {-1, -1}, .keep = -1, .go = -1};
    if (pipe2(keep, O_CLOEXEC) < 0)
        return complain("cannot make a pipe: %s", strerror(errno));
    c->keep = keep[1];
    if (pipe2(go, O_CLOEXEC) < 0) {
        close(keep[0]);
        return complain("cannot make a pipe: %s", strerror(errno));
    }
    c->go = go[1];
    int status = start_all(c, command, ends, keep, go);
    close(keep[0]);
    close(go[0]);
    return status;
}

/* If A is gone already, its status tells. */
void commands_go(struct commands *c)
{
    if (write(c->go, "", 1) < 0)
        complain("A ended before its start: %s", strerror(errno));
}

static int as_shell(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void commands_notice(struct commands *c)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == c->init)
            c->init = -1;
        for (int end = 0; end < ENDS; end++) {
            if (pid == c->pid[end]) {
                c->is_over[end] = true;
                c->status[end] = as_shell(status);
            }
        }
    }
}

void commands_signal(const struct commands *c, int end, int signal)
{
    if (!c->is_over[end] && c->pid[end] > 0)
        kill(c->pid[end], signal);
}

void commands_end(struct commands *c)
{
    if (c->init > 0)
        kill(c->init, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        ;
    if (c->keep >= 0)
        close(c->keep);
    if (c->go >= 0)
        close(c->go);
}
