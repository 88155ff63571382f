#include "codes.h"

#include "zcrp.h"

#include <errno.h>

int code_of_outcome(enum outcome outcome, bool is_broken)
{
    switch (outcome) {
    case OUTCOME_OK:
        return ZCRP_OK;
    case OUTCOME_TOO_LARGE:
        return ZCRP_ERROR_TOO_LARGE;
    case OUTCOME_CANCELLED:
        return ZCRP_ERROR_CANCELLED;
    case OUTCOME_PEER_CANCELLED:
        return ZCRP_ERROR_PEER_CANCELLED;
    case OUTCOME_FAULT:
        return ZCRP_ERROR_FAULT;
    case OUTCOME_REFUSED:
        return ZCRP_ERROR_REFUSED;
    case OUTCOME_UNREACHABLE:
        return ZCRP_ERROR_UNREACHABLE;
    case OUTCOME_VERSION:
        return ZCRP_ERROR_VERSION;
    case OUTCOME_SILENT:
        return ZCRP_ERROR_SILENT;
    case OUTCOME_STALLED:
        return ZCRP_ERROR_STALLED;
    case OUTCOME_PROTOCOL:
        return ZCRP_ERROR_PROTOCOL;
    case OUTCOME_RESTARTED:
        return ZCRP_ERROR_RESTARTED;
    case OUTCOME_PEER_CLOSED:
        return ZCRP_ERROR_PEER_CLOSED;
    case OUTCOME_APART:
        return ZCRP_ERROR_APART;
    case OUTCOME_KEYS:
        return ZCRP_ERROR_KEYS;
    case OUTCOME_CLOSED:
        break;
    }
    return is_broken ? ZCRP_ERROR_CHANNEL : ZCRP_ERROR_CLOSED;
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
    switch (outcome) {
    case OUTCOME_REFUSED:
    case OUTCOME_UNREACHABLE:
    case OUTCOME_VERSION:
    case OUTCOME_SILENT:
    case OUTCOME_STALLED:
    case OUTCOME_PROTOCOL:
    case OUTCOME_RESTARTED:
    case OUTCOME_PEER_CLOSED:
    case OUTCOME_APART:
    case OUTCOME_KEYS:
        return true;
    case OUTCOME_OK:
    case OUTCOME_TOO_LARGE:
    case OUTCOME_CANCELLED:
    case OUTCOME_PEER_CANCELLED:
    case OUTCOME_FAULT:
    case OUTCOME_CLOSED:
        break;
    }
    return false;
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
        return ZCRP_ERROR_ARGUMENT;
    case -ENOMEM:
        return ZCRP_ERROR_MEMORY;
    default:
        errno = -error;
        return ZCRP_ERROR_SYSTEM;
    }
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

int zcrp_version(void)
{
    return ZCRP_VERSION;
}
