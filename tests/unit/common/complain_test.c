#include "common/complain.h"

#include "../../support/suite.h"

#include <string.h>

TEST(complain__keeps_the_last_line)
{
    complain_silently();
    ck_assert_str_eq(complain_last(), "");
    ck_assert_int_eq(complain("cannot read %s: %s", "key", "no"), -1);
    ck_assert_str_eq(complain_last(), "cannot read key: no");
}

/* A terminal obeys them, and what the other end says may have any. */
TEST(complain__has_no_control_characters)
{
    complain_silently();
    (void)complain("the other end says '%s'", "\x1b]0;title\x07\n\x7f bl\xc3\xa5");
    ck_assert_str_eq(complain_last(), "the other end says '?]0;title??? bl\xc3\xa5'");
}

/* Terminals that speak UTF-8 obey U+0080 to U+009F, and others these bytes by themselves. */
TEST(complain__has_none_of_utf8_either)
{
    complain_silently();
    (void)complain("'%s'", "\xc2\x9b"
                           "2J \xc2\x80 \xc2\xa0 \xc3\x9b \xe2\x82\xac");
    ck_assert_str_eq(complain_last(), "'??2J ?? \xc2\xa0 \xc3\x9b \xe2\x82\xac'");
    (void)complain("'%s'", "\x9b"
                           "2J \xc2 \xe2\x9b \xff");
    ck_assert_str_eq(complain_last(), "'?2J ? ?? ?'");
}

TEST(complain__is_cut)
{
    char text[2 * COMPLAIN_ROOM];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    complain_silently();
    (void)complain("%s", text);
    ck_assert_uint_eq(strlen(complain_last()), COMPLAIN_ROOM - 1);
}
