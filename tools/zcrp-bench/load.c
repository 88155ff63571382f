#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/complain.h"

static const char program[] = "zcrp-load";

/* Where the program would be if it lies beside this one. */
static void find_sibling(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - sizeof program);
    char *slash;

    path[length > 0 ? length : 0] = '\0';
    slash = strrchr(path, '/');
    memcpy(slash != NULL ? slash + 1 : path, program, sizeof program);
}

/* The child. What keeps it from running is the number that goes into `failure`. */
static _Noreturn void become(const char *sibling, const char *count, pid_t parent, int failure)
{
    char *const arguments[] = {(char *)(uintptr_t)program, (char *)(uintptr_t) "--processes",
                               (char *)(uintptr_t)count, NULL};
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int error;

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* gone already */
        _exit(0);
    dup2(nowhere, STDOUT_FILENO);
    execv(sibling, arguments);
    execvp(program, arguments);
    error = errno;
    (void)!write(failure, &error, sizeof error);
    _exit(127);
}

/* Waits until the child runs: then the pipe, which it does not inherit, is closed. */
static int wait_for_start(struct load *load, int fd)
{
    int error = 0;
    ssize_t got;

    do
        got = read(fd, &error, sizeof error);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        return 0;
    waitpid(load->child, NULL, 0);
    load->child = 0;
    return complain("--load: cannot run %s: %s", program, strerror(error));
}

int load_begin(struct load *load, uint64_t processes)
{
    char sibling[PATH_MAX];
    char count[24];
    pid_t parent = getpid();
    int ends[2];
    int status = -1;

    *load = (struct load){0};
    if (processes == 0)
        return 0;
    find_sibling(sibling);
    snprintf(count, sizeof count, "%llu", (unsigned long long)processes);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return complain("--load: no pipe: %s", strerror(errno));
    load->child = fork();
    if (load->child == 0)
        become(sibling, count, parent, ends[1]);
    close(ends[1]);
    if (load->child > 0) {
        status = wait_for_start(load, ends[0]);
    } else {
        load->child = 0;
        complain("--load: cannot start a process: %s", strerror(errno));
    }
    close(ends[0]);
    return status;
}

void load_end(struct load *load)
{
    if (load->child == 0)
        return;
    kill(load->child, SIGTERM);
    waitpid(load->child, NULL, 0);
    load->child = 0;
}
