/* Waiting for something to change that a futex counts, and that may be interrupted: the peer of a
 * connection, a caller of a listener, an offer.
 *
 *     waiter                                    whoever changes it
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

/* Something has changed, and is visible: wakes those who wait. */
void changes_tell(_Atomic uint32_t *changes);

#endif
