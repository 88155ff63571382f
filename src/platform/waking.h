/* Waking a waiter, in five ways:
 *
 *     latch       one message has ended: its waiter wakes
 *     bell        some message of this process has ended: everybody who waits for several wakes
 *     wake        an eventfd: gets a thread out of its wait for descriptors
 *     alarm       at an instant that other threads can move, without waking the waiter for it
 *     interrupt   ends the waits of an entity early, also from a signal handler
 *
 * Nothing here takes a lock or allocates. */
#ifndef ZCRP_PLATFORM_WAKING_H
#define ZCRP_PLATFORM_WAKING_H

#include "core/instant.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- the latch ----
 *
 * It opens once and stays open.
 *
 *     CLOSED --a waiter goes to sleep--> SLEEPERS <--> ROUSED
 *        |                                  |            |
 *        +-------------- open --------------+------------+--> OPEN
 *
 * Opening costs a system call only if somebody sleeps, and waiting only if it has to sleep.
 *
 * The waiter owns the latch's memory, and may give that memory back the moment it sees OPEN. So
 * latch_open touches nothing of it behind the one atomic exchange. Waking then uses the address
 * alone; if something else lives there by now, its sleepers wake in vain, and look again. */
struct latch {
    _Atomic uint32_t state; /* (a) enum latch_state; any number of threads may wait */
};

enum { LATCH_WAKES = 4 };

/* The last two end a wait. */
enum latch_state { LATCH_CLOSED, LATCH_SLEEPERS, LATCH_ROUSED, LATCH_OPEN };

/* Closes the latch, as it has to be before first use. Nobody may wait on it or open it. */
void latch_reset(struct latch *latch);

/* Opens the latch and wakes all sleepers. They see what was written before. The latch's memory may
 * be gone when this returns. Cannot fail. */
void latch_open(struct latch *latch);

/* Latches that were opened under a mutex although somebody sleeps on them. Their memory may be
 * somebody else's by now: it keeps their addresses alone. All zero: none. */
struct wakes {
    uint32_t count;
    const struct latch *latch[LATCH_WAKES];
};

/* Opens the latch; wakes_run, which is due behind the mutex, wakes its sleepers. If there is no
 * room for the latch, they wake at once. */
void latch_open_under_mutex(struct latch *latch, struct wakes *wakes);
void wakes_run(const struct wakes *wakes);

/* Sequentially consistent, for the bell below. */
bool latch_is_open(const struct latch *latch);

/* Waits for the latch to open: looks at it for `spin` first (0: not at all), then sleeps. Either
 * ends at the deadline (NEVER: no limit), or when *other is not `begun` any more (NULL: none), or
 * when somebody rouses it. True if it is open. Signals do not end the wait. A deadline in the past
 * only asks. */
bool latch_wait(struct latch *latch, instant deadline, duration spin, const _Atomic uint32_t *other,
                uint32_t begun);

/* Ends such waits early; if there is none, the next one. True if somebody may sleep: then
 * latch_wake is due. The latch's owner keeps it until then. */
bool latch_rouse(struct latch *latch);

/* Wakes those who sleep on a latch that was opened or roused. A system call. */
void latch_wake(const struct latch *latch);

/* ---- the bell ----
 *
 * One for the whole process, for threads that wait for any of several messages. A thread can sleep
 * on one latch only; so such a thread listens to the bell, which rings after every latch opens.
 *
 *     waiter                                    the thread that ends a message
 *     heard = bell_listen()
 *     while (no latch of mine is open           latch_open(&message->latch)
 *            && bell_wait(&heard, deadline))    bell_ring()
 *     bell_leave()
 *
 * No ring is missed: either the waiter finds the latch open, or the ringer finds the waiter (both
 * are sequentially consistent: each writes its own word before it reads the other's).
 *
 * Every ring wakes every listener. Each looks through its messages again. That is right for a few
 * threads that wait for many messages, and wrong for thousands of threads. */

/* Begins to listen; to be ended with bell_leave. The result counts the rings so far. */
uint32_t bell_listen(void);

/* Sleeps until the bell has rung since `*heard`, which is brought up to date, or until the deadline
 * (NEVER: no limit). False once the deadline has passed. Signals do not end the wait. */
bool bell_wait(uint32_t *heard, instant deadline);

/* Does anybody listen? Sequentially consistent. */
bool bell_is_heard(void);

void bell_leave(void);

/* Wakes all who listen. One atomic load when nobody does. Cannot fail; a signal handler may call
 * it. */
void bell_ring(void);

/* In a child: nobody listens. */
void bell_after_fork(void);

/* ---- the wake ----
 *
 * Signals before a clear count once. */
struct wake {
    int fd; /* (c) an eventfd, not blocking */
};

/* 0, or the system's negative error number (-EMFILE, -ENFILE: no descriptor left). */
__attribute__((warn_unused_result)) int wake_init(struct wake *w);

/* Closes the descriptor; nobody waits on it or signals it any more. */
void wake_fini(struct wake *w);

/* Readable from signal to clear: to be waited for together with others. */
int wake_fd(const struct wake *w);

/* Any thread; never blocks, cannot fail. A signal handler may call it. */
void wake_signal(struct wake *w);

/* Clears all signals. Clear first, then look what there is to do: a signal in between wakes
 * again. */
void wake_clear(struct wake *w);

/* ---- the alarm ----
 *
 * Rings once for each time that it is set. */
struct alarm {
    int fd; /* (c) a timerfd */
};

/* 0, or the system's negative error number (-EMFILE, -ENFILE). */
__attribute__((warn_unused_result)) int alarm_init(struct alarm *a);

/* Nobody waits for it or sets it any more. */
void alarm_fini(struct alarm *a);

/* Rings then, and not when it was to ring before (NEVER: not at all). A system call; any thread. */
void alarm_set(struct alarm *a, instant at);

/* Sleeps until it rings; also early, for no reason. One thread. */
void alarm_wait(struct alarm *a);

/* ---- the interrupt ----
 *
 *     waiter                              the interrupting thread, or signal handler
 *     begun = told                        raised++, and wakes those who sleep
 *     while (not ended && raised == begun)
 *         wait
 *     told = raised
 *
 * It ends all waits that began before it; if there is none, it ends the next one. A wait for any of
 * several counts the interrupts of the process instead: an interrupt that came after it began ends
 * it, although another wait has told of it.
 *
 * All zero: not interrupted. */
struct interrupt {
    _Atomic uint32_t raised; /* (a) number of interrupts; sleepers look at it */
    _Atomic uint32_t told;   /* (a) of these, the number that a wait has ended with */
    _Atomic uint64_t at;     /* (a) interrupts of the process by the last one; 0: none */
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

/* Has it been interrupted, or was it behind that number of the process's interrupts? */
static inline bool interrupt_is_due_since(const struct interrupt *i, uint64_t interrupts)
{
    return interrupt_is_due(i, interrupt_begin(i)) || atomic_load(&i->at) > interrupts;
}

/* The wait ends and says so. */
void interrupt_tell(struct interrupt *i);

/* Interrupts, and wakes those who sleep on `raised`. A signal handler may call it. */
void interrupt_raise(struct interrupt *i);

/* Interrupts of anything in this process so far. */
uint64_t interrupts_so_far(void);

#endif
