#include "platform/reason.h"

#include "../../support/suite.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CODE = -7, OTHER = -8 };

TEST(reason_say__belongs_to_its_code)
{
    ck_assert_ptr_null(reason_of(CODE));
    ck_assert_ptr_null(reason_of(0));
    ck_assert_int_eq(reason_say(CODE, "%s is %d", "count", -1), CODE);
    ck_assert_str_eq(reason_of(CODE), "count is -1");
    ck_assert_ptr_null(reason_of(OTHER));
    ck_assert_int_eq(reason_say(OTHER, "full"), OTHER);
    ck_assert_str_eq(reason_of(OTHER), "full");
    ck_assert_ptr_null(reason_of(CODE));
}

TEST(reason_say__leaves_errno)
{
    errno = ENOSPC;
    (void)reason_say(CODE, "%s", strerror(EPERM));
    ck_assert_int_eq(errno, ENOSPC);
}

/* Who hands a reason on puts something before it. */
TEST(reason_say__may_quote_the_line_before)
{
    (void)reason_say(CODE, "no digits");
    (void)reason_say(CODE, "%s: %s", "key", reason_of(CODE));
    ck_assert_str_eq(reason_of(CODE), "key: no digits");
}

TEST(reason_say__is_cut)
{
    char text[2 * REASON_ROOM];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    (void)reason_say(CODE, "%s", text);
    ck_assert_uint_eq(strlen(reason_of(CODE)), REASON_ROOM - 1);
    ck_assert_int_eq(strncmp(reason_of(CODE), text, REASON_ROOM - 1), 0);
}

/* Two quotes, as long as they can be, and a sentence around them have room. */
TEST(reason_say__has_room_for_two_quotes)
{
    char text[1000];
    struct quote a, b;

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    (void)reason_say(CODE, "\"%s\", port %s: %0100d!", quote(&a, text), quote(&b, text), 1);
    ck_assert_int_eq(reason_of(CODE)[strlen(reason_of(CODE)) - 1], '!');
}

static void *say_another(void *seen)
{
    *(const char **)seen = reason_of(CODE);
    (void)reason_say(CODE, "of another thread");
    return NULL;
}

TEST(reason_of__is_the_threads_own)
{
    const char *seen = "something";
    pthread_t other;

    (void)reason_say(CODE, "of this thread");
    ck_assert_int_eq(pthread_create(&other, NULL, say_another, &seen), 0);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
    ck_assert_ptr_null(seen);
    ck_assert_str_eq(reason_of(CODE), "of this thread");
}

static bool works_in_child(void)
{
    if (reason_of(CODE) == NULL || strcmp(reason_of(CODE), "before") != 0)
        return false;
    (void)reason_say(CODE, "in the child");
    return strcmp(reason_of(CODE), "in the child") == 0;
}

TEST(reason_of__behind_a_fork)
{
    int status;

    (void)reason_say(CODE, "before");
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(works_in_child() ? 0 : 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_str_eq(reason_of(CODE), "before");
}

/* ---- quotes ---- */

static const struct {
    const char *text, *shown;
} quotes[] = {
    {"", ""},
    {"host.example.org", "host.example.org"},
    {"a b\"c\\d~", "a b\"c\\d~"},
    {"a\nb\tc", "a\\x0ab\\x09c"},
    {"\x1b[31mred", "\\x1b[31mred"},
    {"\x7f\x01", "\\x7f\\x01"},
    {"bl\xc3\xa5", "bl\xc3\xa5"},             /* å */
    {"\xe4\xb8\xad", "\xe4\xb8\xad"},         /* a Chinese character */
    {"\xf0\x9f\x94\x91", "\xf0\x9f\x94\x91"}, /* a key */
    {"\xc2\x9b"
     "31m",
     "\\xc2\\x9b"
     "31m"}, /* CSI, as one character */
    {"\x9b"
     "31m",
     "\\x9b"
     "31m"},                                      /* and as one byte */
    {"\xc0\x8a", "\\xc0\\x8a"},                   /* a newline, longer than need be */
    {"\xe0\x80\x8a", "\\xe0\\x80\\x8a"},          /* likewise */
    {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* half of a pair of UTF-16 */
    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* beyond the last character */
    {"\xff\xfe", "\\xff\\xfe"},
    {"a\xc3", "a\\xc3"}, /* it ends amid a character */
    {"a\xe4\xb8", "a\\xe4\\xb8"},
    {"\xe2\x80\xae"
     "txt",
     "\\xe2\\x80\\xae"
     "txt"},                             /* from here on from right to left */
    {"\xe2\x80\x8b", "\\xe2\\x80\\x8b"}, /* a space without width */
};

TEST(quote__shows_what_prints, .rows = ROWS(quotes))
{
    struct quote q;

    ck_assert_str_eq(quote(&q, quotes[_i].text), quotes[_i].shown);
}

/* Texts of every length, of characters of every length. */
TEST(quote__cuts_between_characters)
{
    static const char *const characters[] = {"x", "\xc3\xa5", "\xe4\xb8\xad", "\xf0\x9f\x94\x91",
                                             "\n"};

    for (size_t i = 0; i < sizeof(characters) / sizeof(characters[0]); i++) {
        char text[2 * QUOTE_ROOM + 8] = "";
        size_t bytes = strlen(characters[i]), shown = bytes == 1 && i > 0 ? 4 : bytes;
        for (size_t n = 0; (n + 1) * bytes < sizeof(text); n++) {
            struct quote q;
            memset(q.text, '#', sizeof(q.text));
            size_t length = strlen(quote(&q, text)), whole = n * shown;
            ck_assert_uint_lt(length, QUOTE_ROOM);
            if (whole <= QUOTE_ROOM - 4) {
                ck_assert_uint_eq(length, whole);
            } else {
                ck_assert_str_eq(q.text + length - 3, "...");
                ck_assert_uint_eq((length - 3) % shown, 0);
                ck_assert_uint_gt(length, QUOTE_ROOM - 8);
            }
            strcat(text, characters[i]);
        }
    }
}
