/* Interruptible waits for a change, which a futex counts: a connection's peer, a listener's caller,
 * an offer.
 *
 *     waiter                                    the thread that changes it
 *     look: BUSY                                changes++, and wakes
 *     sleeps while nothing has changed   <----- */
#ifndef ZCRP_WAITING_CHANGES_H
#define ZCRP_WAITING_CHANGES_H

#include "platform/waking.h"

/* What a look at the state finds: ZCRP_ERROR_BUSY, or how the wait ends. */
typedef int (*changes_look)(void *context);

/* Looks, and sleeps while it finds BUSY. Its code, ZCRP_ERROR_TIMEOUT or _INTERRUPTED. It looks
 * once at least. */
int changes_await(_Atomic uint32_t *changes, struct interrupt *interrupt, changes_look look,
                  void *context, instant deadline);

/* Wakes the waiters. The change is visible by now. */
void changes_tell(_Atomic uint32_t *changes);

#endif
