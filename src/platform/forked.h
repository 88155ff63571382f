/* Forks: a child process has memory and descriptors of its parent's, but not its threads. What
 * knows the generation that it was made in can tell that it is in a child.
 *
 * Memory that a child shares with nobody may be in any state, because another thread of the parent
 * was just changing it. So what a child goes on using is put in order in the child, before fork
 * returns there. */
#ifndef ZCRP_PLATFORM_FORKED_H
#define ZCRP_PLATFORM_FORKED_H

#include <stdint.h>

/* How many forks lie between this process and the one that first asked. Any thread; a load. */
uint32_t forked_generation(void);

/* From the first call on, `child` runs in each child before fork returns there. It is the same in
 * all calls. Any thread. */
void forked_watch(void (*child)(void));

#endif
