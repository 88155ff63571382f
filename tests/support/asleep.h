/* Threads of this process that sleep, for tests that act once another thread waits. */
#ifndef ZCRP_TESTS_SUPPORT_ASLEEP_H
#define ZCRP_TESTS_SUPPORT_ASLEEP_H

#include <dirent.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Does the system say that the thread sleeps? */
static inline bool asleep_is(pid_t thread)
{
    char path[64], state = 0;

    (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    bool is_known = fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
    (void)fclose(file);
    return is_known && state == 'S';
}

/* Do all threads of this process sleep, but the one that asks? One that has been woken does not,
 * even if it waits for a processor. */
static inline bool asleep_are_others(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int self = (int)syscall(SYS_gettid);
    bool are_so = tasks != NULL;

    for (struct dirent *d; are_so && (d = readdir(tasks)) != NULL;) {
        int thread = atoi(d->d_name);
        are_so = thread == 0 || thread == self || asleep_is(thread);
    }
    if (tasks != NULL)
        (void)closedir(tasks);
    return are_so;
}

/* Returns once the thread has said its number (0 until then) and sleeps behind that. It is seen
 * asleep several times, because a thread may sleep for a moment on its way, at a mutex. */
static inline void asleep_await(const _Atomic pid_t *thread)
{
    for (int times = 0; times < 3; usleep(1000)) {
        pid_t known = atomic_load(thread);
        times = known != 0 && asleep_is(known) ? times + 1 : 0;
    }
}

#endif
