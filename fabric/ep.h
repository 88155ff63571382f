/* An endpoint of type FI_EP_RDM: a listener of ZCRP, whose address is the endpoint's name, and the
 * peers that it talks with. */
#ifndef FABRIC_EP_H
#define FABRIC_EP_H

#include "address.h"
#include "domain.h"
#include "list.h"
#include "match.h"
#include "zcrp.h"

#include <rdma/fi_endpoint.h>

struct av;
struct cntr;
struct cq;
struct peer;

struct ep {
    struct fid_ep fid;
    struct domain *domain;
    struct av *av;
    struct list of_av; /* of av->endpoints */
    struct cq *send_queue, *receive_queue;
    struct list of_queue; /* of receive_queue->endpoints */
    struct cntr *send_counter, *receive_counter;
    bool is_selective[2]; /* by enum op_kind: FI_SELECTIVE_COMPLETION */
    uint64_t op_flags[2]; /* by enum op_kind: of calls without flags */
    bool may[2];          /* (c) by enum op_kind: the endpoint sends, receives */
    bool is_directed;     /* (c) receives name their senders */
    bool is_enabled;
    bool is_closing;
    size_t least; /* a receive of many messages ends when it has less room; at least 1 */
    struct zcrp_options options;
    struct zcrp_listener *listener; /* NULL: not enabled yet */
    struct address address;
    uint64_t nonce;
    struct list peers;   /* struct peer */
    struct peer **named; /* by fi_addr_t; NULL: not used yet */
    size_t named_room;
    struct list ways;    /* struct way, that have not ended */
    struct list stalled; /* struct link, whose rings wait for room */
    int closing;         /* ways that have ended, and are not closed yet */
    struct matching matching;
};

int ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context);

/* What the domain's queue has told. */
void ep_on_completion(const struct zcrp_completion *c);

/* The address vector has got, or lost, a number. */
void ep_on_inserted(struct ep *ep, const struct address *a, fi_addr_t number);
void ep_on_removed(struct ep *ep, fi_addr_t number);

extern struct fi_ops_msg ep_msg_ops;
extern struct fi_ops_tagged ep_tagged_ops;

#endif
