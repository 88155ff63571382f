/* A completion queue: operations that have ended, and were not read yet. It has room for all that
 * the program has begun, since each brings its own.
 *
 * A buffer for many messages is one operation that makes any number of completions. While nobody
 * reads, so that the queue is full, further messages for such a buffer wait in their rings. */
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
    struct list ended;     /* struct op, */
    size_t count;          /* that many */
    size_t most;           /* (c) with that many it is full */
    bool is_full;          /* a message waits for room */
    struct list endpoints; /* struct ep, whose receives end here */
    bool is_signalled;     /* by fi_cq_signal */
    int users;             /* endpoints that it is bound to */
};

int cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context);

/* Takes over the operation. Within the mutex. */
void cq_add(struct cq *cq, struct op *op);

/* Is there room for one more message in a buffer for many? Within the mutex. */
bool cq_has_room(struct cq *cq);

/* 0 if a program may sleep on the descriptor; -FI_EAGAIN if there is something to read. */
int cq_trywait(struct cq *cq);

#endif
