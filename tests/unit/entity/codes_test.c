/* What the user is told of an outcome, and of a link. */
#include "link/codes.h"

#include "../../support/suite.h"
#include "zcrp.h"

/* What ends one message leaves the others alone. What says that the peer is lost ends them all. */
static const struct {
    enum outcome outcome;
    int code;
    bool ends_session;
} rows[] = {
    {OUTCOME_OK, ZCRP_OK, false},
    {OUTCOME_TOO_LARGE, ZCRP_ERROR_TOO_LARGE, false},
    {OUTCOME_CANCELLED, ZCRP_ERROR_CANCELLED, false},
    {OUTCOME_PEER_CANCELLED, ZCRP_ERROR_PEER_CANCELLED, false},
    {OUTCOME_FAULT, ZCRP_ERROR_FAULT, false},
    {OUTCOME_CLOSED, ZCRP_ERROR_CLOSED, false},
    {OUTCOME_REFUSED, ZCRP_ERROR_REFUSED, true},
    {OUTCOME_UNREACHABLE, ZCRP_ERROR_UNREACHABLE, true},
    {OUTCOME_VERSION, ZCRP_ERROR_VERSION, true},
    {OUTCOME_NOT_ADMITTED, ZCRP_ERROR_NOT_ADMITTED, true},
    {OUTCOME_SILENT, ZCRP_ERROR_SILENT, true},
    {OUTCOME_STALLED, ZCRP_ERROR_STALLED, true},
    {OUTCOME_PROTOCOL, ZCRP_ERROR_PROTOCOL, true},
    {OUTCOME_RESTARTED, ZCRP_ERROR_RESTARTED, true},
    {OUTCOME_PEER_CLOSED, ZCRP_ERROR_PEER_CLOSED, true},
    {OUTCOME_CUT_OFF, ZCRP_ERROR_CUT_OFF, true},
    {OUTCOME_APART, ZCRP_ERROR_APART, true},
    {OUTCOME_KEYS, ZCRP_ERROR_KEYS, true},
    {OUTCOME_DIED, ZCRP_ERROR_DIED, true},
};

TEST(code_of_outcome__each, .rows = ROWS(rows))
{
    enum outcome outcome = rows[_i].outcome;
    bool is_closed = outcome == OUTCOME_CLOSED;

    ck_assert_int_eq(code_of_outcome(outcome, false), rows[_i].code);
    ck_assert_int_eq(code_of_outcome(outcome, true),
                     is_closed ? ZCRP_ERROR_CHANNEL : rows[_i].code);
    ck_assert(code_ends_session(outcome) == rows[_i].ends_session);
}

TEST(code_of_link__as_it_ended, .rows = ROWS(rows))
{
    ck_assert_int_eq(code_of_link(LINK_ENDED, rows[_i].outcome), rows[_i].code);
    ck_assert_int_eq(code_of_link(LINK_ASKING, rows[_i].outcome), ZCRP_ERROR_BUSY);
    ck_assert_int_eq(code_of_link(LINK_UP, rows[_i].outcome), ZCRP_OK);
}
