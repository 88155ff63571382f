/* An endpoint of the provider with all that belongs to it, through libfabric alone, and pairs of
 * them. Whoever waits for a completion of one node lets every node of this process go on. A failing
 * call fails the test. */
#ifndef ZCRP_TESTS_FABRIC_NODE_H
#define ZCRP_TESTS_FABRIC_NODE_H

#include "../support/pattern.h"
#include "../support/suite.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#define NODE_VERSION FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION)

enum {
    SMALL = 100,    /* bytes that go with the envelope */
    LARGE = 300000, /* bytes that go by rendezvous */
    NAME_BYTES = 64,
    WITHIN_S = 40, /* a completion is late after that long */
};

/* What differs from the usual. Zero: FI_CQ_FORMAT_TAGGED, no wait object or condition, any AV, no
 * counters. */
struct node_wish {
    enum fi_cq_format format;
    enum fi_wait_obj wait;
    enum fi_cq_wait_cond condition;
    enum fi_av_type av;
    enum fi_progress progress;
    uint64_t selective;  /* FI_SELECTIVE_COMPLETION, or 0 */
    uint64_t more_flags; /* beside that: FI_TRANSMIT_COMPLETE and the like, of sends */
    bool has_counters;
    uint32_t version; /* of libfabric, that the program was made for; 0: this one */
};

struct node {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *sent, *received;      /* completions of sends, of receives */
    struct fid_cntr *sends, *receptions; /* NULL without counters */
    struct fid_ep *ep;
    bool is_guest; /* fabric, domain and AV are another node's */
};

/* What the tests ask of fi_getinfo; the caller's, for fi_freeinfo. */
struct fi_info *node_hints(const struct node_wish *wish);

/* Opens one. NULL: the usual. */
void node_open(struct node *n, const struct node_wish *wish);

/* Opens one more endpoint, in the host's domain and with the host's AV. */
void node_join(struct node *n, const struct node *host, const struct node_wish *wish);

/* Closes everything, which must succeed. */
void node_close(struct node *n);

/* The node's address goes to `name`; its length. */
size_t node_name(const struct node *n, uint8_t name[NAME_BYTES]);

/* Tells this node of another's address. */
fi_addr_t node_insert(const struct node *n, const uint8_t *name);
fi_addr_t node_meet(const struct node *n, const struct node *other);

/* Every node of this process goes on, or one node alone; no completion is taken. */
void nodes_turn(void);
void node_turn(const struct node *n);

int64_t now_ms(void);

/* Calls until the call does not say -FI_EAGAIN any more; it must succeed then. */
#define POST(call)                                                                                 \
    do {                                                                                           \
        ssize_t code_;                                                                             \
        int64_t until_ = now_ms() + WITHIN_S * 1000;                                               \
        while ((code_ = (call)) == -FI_EAGAIN && now_ms() < until_)                                \
            nodes_turn();                                                                          \
        ck_assert_int_eq(code_, 0);                                                                \
    } while (0)

/* Must succeed. */
#define OK(call) ck_assert_int_eq((call), 0)

/* The next completion, successful (err is 0) or not, within WITHIN_S. */
struct fi_cq_err_entry take(struct fid_cq *cq);

/* The same, while no other node of this process goes on. */
struct fi_cq_err_entry take_alone(struct fid_cq *cq);

/* The next completion must be this one's, successful. */
struct fi_cq_err_entry take_of(struct fid_cq *cq, const void *context);

/* The next completion must be this one's, with this error. */
struct fi_cq_err_entry take_error(struct fid_cq *cq, const void *context, int err);

/* No completion comes for a while. */
void take_nothing(struct fid_cq *cq);

/* Memory that has the pattern, or nothing of it; the caller's to free. */
uint8_t *filled(size_t size, uint64_t seed);
uint8_t *blank(size_t size);

/* Two nodes that know each other. */
struct pair {
    struct node a, b;
    fi_addr_t to_b, to_a; /* in the AV of a, of b */
};

void pair_open(struct pair *p, const struct node_wish *wish);
void pair_close(struct pair *p);

/* Each test of the file has the usual pair, p. */
#define PAIR_FIXTURE                                                                               \
    static struct pair p;                                                                          \
    static void open_pair(void)                                                                    \
    {                                                                                              \
        pair_open(&p, NULL);                                                                       \
    }                                                                                              \
    static void close_pair(void)                                                                   \
    {                                                                                              \
        pair_close(&p);                                                                            \
    }                                                                                              \
    FIXTURE(open_pair, close_pair)

/* One tagged message from one node to another, whole. */
void pass(const struct node *from, fi_addr_t to, const struct node *at, size_t size, uint64_t tag);

#endif
