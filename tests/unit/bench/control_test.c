/* What both ends agree on, as a line: it comes back as it was, and nonsense is refused. */
#include "zcrp-bench/control/control.h"

#include "../../support/suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct settings some = {.unit_bytes = 1472,
                                     .depth = 1024,
                                     .limit_ns = 10000000000,
                                     .congestion = 4,
                                     .channel = 2,
                                     .has_keys = 1};

/* The line that says `settings`, without its newline. */
static void line_of(const struct settings *settings, char line[CONTROL_LINE])
{
    static const char answer[] = "settled\n";
    int ends[2];
    struct control control;
    ssize_t got;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    control = (struct control){.fd = ends[0]};
    ck_assert_int_eq(write(ends[1], answer, strlen(answer)), (ssize_t)strlen(answer));
    ck_assert_int_eq(settings_say(&control, settings), 0);
    got = read(ends[1], line, CONTROL_LINE - 1);
    ck_assert_int_gt(got, 0);
    line[got - 1] = '\0';
    close(ends[0]);
    close(ends[1]);
}

TEST(settings__come_back)
{
    struct settings back;
    char line[CONTROL_LINE];

    line_of(&some, line);
    ck_assert_mem_eq(line, "settings ", 9);
    ck_assert_int_eq(settings_read(line + 9, &back), 0);
    ck_assert_mem_eq(&back, &some, sizeof some);
}

TEST(settings__of_the_largest_values)
{
    struct settings most = {
#define SETTINGS_MOST(name, most) .name = most,
        SETTINGS(SETTINGS_MOST)
#undef SETTINGS_MOST
    };
    struct settings back;
    char line[CONTROL_LINE];

    line_of(&most, line);
    ck_assert_int_eq(settings_read(line + 9, &back), 0);
    ck_assert_mem_eq(&back, &most, sizeof most);
}

static void refuse(struct settings settings)
{
    struct settings back;
    char line[CONTROL_LINE];

    line_of(&settings, line);
    ck_assert_int_eq(settings_read(line + 9, &back), -1);
}

TEST(settings_read__values_out_of_range)
{
    struct settings bad[] = {some, some, some, some, some};

    bad[0].channel = 6;
    bad[1].congestion = 5;
    bad[2].depth = 0;
    bad[3].limit_ns = UINT64_MAX;
    bad[4].has_keys = 2;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse(bad[i]);
}

TEST(settings_read__too_few_and_too_many)
{
    struct settings back;
    char line[CONTROL_LINE];
    char more[CONTROL_LINE + 2];

    line_of(&some, line);
    snprintf(more, sizeof more, "%s 1", line + 9);
    ck_assert_int_eq(settings_read(more, &back), -1);
    *strrchr(line, ' ') = '\0';
    ck_assert_int_eq(settings_read(line + 9, &back), -1);
    ck_assert_int_eq(settings_read("", &back), -1);
}
