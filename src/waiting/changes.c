#include "changes.h"

#include "platform/sleep.h"
#include "platform/system.h"
#include "zcrp.h"

int changes_await(_Atomic uint32_t *changes, struct interrupt *interrupt, changes_look look,
                  void *context, instant deadline)
{
    uint32_t begun = interrupt_begin(interrupt);

    for (;;) {
        uint32_t seen = atomic_load(changes);
        int code = look(context);
        if (code != ZCRP_ERROR_BUSY)
            return code;
        if (interrupt_is_due(interrupt, begun)) {
            interrupt_tell(interrupt);
            return ZCRP_ERROR_INTERRUPTED;
        }
        if (clock_now() >= deadline)
            return ZCRP_ERROR_TIMEOUT;
        (void)futex_wait_either(changes, seen, &interrupt->raised, begun, deadline);
    }
}

void changes_tell(_Atomic uint32_t *changes)
{
    atomic_fetch_add(changes, 1);
    futex_wake_all(changes);
}
