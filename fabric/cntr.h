/* A counter of operations that have ended, well or not. */
#ifndef FABRIC_CNTR_H
#define FABRIC_CNTR_H

#include "list.h"
#include "waker.h"

#include <rdma/fi_eq.h>

struct cntr {
    struct fid_cntr fid;
    struct domain *domain;
    struct waker waker;
    uint64_t value, errors;
    struct list waiters; /* threads in fi_cntr_wait */
    int users;           /* endpoints that it is bound to */
};

int cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
              void *context);

/* Whoever wants to sleep on the counter's descriptor looks at the value behind this. */
void cntr_trywait(struct cntr *c);

/* Within the mutex. */
void cntr_on_success(struct cntr *c);
void cntr_on_error(struct cntr *c);

#endif
