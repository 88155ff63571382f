/* What a child process puts in order, so that it can open entities of its own. */
#ifndef ZCRP_ENTITY_FORK_H
#define ZCRP_ENTITY_FORK_H

/* From now on every child does so. Any thread, any number of times. */
void fork_watch(void);

#endif
