/* An operation: one send, or one receive, from its call until the program has read its completion.
 * It is its own entry of the completion queue, so that a completion needs no memory. */
#ifndef FABRIC_OP_H
#define FABRIC_OP_H

#include "info.h"
#include "list.h"
#include "wire.h"
#include "zcrp.h"

#include <rdma/fabric.h>

struct domain;
struct ep;
struct peer;

enum op_kind { OP_SEND, OP_RECEIVE };

struct op {
    struct list in; /* the one list that it is in: posted, flying, matched, or its queue's */
    struct ep *ep;  /* NULL once it is in the queue */
    enum op_kind kind;
    bool is_told;      /* a success makes a completion; an error always does */
    bool is_discarded; /* a receive whose message nobody wants */
    void *context;
    int iov_count;
    uint64_t size; /* bytes that the pieces have, or the message */
    uint64_t tag;
    uint64_t ignore;          /* bits of the tag that do not count; of receives */
    struct peer *peer;        /* that it goes to, or has to come from; NULL: from any */
    uint32_t id;              /* of the rendezvous */
    bool is_granted;          /* of a receive: its CTS was sent */
    struct zcrp_msg *message; /* while ZCRP has its memory */
    void *copy;               /* what a send with FI_INJECT sends later; NULL: none */

    /* A receive with FI_MULTI_RECV stays posted until less than ep->least is left of its buffer;
     * each message in it is a receive of its own, a part. */
    struct op *whole; /* of a part */
    bool is_whole;
    bool is_spent;     /* of a whole: it is posted no more, */
    bool is_cancelled; /* because it was cancelled, or its peer is lost: `error` */
    int parts;         /* of a whole: that have not ended */

    /* What the completion says. */
    uint64_t flags;
    void *buffer;
    uint64_t length;
    uint64_t data;
    uint64_t over; /* bytes that the buffer had no room for */
    fi_addr_t source;
    int error; /* of libfabric, positive */
    int zcrp_code;

    /* op_create does not clear these. */
    struct iovec iov[INFO_PIECES_MOST];
    uint8_t envelope[ENVELOPE_BYTES]; /* of an eager send, while ZCRP has its memory */
};

/* NULL: no memory. Within the mutex. */
struct op *op_create(struct ep *ep, enum op_kind kind, const struct iovec *iov, size_t count);

/* The domain keeps some for the next ones. Within the mutex. */
void op_free(struct domain *d, struct op *op);

/* Copies the bytes into the pieces, as many as they have room for. */
void op_scatter(struct op *op, const uint8_t *bytes, uint64_t size);

/* The operation has ended: it is counted, and goes to its completion queue, or is freed. It is in
 * no list, and ZCRP does not have its memory any more. Within the mutex. */
void op_end(struct op *op, int error);

/* For an operation that needs no struct, because nobody is told of its success. */
void op_count(struct ep *ep, enum op_kind kind);

/* Of a receive: who sent it, what it is, and whether it is too large, in which case op_end says so.
 */
void op_arrived(struct op *op, const struct peer *from, const struct envelope *e);

#endif
