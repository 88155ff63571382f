/* What comes from the user, and what is shown: locations, lines of a meeting, names with anything
 * in them. */
#include "common/meeting.h"
#include "zcrp-cp/ends/ends.h"
#include "zcrp-cp/user/location.h"
#include "zcrp-cp/user/progress.h"

#include "../../support/own.h"
#include "../../support/suite.h"
#include "common/complain.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *word;
    int code;
    enum location_kind kind;
    const char *login, *shell, *host, *path;
} locations[] = {
    {"a/b", 0, LOCATION_HERE, "", "", "", "a/b"},
    {"./a:b", 0, LOCATION_HERE, "", "", "", "./a:b"},
    {"/a:b", 0, LOCATION_HERE, "", "", "", "/a:b"},
    {"h:", 0, LOCATION_SHELL, "h", "h", "h", ""},
    {"h:a:b", 0, LOCATION_SHELL, "h", "h", "h", "a:b"},
    {"u@h:/a", 0, LOCATION_SHELL, "u@h", "u@h", "h", "/a"},
    {"h::a", 0, LOCATION_SERVER, "h", "h", "h", "a"},
    {"[2001:db8::1]:a", 0, LOCATION_SHELL, "[2001:db8::1]", "2001:db8::1", "2001:db8::1", "a"},
    {"u@[::1]::a", 0, LOCATION_SERVER, "u@[::1]", "u@::1", "::1", "a"},
    {"[x", 0, LOCATION_HERE, "", "", "", "[x"},
    {":a", -1, LOCATION_HERE, "", "", "", ""},
    {"u@:a", -1, LOCATION_HERE, "", "", "", ""},
    {"-x:a", -1, LOCATION_HERE, "", "", "", ""},
    {"u@-x:a", -1, LOCATION_HERE, "", "", "", ""},
    {"", -1, LOCATION_HERE, "", "", "", ""},
};

TEST(location_read__table, .rows = ROWS(locations))
{
    struct location location;

    complain_silently();
    ck_assert_int_eq(location_read(&location, locations[_i].word), locations[_i].code);
    if (locations[_i].code != 0)
        return;
    ck_assert_int_eq((int)location.kind, (int)locations[_i].kind);
    ck_assert_str_eq(location.login, locations[_i].login);
    ck_assert_str_eq(location.shell, locations[_i].shell);
    ck_assert_str_eq(location.host, locations[_i].host);
    ck_assert_str_eq(location.path, locations[_i].path);
}

/* What stands before the name and behind it, and the name itself. */
static const struct {
    const char *before, *name, *behind;
} named[] = {
    {"", "a", ""},   {"a/", "b", ""},    {"a/", "b", "//"},  {"/", "a", "/"},
    {"h:", "a", ""}, {"h:a/", "b", "/"}, {"u@h::", "a", ""}, {"[::1]:/a/", "b", ""},
    {"h:", "", ""},  {"h::", "", ""},    {"h:", "", "~"},    {"h:", "", "~/"},
    {"", "~", ""},   {"h:~/", "~", ""},  {"h:", "~a", ""},   {"a/", "", "."},
    {"", "", "."},   {"", "", ".."},     {"a/", "", "../"},  {"", "", "/"},
    {"h:", "", "/"}, {"h:", "...", ""},  {"./", "a:b", ""},
};

TEST(location_name__table, .rows = ROWS(named))
{
    char word[64];

    (void)snprintf(word, sizeof(word), "%s%s%s", named[_i].before, named[_i].name,
                   named[_i].behind);
    struct text name = location_name(word);
    ck_assert_uint_eq(name.length, strlen(named[_i].name));
    ck_assert_ptr_eq(name.bytes, word + strlen(named[_i].before));
}

static const struct {
    const char *words[3];
    const char *path, *called;
} calls[] = {
    {{"a"}, "a", "a"},
    {{"a/b"}, "b/c", "a/b/c"},
    {{"/a/b/"}, "b/c/d", "/a/b/c/d"},
    {{"u@h:a/b"}, "b", "u@h:a/b"},
    {{"h::/a/b//"}, "b/c", "h::/a/b/c"},
    {{"h:b"}, "new/c", "h:b/c"}, /* as it is called here */
    {{"h:"}, "a/b", "h:a/b"},
    {{"h:/"}, "a", "h:/a"},
    {{"h:~"}, "a", "h:~/a"},
    {{"a/."}, "b", "a/./b"},
    {{"h:.."}, ".", "h:.."},
    {{"h:a/b", "h:c/d"}, "d/e", "h:c/d/e"},
    {{"h:a/b", "h:c/d"}, "b", "h:a/b"},
    {{"h:a/b", "h:c/.", "h:e"}, "d/b", "h:c/./d/b"},
    {{"h:a/b", "h:c/d"}, "e/f", "e/f"},
    {{NULL}, "a/b", "a/b"},
};

TEST(location_call__table, .rows = ROWS(calls))
{
    char out[NAMED_ROOM], *words[3];
    struct text path = text_of(calls[_i].path);
    int count = 0;

    for (; count < 3 && calls[_i].words[count] != NULL; count++)
        words[count] = (char *)calls[_i].words[count];
    struct text called = location_call(words, count, path, out);
    ck_assert_uint_eq(called.length, strlen(calls[_i].called));
    ck_assert_mem_eq(called.bytes, calls[_i].called, called.length);
}

/* What a far end may list. */
static const struct {
    const char *words[3];
    const char *path;
    bool is_asked_for;
} listed[] = {
    {{"h:run.h5"}, "run.h5", true},
    {{"h:run.h5"}, ".bashrc", false},
    {{"h:run.h5"}, ".ssh/authorized_keys", false},
    {{"h:run.h5"}, "run.h", false},
    {{"h:run.h5"}, "run.h55", false},
    {{"h:a/run.h5"}, "a/run.h5", false},
    {{"h::/a/b//"}, "b/c/d", true},
    {{"h:a/b", "h:c/d"}, "d/e", true},
    {{"h:a/b", "h:c/d"}, "c/d", false},
    {{"h:..."}, "...", true},
    {{"h:a~"}, "a~", true},
    {{"h:/~a"}, "~a", true},
    {{"h:/~a"}, "b", false},
    {{"h::~a"}, "~a", true},
    {{"h::~a"}, "b", false},
    /* names that only the far end knows */
    {{"h:"}, "any", true},
    {{"h:~"}, "any", true},
    {{"h:/"}, "any", true},
    {{"h:a/."}, "any", true},
    {{"h:a/.."}, "any/b", true},
    {{"h:~a"}, "home", true},
    {{"h:~a//"}, "home", true},
    {{"h:~a/b"}, "b", true},
    {{"h:~a/b"}, "home", false},
    {{"h:a", "h:b/."}, "any", true},
};

TEST(location_asks_for__table, .rows = ROWS(listed))
{
    char *words[3];
    int count = 0;

    for (; count < 3 && listed[_i].words[count] != NULL; count++)
        words[count] = (char *)listed[_i].words[count];
    ck_assert_int_eq(location_asks_for(words, count, text_of(listed[_i].path)),
                     listed[_i].is_asked_for);
}

/* A stranger's path that is as long as it can be. */
TEST(location_call__long)
{
    static char word[PATH_MOST + HOST_ROOM], path[PATH_MOST], out[NAMED_ROOM];
    char *words[] = {word};

    memset(word, 'w', sizeof(word) - 1);
    memset(path, 'p', sizeof(path));
    path[1] = '/';
    struct text called = location_call(words, 1, (struct text){path, sizeof(path)}, out);
    ck_assert_uint_lt(called.length, NAMED_ROOM);
    ck_assert_ptr_eq(called.bytes, out);
}

static const struct {
    const char *text, *shown;
    size_t length; /* 0: strlen */
} escapes[] = {
    {"plain name.txt", "plain name.txt", 0},
    {"a\nb\033[2J", "a\\012b\\033[2J", 0},
    {"back\\slash", "back\\134slash", 0},
    {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 0},
    {"\xc3", "\\303", 0},
    {"\xc2\x9b", "\\302\\233", 0},          /* a control of C1 */
    {"\xe2\x80\xae", "\\342\\200\\256", 0}, /* turns the line */
    {"\xc0\xaf", "\\300\\257", 0},          /* too long for what it is */
    {"\xed\xa0\x80", "\\355\\240\\200", 0}, /* half of a pair */
    {"\xff\x7f", "\\377\\177", 0},
    {"a\0b", "a\\000b", 3},
};

TEST(escape__table, .rows = ROWS(escapes))
{
    char shown[ESCAPED_ROOM];
    struct text text = text_of(escapes[_i].text);

    if (escapes[_i].length > 0)
        text.length = escapes[_i].length;
    ck_assert_str_eq(escape(shown, sizeof(shown), text), escapes[_i].shown);
}

TEST(escape__little_room)
{
    char shown[6];

    ck_assert_str_eq(escape(shown, sizeof(shown), (struct text){"abcdefgh", 8}), "abcde");
    ck_assert_str_eq(escape(shown, sizeof(shown), (struct text){"ab\n", 3}), "ab");
}

TEST(meeting__lines)
{
    struct meeting made, read;
    char line[MEETING_ROOM];
    uint16_t port = 0;
    bool is_one_host = false;

    meeting_make(&made, 7000);
    meeting_write(&made, &program_of_copies, line);
    ck_assert(line[strlen(line) - 1] == '\n');
    memset(&read, 0, sizeof(read));
    ck_assert(meeting_read(&read, &program_of_copies, line));
    ck_assert_mem_eq(read.key, made.key, MEETING_KEY_BYTES);
    ck_assert_mem_eq(read.near_proof, made.near_proof, PROOF_BYTES);
    ck_assert_mem_eq(read.far_proof, made.far_proof, PROOF_BYTES);
    ck_assert_uint_eq(read.host, made.host);
    ck_assert_uint_eq(read.port, 7000);
    for (size_t length = 0; length + 6 < strlen(line); length += 7) {
        char cut[MEETING_ROOM];

        memcpy(cut, line, length);
        cut[length] = '\0';
        ck_assert(!meeting_read(&read, &program_of_copies, cut));
    }
    meeting_write_port(&program_of_copies, 40000, true, line);
    ck_assert(meeting_read_port(&program_of_copies, line, &port, &is_one_host));
    ck_assert_uint_eq(port, 40000);
    ck_assert(!meeting_read_port(&program_of_copies, "zcrp-cp 1 0 0\n", &port, &is_one_host));
    ck_assert(!meeting_read_port(&program_of_copies, "zcrp-cp 1 70000 0\n", &port, &is_one_host));
    ck_assert(!meeting_read_port(&program_of_copies, "zcrp-cp 9 7000 0\n", &port, &is_one_host));
    ck_assert(!meeting_read_port(&program_of_copies, "Welcome to zcrp-cp\n", &port, &is_one_host));
    ck_assert(meeting_is_line(&program_of_copies, "zcrp-cp 9 something\n"));
    ck_assert(!meeting_is_line(&program_of_copies, "Welcome\n"));
}

/* Without /proc two hosts must not take each other for one: the copy would call 127.0.0.1. */
TEST(meeting_host__that_cannot_be_told)
{
    struct meeting made;

    meeting_make(&made, 0);
    ck_assert_uint_eq(meeting_host(), made.host);
    struct rlimit before = own_leave_descriptors(0);
    uint64_t first = meeting_host(), second = meeting_host();
    own_limit_descriptors(before);
    ck_assert_uint_ne(first, made.host);
    ck_assert_uint_ne(first, second);
}
