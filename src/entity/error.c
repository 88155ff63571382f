#include "zcrp.h"

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
