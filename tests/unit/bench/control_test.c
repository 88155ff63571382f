/* What both ends agree on comes as it was said, and nonsense is refused. */
#include "zcrp-bench/control/control.h"

#include "../../support/suite.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/complain.h"

static const struct settings some = {.unit_bytes = 1472,
                                     .depth = 1024,
                                     .limit_ns = 10000000000,
                                     .congestion = 4,
                                     .channel = 2,
                                     .has_keys = 1,
                                     .flows = 1};

/* Says settings to an end that hears them: what that returns. */
static int tell(const struct settings *settings, struct settings *heard)
{
    static const char answer[] = "settled\n";
    int ends[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    struct control near = {.fd = ends[0]}, far = {.fd = ends[1]};
    ck_assert_int_eq(write(ends[1], answer, strlen(answer)), (ssize_t)strlen(answer));
    ck_assert_int_eq(settings_say(&near, settings), 0);
    ck_assert_ptr_nonnull(control_expect(&far, "settings"));
    int status = settings_hear(&far, heard);
    close(ends[0]);
    close(ends[1]);
    return status;
}

TEST(settings__come_as_they_were_said)
{
    struct settings heard;

    ck_assert_int_eq(tell(&some, &heard), 0);
    ck_assert_mem_eq(&heard, &some, sizeof some);
}

TEST(settings__of_the_largest_values)
{
    const struct settings most = {
#define SETTINGS_MOST(name, most) .name = most,
        SETTINGS(SETTINGS_MOST)
#undef SETTINGS_MOST
    };
    struct settings heard;

    ck_assert_int_eq(tell(&most, &heard), 0);
    ck_assert_mem_eq(&heard, &most, sizeof most);
}

TEST(settings_hear__values_out_of_range)
{
    struct settings bad[] = {some, some, some, some, some, some, some};
    struct settings heard;

    complain_silently();
    bad[0].channel = 6;
    bad[1].congestion = 5;
    bad[2].depth = 0;
    bad[3].limit_ns = UINT64_MAX;
    bad[4].has_keys = 2;
    bad[5].flows = 0;
    bad[6].flows = 65;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(tell(&bad[i], &heard), -1);
}

TEST(settings_hear__the_other_end_is_gone)
{
    struct settings heard;
    int ends[2];

    complain_silently();
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    struct control far = {.fd = ends[1]};
    ck_assert_int_eq(write(ends[0], &some, sizeof some / 2), (ssize_t)(sizeof some / 2));
    close(ends[0]);
    ck_assert_int_eq(settings_hear(&far, &heard), -1);
    close(ends[1]);
}
