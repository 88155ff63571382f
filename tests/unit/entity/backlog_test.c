#include "../../support/suite.h"
#include "link/backlog.h"

enum { COUNT = 8 };

static struct backlog backlog;
static struct message message[COUNT];

static void begin(int count)
{
    backlog = (struct backlog){.blanks = 0};
    for (int i = 0; i < COUNT; i++)
        message[i] = (struct message){.life = MESSAGE_IDLE};
    for (int i = 0; i < count; i++)
        backlog_add(&backlog, &message[i]);
}

/* Takes all there is and compares it with a text: a letter for each message, '-' for a blank. */
static void expect(const char *text)
{
    for (; *text != 0; text++) {
        const struct message *head = *text == '-' ? NULL : &message[*text - 'a'];
        ck_assert(!backlog_is_empty(&backlog));
        ck_assert_ptr_eq(backlog_head(&backlog), head);
        backlog_take(&backlog);
        ck_assert(head == NULL || head->life == MESSAGE_QUEUED);
    }
    ck_assert(backlog_is_empty(&backlog));
}

TEST(backlog_take__in_order)
{
    begin(4);
    ck_assert_int_eq(message[3].life, MESSAGE_QUEUED);
    ck_assert_int_eq(message[4].life, MESSAGE_IDLE);
    expect("abcd");
}

TEST(backlog_cancel__anywhere)
{
    static const struct {
        const char *cancelled, *left;
    } rows[] = {
        {"", "abcd"},   {"a", "-bcd"},   {"b", "a-cd"},    {"d", "abc-"},
        {"ab", "--cd"}, {"ba", "--cd"},  {"cd", "ab--"},   {"dc", "ab--"},
        {"bc", "a--d"}, {"bdc", "a---"}, {"abcd", "----"}, {"dcba", "----"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        begin(4);
        for (const char *c = rows[i].cancelled; *c != 0; c++)
            backlog_cancel(&backlog, &message[*c - 'a']);
        expect(rows[i].left);
    }
}

/* Blanks behind the last message come before the one that is added next. */
TEST(backlog_add__behind_blanks)
{
    begin(2);
    backlog_cancel(&backlog, &message[1]);
    backlog_add(&backlog, &message[2]);
    backlog_add(&backlog, &message[3]);
    expect("a-cd");
}

TEST(backlog_cancel__partly_taken)
{
    begin(3);
    backlog_cancel(&backlog, &message[0]);
    backlog_cancel(&backlog, &message[1]);
    backlog_take(&backlog);
    expect("-c");
}

/* In order, whatever blanks are before them; nothing is left, blanks neither. */
TEST(backlog_drop__all)
{
    begin(4);
    backlog_cancel(&backlog, &message[1]);
    backlog_cancel(&backlog, &message[3]);
    ck_assert_ptr_eq(backlog_drop(&backlog), &message[0]);
    ck_assert_ptr_eq(backlog_drop(&backlog), &message[2]);
    ck_assert_ptr_null(backlog_drop(&backlog));
    ck_assert(backlog_is_empty(&backlog));
}

TEST(backlog_take__empty, .signal = SIGABRT)
{
    begin(0);
    backlog_take(&backlog);
}
