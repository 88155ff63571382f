/* What this process holds: its descriptors, its threads. */
#ifndef ZCRP_TESTS_SUPPORT_OWN_H
#define ZCRP_TESTS_SUPPORT_OWN_H

#include <dirent.h>
#include <stddef.h>

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

static inline int own_descriptors(void)
{
    return own_count("/proc/self/fd");
}

static inline int own_threads(void)
{
    return own_count("/proc/self/task");
}

#endif
