/* A completion queue: operations that have ended, and were not read yet. It has room for all, since
 * each brings its own. */
#ifndef FABRIC_CQ_H
#define FABRIC_CQ_H

#include "op.h"
#include "waker.h"

#include <rdma/fi_eq.h>

struct cq {
    struct fid_cq fid;
    struct domain *domain;
    enum fi_cq_format format; /* (c) */
    struct waker waker;
    struct list ended; /* struct op */
    bool is_signalled; /* by fi_cq_signal */
    int users;         /* endpoints that it is bound to */
};

int cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context);

/* Takes over the operation. Within the mutex. */
void cq_add(struct cq *cq, struct op *op);

/* 0 if a program may sleep on the descriptor; -FI_EAGAIN if there is something to read. */
int cq_trywait(struct cq *cq);

#endif
