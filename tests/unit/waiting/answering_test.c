#include "../../support/suite.h"
#include "waiting/wait_policy.h"

static struct answering answering;

/* So many messages, each answered at once. */
static void answer(int times)
{
    for (int i = 0; i < times; i++) {
        answering_on_message(&answering);
        answering_on_answer(&answering);
        answering_check(&answering);
    }
}

static void begin(void)
{
    answering = (struct answering){.count = 0};
    answer(ANSWERS_USUAL);
    ck_assert(answering_is_usual(&answering));
}

TEST(answering__usual_after_some)
{
    answering = (struct answering){.count = 0};
    answer(ANSWERS_USUAL - 1);
    ck_assert(!answering_is_usual(&answering));
    answer(1);
    ck_assert(answering_is_usual(&answering));
    answer(3 * ANSWERS_USUAL);
    ck_assert(answering_is_usual(&answering));
}

/* One that is not answered before the next wait ends it. */
TEST(answering_on_wait__unanswered)
{
    begin();
    answering_on_message(&answering);
    answering_on_wait(&answering);
    answering_check(&answering);
    ck_assert(!answering_is_usual(&answering));
    answer(ANSWERS_USUAL);
    ck_assert(answering_is_usual(&answering));
}

/* Waits that bring nothing, and what is sent unasked, tell nothing. */
TEST(answering__without_a_message)
{
    begin();
    answering_on_wait(&answering);
    answering_on_answer(&answering);
    ck_assert(answering_is_usual(&answering));
    answering = (struct answering){.count = 0};
    for (int i = 0; i < 2 * ANSWERS_USUAL; i++)
        answering_on_answer(&answering);
    ck_assert(!answering_is_usual(&answering));
}

TEST(answering_on_late__ends_it)
{
    begin();
    answering_on_message(&answering);
    answering_on_late(&answering);
    answering_on_answer(&answering);
    answering_check(&answering);
    ck_assert(!answering_is_usual(&answering));
}
