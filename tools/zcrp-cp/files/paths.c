#include "paths.h"

#include <search.h>
#include <stddef.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const char *const *left = a, *const *right = b;

    return strcmp(*left, *right);
}

const char **paths_add(struct paths *paths, const char **path)
{
    const char ***found = tsearch(path, &paths->tree, compare);

    return found != NULL ? *found : NULL;
}

static void leave_alone(void *path)
{
    (void)path;
}

void paths_fini(struct paths *paths)
{
    tdestroy(paths->tree, leave_alone);
    paths->tree = NULL;
}
