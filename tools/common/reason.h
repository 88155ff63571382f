/* Why a call of the library has failed, for who is to mend it: after ZCRP_ERROR_SYSTEM errno's
 * text. To be asked at once, while errno is that of the call. */
#ifndef COMMON_REASON_H
#define COMMON_REASON_H

#include <errno.h>
#include <string.h>

#include "zcrp.h"

static inline const char *reason_of(int code)
{
    return code == ZCRP_ERROR_SYSTEM ? strerror(errno) : zcrp_strerror(code);
}

#endif
