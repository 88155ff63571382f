#include "environment.h"

#include <stdlib.h>
#include <string.h>

bool environment_is_set(const char *variable)
{
    const char *text = secure_getenv(variable);

    return text != NULL && *text != '\0' && strcmp(text, "0") != 0;
}
