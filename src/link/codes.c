#include "codes.h"

#include "core/check.h"
#include "platform/reason.h"
#include "zcrp.h"

#include <errno.h>
#include <string.h>

/* What an outcome is called, and whether it ends the whole session. */
static const struct {
    int code;
    bool ends_session;
} meanings[] = {
    [OUTCOME_OK] = {ZCRP_OK, false},
    [OUTCOME_TOO_LARGE] = {ZCRP_ERROR_TOO_LARGE, false},
    [OUTCOME_CANCELLED] = {ZCRP_ERROR_CANCELLED, false},
    [OUTCOME_PEER_CANCELLED] = {ZCRP_ERROR_PEER_CANCELLED, false},
    [OUTCOME_FAULT] = {ZCRP_ERROR_FAULT, false},
    [OUTCOME_CLOSED] = {ZCRP_ERROR_CLOSED, false},
    [OUTCOME_REFUSED] = {ZCRP_ERROR_REFUSED, true},
    [OUTCOME_UNREACHABLE] = {ZCRP_ERROR_UNREACHABLE, true},
    [OUTCOME_VERSION] = {ZCRP_ERROR_VERSION, true},
    [OUTCOME_NOT_ADMITTED] = {ZCRP_ERROR_NOT_ADMITTED, true},
    [OUTCOME_SILENT] = {ZCRP_ERROR_SILENT, true},
    [OUTCOME_STALLED] = {ZCRP_ERROR_STALLED, true},
    [OUTCOME_PROTOCOL] = {ZCRP_ERROR_PROTOCOL, true},
    [OUTCOME_RESTARTED] = {ZCRP_ERROR_RESTARTED, true},
    [OUTCOME_PEER_CLOSED] = {ZCRP_ERROR_PEER_CLOSED, true},
    [OUTCOME_CUT_OFF] = {ZCRP_ERROR_CUT_OFF, true},
    [OUTCOME_APART] = {ZCRP_ERROR_APART, true},
    [OUTCOME_KEYS] = {ZCRP_ERROR_KEYS, true},
    [OUTCOME_DIED] = {ZCRP_ERROR_DIED, true},
};

_Static_assert(sizeof(meanings) / sizeof(meanings[0]) == OUTCOME_DIED + 1, "of each outcome");

int code_of_outcome(enum outcome outcome, bool is_broken)
{
    CHECK(outcome == OUTCOME_OK || meanings[outcome].code != ZCRP_OK);
    return outcome == OUTCOME_CLOSED && is_broken ? ZCRP_ERROR_CHANNEL : meanings[outcome].code;
}

int code_of_link(enum peer_link link, enum outcome ended)
{
    switch (link) {
    case LINK_ASKING:
        return ZCRP_ERROR_BUSY;
    case LINK_UP:
        return ZCRP_OK;
    case LINK_ENDED:
        break;
    }
    return code_of_outcome(ended, false);
}

bool code_ends_session(enum outcome outcome)
{
    return meanings[outcome].ends_session;
}

int code_of_channel(int error)
{
    switch (error) {
    case -EBADF:
        return ZCRP_ERROR_DESCRIPTOR;
    case -ENOTSOCK:
    case -EPROTOTYPE:
    case -EAFNOSUPPORT:
        return ZCRP_ERROR_NOT_SOCKET;
    case -ENOTCONN:
        return ZCRP_ERROR_NOT_CONNECTED;
    case -EINVAL:
        return reason_say(ZCRP_ERROR_ARGUMENT, "the system refuses: %s", strerror(EINVAL));
    case -ENOMEM:
        return ZCRP_ERROR_MEMORY;
    default:
        errno = -error;
        return reason_say(ZCRP_ERROR_SYSTEM, "a system call failed: %s", strerror(errno));
    }
}

int code_of_null(const char *argument)
{
    return reason_say(ZCRP_ERROR_ARGUMENT, "%s is NULL", argument);
}

const char *zcrp_strerror(int code)
{
    static const char *const text[] = {
#define ERROR_TEXT(name, text) text,
        ZCRP_ERRORS(ERROR_TEXT)
#undef ERROR_TEXT
    };

    if (code == ZCRP_OK)
        return "success";
    if (code > 0 || code < -ZCRP_ERROR_COUNT)
        return "no code of this library";
    return text[-1 - code];
}

const char *zcrp_explain(int code)
{
    const char *reason = reason_of(code);

    return reason != NULL ? reason : zcrp_strerror(code);
}

int zcrp_version(void)
{
    return ZCRP_VERSION;
}
