#include "signals.h"

#include <stddef.h>

void signals_catch_ends(void (*handler)(int number), int flags)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, before;

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(ends[i], &action, NULL);
    }
}
