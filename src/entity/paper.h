/* The paper's API keeps one sender and one receiver for the process. */
#ifndef ZCRP_ENTITY_PAPER_H
#define ZCRP_ENTITY_PAPER_H

/* In a child: nobody is within a call. What the parent had open can be closed here, and init works
 * again then. */
void paper_after_fork(void);

#endif
