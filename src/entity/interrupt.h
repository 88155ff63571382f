/* The interruption of an entity's waits, which may come from a signal handler.
 *
 *     waiter                              whoever interrupts
 *     begun = told                        raised++, wakes those who sleep
 *     while (not ended && raised == begun)
 *         wait
 *     told = raised
 *
 * All waits that began before it end; if there is none, the next one does. */
#ifndef ZCRP_ENTITY_INTERRUPT_H
#define ZCRP_ENTITY_INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* All zero: not interrupted. */
struct interrupt {
    _Atomic uint32_t raised; /* (a) so many times; sleepers look at it */
    _Atomic uint32_t told;   /* (a) of these, that a wait has ended with */
};

/* A wait begins: what to compare with. */
static inline uint32_t interrupt_begin(const struct interrupt *i)
{
    return atomic_load(&i->told);
}

/* Has it been interrupted? */
static inline bool interrupt_is_due(const struct interrupt *i, uint32_t begun)
{
    return atomic_load(&i->raised) != begun;
}

/* The wait ends and says so. */
static inline void interrupt_tell(struct interrupt *i)
{
    atomic_store(&i->told, atomic_load(&i->raised));
}

/* Was anything in this process ever interrupted? */
bool interrupt_is_known(void);

#endif
