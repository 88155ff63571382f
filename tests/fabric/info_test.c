/* What the provider says of itself, and what it refuses to be. */
#include "node.h"

/* A change of the usual hints. */
enum change {
    AS_THEY_ARE,
    WITHOUT_CAPABILITIES,
    TAGGED_ONLY,
    ANY_MODE,
    OTHER_MR,
    MANUAL,
    AUTOMATIC,
    TABLE,
    MAP,
    SMALLER,
    END_OF_GOOD,
    RMA = END_OF_GOOD,
    ATOMICS,
    CONNECTED,
    DATAGRAMS,
    OTHER_FABRIC,
    OTHER_DOMAIN,
    TOO_LARGE,
    TOO_MANY,
    INFINIBAND,
    END,
};

static void change(struct fi_info *h, enum change c)
{
    h->caps = c == WITHOUT_CAPABILITIES ? 0 : c == TAGGED_ONLY ? FI_TAGGED : h->caps;
    h->caps |= c == RMA ? FI_RMA : c == ATOMICS ? FI_ATOMIC : 0;
    h->mode = c == ANY_MODE ? ~UINT64_C(0) : 0;
    h->addr_format = c == INFINIBAND ? FI_SOCKADDR_IB : FI_FORMAT_UNSPEC;
    h->ep_attr->type = c == CONNECTED ? FI_EP_MSG : c == DATAGRAMS ? FI_EP_DGRAM : FI_EP_RDM;
    h->domain_attr->mr_mode = c == ANY_MODE   ? ~0
                              : c == OTHER_MR ? 1 << 0 /* the basic mode of version 1 */
                                              : 0;
    h->domain_attr->av_type = c == TABLE ? FI_AV_TABLE : c == MAP ? FI_AV_MAP : FI_AV_UNSPEC;
    h->domain_attr->data_progress = c == MANUAL      ? FI_PROGRESS_MANUAL
                                    : c == AUTOMATIC ? FI_PROGRESS_AUTO
                                                     : FI_PROGRESS_UNSPEC;
    h->tx_attr->inject_size = c == SMALLER ? 8 : c == TOO_LARGE ? SIZE_MAX / 2 : 0;
    h->tx_attr->size = h->rx_attr->size = c == SMALLER ? 16 : 0;
    h->tx_attr->iov_limit = c == TOO_MANY ? 1 << 20 : 0;
    h->fabric_attr->name = c == OTHER_FABRIC ? strdup("no such fabric") : NULL;
    h->domain_attr->name = c == OTHER_DOMAIN ? strdup("no such domain") : NULL;
}

/* The answer to hints with that change; *info is the caller's. */
static int ask(enum change c, struct fi_info **info)
{
    struct fi_info *hints = node_hints(&(struct node_wish){0});

    change(hints, c);
    *info = NULL;
    int code = fi_getinfo(NODE_VERSION, "127.0.0.1", NULL, FI_SOURCE, hints, info);
    fi_freeinfo(hints);
    return code;
}

TEST(info__of_the_endpoint)
{
    struct fi_info *info;

    OK(ask(AS_THEY_ARE, &info));
    for (const struct fi_info *i = info; i != NULL; i = i->next) {
        ck_assert_str_eq(i->fabric_attr->prov_name, "zcrp");
        ck_assert_int_eq(i->ep_attr->type, FI_EP_RDM);
        ck_assert_uint_eq(i->domain_attr->cq_data_size, 8);
        ck_assert_uint_eq(i->mode, 0);
        ck_assert_int_eq(i->domain_attr->mr_mode, 0);
        ck_assert_uint_ge(i->tx_attr->inject_size, 8);
        ck_assert_uint_ge(i->tx_attr->iov_limit, 1);
        ck_assert_uint_ge(i->rx_attr->iov_limit, 1);
        ck_assert_uint_ge(i->ep_attr->max_msg_size, 1 << 30);
        ck_assert((i->tx_attr->msg_order & FI_ORDER_SAS) != 0);
        ck_assert_ptr_nonnull(i->src_addr);
    }
    fi_freeinfo(info);
}

TEST(info__of_wishes, .rows = END)
{
    struct fi_info *info;
    int code = ask((enum change)_i, &info);

    ck_assert_int_eq(code, _i < END_OF_GOOD ? 0 : -FI_ENODATA);
    if (code == 0)
        ck_assert_str_eq(info->fabric_attr->prov_name, "zcrp");
    else
        ck_assert_ptr_null(info);
    fi_freeinfo(info);
}

/* As fabtests' getinfo_test has them: with a node as destination, a service, and a name that is
 * none. */
TEST(info__of_a_destination)
{
    struct fi_info *hints = node_hints(&(struct node_wish){0}), *info = NULL;

    OK(fi_getinfo(NODE_VERSION, "127.0.0.1", "4711", 0, hints, &info));
    ck_assert_ptr_nonnull(info->dest_addr);
    fi_freeinfo(info);
    info = NULL;
    OK(fi_getinfo(NODE_VERSION, NULL, NULL, 0, hints, &info));
    fi_freeinfo(info);
    info = NULL;
    ck_assert_int_lt(fi_getinfo(NODE_VERSION, "256.1.1.1", "4711", FI_NUMERICHOST, hints, &info),
                     0);
    fi_freeinfo(hints);
}

/* A node that asks for a service listens at that port. */
TEST(info__service_is_the_port)
{
    struct fi_info *hints = node_hints(&(struct node_wish){0}), *info = NULL;
    struct node first, second = {0};
    uint8_t name[NAME_BYTES], again[NAME_BYTES];

    node_open(&first, NULL);
    size_t bytes = node_name(&first, name);
    node_close(&first);
    hints->src_addr = malloc(bytes); /* fi_freeinfo frees it */
    memcpy(hints->src_addr, name, bytes);
    hints->src_addrlen = bytes;
    hints->addr_format = FI_SOCKADDR_IN;
    OK(fi_getinfo(NODE_VERSION, NULL, NULL, 0, hints, &info));
    OK(fi_fabric(info->fabric_attr, &second.fabric, NULL));
    OK(fi_domain(second.fabric, info, &second.domain, NULL));
    OK(fi_av_open(second.domain, &(struct fi_av_attr){0}, &second.av, NULL));
    second.is_guest = true;
    struct node n;
    second.info = info;
    node_join(&n, &second, NULL);
    ck_assert_uint_eq(node_name(&n, again), bytes);
    ck_assert_mem_eq(again, name, bytes);
    node_close(&n);
    OK(fi_close(&second.av->fid));
    OK(fi_close(&second.domain->fid));
    OK(fi_close(&second.fabric->fid));
    fi_freeinfo(info);
    fi_freeinfo(hints);
}
