#include "node.h"

#include "common/clock.h"

#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <unistd.h>

enum { NODES_MOST = 64 };

static const struct node *nodes[NODES_MOST]; /* those that are open */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* libfabric looks at the system and for providers when it is first asked, which takes it 0.1 s of a
 * processor. Each test is a process of its own: here its parent has asked. */
static void wake_libfabric(void)
{
    struct fi_info *info = NULL;

    if (fi_getinfo(NODE_VERSION, NULL, NULL, 0, NULL, &info) == 0)
        fi_freeinfo(info);
}

/* libfabric finds the provider in the folder of this variant's products, and tries no other. */
__attribute__((constructor)) static void choose_provider(void)
{
    char path[PATH_MAX] = "", file[PATH_MAX + 32];
    ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (bytes <= 0)
        return;
    const char *folder = dirname(dirname(path));
    (void)snprintf(file, sizeof(file), "%s/libzcrp-fi.so", folder);
    (void)setenv("FI_PROVIDER_PATH", access(file, R_OK) == 0 ? folder : dirname(path), 0);
    (void)setenv("FI_PROVIDER", "zcrp", 0);
    wake_libfabric();
}

int64_t now_ms(void)
{
    return clock_now_ns() / 1000000;
}

struct fi_info *node_hints(const struct node_wish *wish)
{
    struct fi_info *hints = fi_allocinfo();

    ck_assert_ptr_nonnull(hints);
    hints->caps =
        FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_MULTI_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->domain_attr->av_type = wish->av;
    hints->domain_attr->data_progress = wish->progress;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->fabric_attr->prov_name = strdup("zcrp");
    return hints;
}

static void replace(const struct node *old, const struct node *new)
{
    int i = 0;

    (void)pthread_mutex_lock(&lock);
    while (i < NODES_MOST && nodes[i] != old)
        i++;
    ck_assert_int_lt(i, NODES_MOST);
    nodes[i] = new;
    (void)pthread_mutex_unlock(&lock);
}

static void open_counters(struct node *n, const struct node_wish *wish)
{
    struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = wish->wait};

    OK(fi_cntr_open(n->domain, &attr, &n->sends, NULL));
    OK(fi_cntr_open(n->domain, &attr, &n->receptions, NULL));
    OK(fi_ep_bind(n->ep, &n->sends->fid, FI_SEND));
    OK(fi_ep_bind(n->ep, &n->receptions->fid, FI_RECV));
}

static void open_endpoint(struct node *n, const struct node_wish *wish)
{
    struct fi_cq_attr attr = {.format = wish->format ? wish->format : FI_CQ_FORMAT_TAGGED,
                              .wait_obj = wish->wait,
                              .wait_cond = wish->condition};

    OK(fi_cq_open(n->domain, &attr, &n->sent, NULL));
    OK(fi_cq_open(n->domain, &attr, &n->received, NULL));
    OK(fi_endpoint(n->domain, n->info, &n->ep, NULL));
    OK(fi_ep_bind(n->ep, &n->av->fid, 0));
    OK(fi_ep_bind(n->ep, &n->sent->fid, FI_TRANSMIT | wish->selective));
    OK(fi_ep_bind(n->ep, &n->received->fid, FI_RECV | wish->selective));
    if (wish->has_counters)
        open_counters(n, wish);
    OK(fi_enable(n->ep));
    replace(NULL, n);
}

void node_open(struct node *n, const struct node_wish *wish)
{
    const struct node_wish usual = {0};

    wish = wish != NULL ? wish : &usual;
    *n = (struct node){0};
    struct fi_info *hints = node_hints(wish);
    OK(fi_getinfo(NODE_VERSION, "127.0.0.1", NULL, FI_SOURCE, hints, &n->info));
    fi_freeinfo(hints);
    n->info->tx_attr->op_flags |= wish->more_flags;
    if (wish->version != 0)
        n->info->fabric_attr->api_version = wish->version;
    OK(fi_fabric(n->info->fabric_attr, &n->fabric, NULL));
    OK(fi_domain(n->fabric, n->info, &n->domain, NULL));
    struct fi_av_attr attr = {.type = wish->av};
    OK(fi_av_open(n->domain, &attr, &n->av, NULL));
    open_endpoint(n, wish);
}

void node_join(struct node *n, const struct node *host, const struct node_wish *wish)
{
    const struct node_wish usual = {0};

    *n = (struct node){.info = fi_dupinfo(host->info),
                       .fabric = host->fabric,
                       .domain = host->domain,
                       .av = host->av,
                       .is_guest = true};
    ck_assert_ptr_nonnull(n->info);
    open_endpoint(n, wish != NULL ? wish : &usual);
}

void node_close(struct node *n)
{
    replace(n, NULL);
    OK(fi_close(&n->ep->fid));
    if (n->sends != NULL) {
        OK(fi_close(&n->sends->fid));
        OK(fi_close(&n->receptions->fid));
    }
    OK(fi_close(&n->sent->fid));
    OK(fi_close(&n->received->fid));
    fi_freeinfo(n->info);
    if (n->is_guest)
        return;
    OK(fi_close(&n->av->fid));
    OK(fi_close(&n->domain->fid));
    OK(fi_close(&n->fabric->fid));
}

size_t node_name(const struct node *n, uint8_t name[NAME_BYTES])
{
    size_t bytes = NAME_BYTES;

    OK(fi_getname(&n->ep->fid, name, &bytes));
    ck_assert_uint_le(bytes, NAME_BYTES);
    return bytes;
}

fi_addr_t node_insert(const struct node *n, const uint8_t *name)
{
    fi_addr_t address = FI_ADDR_NOTAVAIL;

    ck_assert_int_eq(fi_av_insert(n->av, name, 1, &address, 0, NULL), 1);
    ck_assert_uint_ne(address, FI_ADDR_NOTAVAIL);
    return address;
}

fi_addr_t node_meet(const struct node *n, const struct node *other)
{
    uint8_t name[NAME_BYTES];

    (void)node_name(other, name);
    return node_insert(n, name);
}

/* Reading nothing lets an endpoint go on (fi_cq(3)). */
void node_turn(const struct node *n)
{
    (void)fi_cq_read(n->sent, NULL, 0);
    (void)fi_cq_read(n->received, NULL, 0);
}

void nodes_turn(void)
{
    (void)pthread_mutex_lock(&lock);
    for (int i = 0; i < NODES_MOST; i++)
        if (nodes[i] != NULL)
            node_turn(nodes[i]);
    (void)pthread_mutex_unlock(&lock);
    (void)usleep(20);
}

/* The next completion, if there is one; is there? */
static bool try_to_take(struct fid_cq *cq, struct fi_cq_err_entry *to)
{
    struct fi_cq_tagged_entry e = {0};
    ssize_t count = fi_cq_read(cq, &e, 1);

    if (count == -FI_EAVAIL) {
        ck_assert_int_eq(fi_cq_readerr(cq, to, 0), 1);
        ck_assert_int_gt(to->err, 0);
        return true;
    }
    if (count == -FI_EAGAIN)
        return false;
    ck_assert_int_eq(count, 1);
    *to = (struct fi_cq_err_entry){.op_context = e.op_context,
                                   .flags = e.flags,
                                   .len = e.len,
                                   .buf = e.buf,
                                   .data = e.data,
                                   .tag = e.tag};
    return true;
}

/* To read a queue lets its own node go on. */
static struct fi_cq_err_entry take_with(struct fid_cq *cq, bool is_alone)
{
    struct fi_cq_err_entry e = {0};
    int64_t until = now_ms() + WITHIN_S * 1000;

    while (!try_to_take(cq, &e)) {
        ck_assert_msg(now_ms() < until, "no completion came within %d s", WITHIN_S);
        if (is_alone)
            (void)usleep(20);
        else
            nodes_turn();
    }
    return e;
}

struct fi_cq_err_entry take(struct fid_cq *cq)
{
    return take_with(cq, false);
}

struct fi_cq_err_entry take_alone(struct fid_cq *cq)
{
    return take_with(cq, true);
}

struct fi_cq_err_entry take_error(struct fid_cq *cq, const void *context, int err)
{
    struct fi_cq_err_entry e = take(cq);

    ck_assert_msg(e.err == err, "completion: %s", fi_strerror(e.err));
    ck_assert_ptr_eq(e.op_context, context);
    return e;
}

struct fi_cq_err_entry take_of(struct fid_cq *cq, const void *context)
{
    return take_error(cq, context, 0);
}

void take_nothing(struct fid_cq *cq)
{
    struct fi_cq_err_entry e = {0};
    int64_t until = now_ms() + 100, late = until + 900; /* a turn may take 50 ms beside others */

    for (int i = 0; i < 10 || now_ms() < until || (i < 100 && now_ms() < late); i++) {
        ck_assert(!try_to_take(cq, &e));
        nodes_turn();
    }
}

uint8_t *blank(size_t size)
{
    uint8_t *bytes = malloc(size + 1);

    ck_assert_ptr_nonnull(bytes);
    memset(bytes, 0xEE, size + 1);
    return bytes;
}

uint8_t *filled(size_t size, uint64_t seed)
{
    uint8_t *bytes = blank(size);

    pattern_fill(bytes, size, seed);
    return bytes;
}

void pair_open(struct pair *p, const struct node_wish *wish)
{
    node_open(&p->a, wish);
    node_open(&p->b, wish);
    p->to_b = node_meet(&p->a, &p->b);
    p->to_a = node_meet(&p->b, &p->a);
}

void pair_close(struct pair *p)
{
    node_close(&p->a);
    node_close(&p->b);
}

void pass(const struct node *from, fi_addr_t to, const struct node *at, size_t size, uint64_t tag)
{
    uint8_t *out = filled(size, tag), *in = blank(size);

    POST(fi_trecv(at->ep, in, size, NULL, FI_ADDR_UNSPEC, tag, 0, in));
    POST(fi_tsend(from->ep, out, size, NULL, to, tag, out));
    struct fi_cq_err_entry e = take_of(at->received, in);
    ck_assert_uint_eq(e.len, size);
    ck_assert(pattern_holds(in, size, tag));
    (void)take_of(from->sent, out);
    free(in);
    free(out);
}
