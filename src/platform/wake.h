/* The wake: gets a thread out of its wait for a descriptor. Signals before a clear count once. */
#ifndef ZCRP_PLATFORM_WAKE_H
#define ZCRP_PLATFORM_WAKE_H

struct wake {
    int fd; /* (c) an eventfd, not blocking */
};

/* 0, or the system's negative error number (-EMFILE, -ENFILE: no descriptor left). */
__attribute__((warn_unused_result)) int wake_init(struct wake *w);

/* Closes the descriptor; nobody waits on it or signals it any more. */
void wake_fini(struct wake *w);

/* Readable from signal to clear: to be waited for together with others. */
int wake_fd(const struct wake *w);

/* Any thread; never blocks, cannot fail. */
void wake_signal(struct wake *w);

/* Takes all signals back. Clear first, then look what there is to do: what is signalled in between
 * wakes again. */
void wake_clear(struct wake *w);

#endif
