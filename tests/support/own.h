/* What this process holds, and may hold: its descriptors, its threads. */
#ifndef ZCRP_TESTS_SUPPORT_OWN_H
#define ZCRP_TESTS_SUPPORT_OWN_H

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Names in a folder. The two that every folder has count, too, and what it takes to look. */
static inline int own_count(const char *folder)
{
    DIR *directory = opendir(folder);
    int count = 0;

    while (directory != NULL && readdir(directory) != NULL)
        count++;
    if (directory != NULL)
        closedir(directory);
    return count;
}

/* Is it the file that the library has once in a process (platform/nofault.h)? */
static inline int own_is_of_library(const char *name)
{
    char path[300], file[64] = "";

    snprintf(path, sizeof path, "/proc/self/fd/%s", name);
    return readlink(path, file, sizeof file - 1) > 0 && strstr(file, "own-zcrp") != NULL;
}

/* Without that. */
static inline int own_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    const struct dirent *entry;
    int count = own_count("/proc/self/fd");

    while (directory != NULL && (entry = readdir(directory)) != NULL)
        count -= own_is_of_library(entry->d_name);
    if (directory != NULL)
        closedir(directory);
    return count;
}

/* From now on at most `count` more can be opened. The limit before, for own_limit_descriptors(). */
static inline struct rlimit own_leave_descriptors(unsigned count)
{
    struct rlimit before, now;
    int lowest = dup(STDERR_FILENO);

    if (lowest < 0 || close(lowest) != 0 || getrlimit(RLIMIT_NOFILE, &before) != 0)
        abort();
    now = (struct rlimit){(rlim_t)lowest + count, before.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &now) != 0)
        abort();
    return before;
}

static inline void own_limit_descriptors(struct rlimit limit)
{
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        abort();
}

static inline int own_threads(void)
{
    return own_count("/proc/self/task");
}

/* Bytes of its address space. */
static inline size_t own_address_space(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    size_t pages = 0;

    if (file == NULL || fscanf(file, "%zu", &pages) != 1)
        pages = 0;
    if (file != NULL)
        fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

#endif
