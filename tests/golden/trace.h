/* What a story is told as, against the expected text: NAME.trace in this folder. With
 * ZCRP_UPDATE_GOLDEN=1 in the environment the text is written instead; read it before you commit
 * it. */
#ifndef ZCRP_TESTS_GOLDEN_TRACE_H
#define ZCRP_TESTS_GOLDEN_TRACE_H

#include "../support/asserts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void trace_path(const char *name, char *path, size_t size)
{
    const char *end = strrchr(__FILE__, '/');
    int folder = end == NULL ? 0 : (int)(end + 1 - __FILE__);
    snprintf(path, size, "%.*s%s.trace", folder, __FILE__, name);
}

static inline void trace_expect_same(const char *name, const char *told, const char *expected)
{
    size_t line = 1;
    size_t start = 0;
    size_t i = 0;
    for (; told[i] == expected[i] && told[i] != '\0'; i++) {
        if (told[i] != '\n')
            continue;
        line++;
        start = i + 1;
    }
    ck_assert_msg(told[i] == expected[i], "%s.trace:%zu: expected\n%.*s\nbut told is\n%.*s", name,
                  line, (int)strcspn(expected + start, "\n"), expected + start,
                  (int)strcspn(told + start, "\n"), told + start);
}

static inline void trace_compare(const char *name, const char *told, const char *path)
{
    char expected[1 << 16];
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "there is no %s", path);
    size_t size = fread(expected, 1, sizeof(expected) - 1, file);
    expected[size] = '\0';
    fclose(file);
    trace_expect_same(name, told, expected);
}

static inline void trace_write(const char *told, const char *path)
{
    FILE *file = fopen(path, "w");
    ck_assert_msg(file != NULL, "cannot write %s", path);
    fputs(told, file);
    fclose(file);
}

static inline void trace_expect(const char *name, const char *told)
{
    char path[4096];
    trace_path(name, path, sizeof(path));
    if (getenv("ZCRP_UPDATE_GOLDEN") != NULL)
        trace_write(told, path);
    else
        trace_compare(name, told, path);
}

#endif
