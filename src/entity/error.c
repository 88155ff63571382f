#include "error.h"

#include "zcrp.h"

#include <errno.h>

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

int error_of_name(int error)
{
    switch (error) {
    case 0:
        return ZCRP_OK;
    case -ETIMEDOUT:
        return ZCRP_ERROR_TIMEOUT;
    case -EADDRINUSE:
    case -EADDRNOTAVAIL:
    case -EACCES:
    case -EAFNOSUPPORT:
    case -ENETUNREACH:
    case -EHOSTUNREACH:
        return ZCRP_ERROR_ADDRESS;
    default:
        break;
    }
    if (error < -4095) /* no error number: the resolver's */
        return ZCRP_ERROR_ADDRESS;
    errno = -error;
    return ZCRP_ERROR_SYSTEM;
}

int zcrp_version(void)
{
    return ZCRP_VERSION;
}
