/* A message that ends just when somebody asks for it. */
/* wrap: latch_is_open */
#include "../support/mock.h"
#include "link/message.h"

bool __real_latch_is_open(const struct latch *latch);

static struct message *ending; /* it ends behind the first look at its latch; NULL: none does */

/* The message ends, and its user may see it. */
static void end(struct message *m, int code, nlong length)
{
    message_decide(m, code, length);
    latch_open(&m->latch);
}

bool __wrap_latch_is_open(const struct latch *latch)
{
    bool is_open = __real_latch_is_open(latch);
    struct message *m = ending;

    ending = NULL;
    if (m != NULL)
        end(m, ZCRP_OK, 1);
    return is_open;
}

TEST(message_code__ends_behind_the_look)
{
    struct message m = {.code = ZCRP_ERROR_IDLE};

    message_begin(&m, NULL, 1);
    ending = &m;
    assert_int_equal(message_code(&m), ZCRP_ERROR_BUSY);
    assert_int_equal(message_code(&m), ZCRP_OK);
}
