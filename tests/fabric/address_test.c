/* Address vectors, and endpoints that are in none. */
#include "node.h"

#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdio.h>

static const enum fi_av_type types[] = {FI_AV_UNSPEC, FI_AV_TABLE, FI_AV_MAP};
static struct node n;

static void open_node(void)
{
    node_open(&n, NULL);
}

static void close_node(void)
{
    node_close(&n);
}

FIXTURE(open_node, close_node)

static struct fid_av *av_of(enum fi_av_type type)
{
    struct fi_av_attr attr = {.type = type, .count = 4};
    struct fid_av *av;

    OK(fi_av_open(n.domain, &attr, &av, NULL));
    return av;
}

static struct sockaddr_in address_of(unsigned host, unsigned port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK + host)};
}

TEST(av__keeps_what_is_inserted, .rows = ROWS(types))
{
    enum { COUNT = 1000 };
    struct fid_av *av = av_of(types[_i]);
    struct sockaddr_in in[COUNT], out;
    fi_addr_t at[COUNT];

    for (unsigned i = 0; i < COUNT; i++)
        in[i] = address_of(i / 100, 5000 + i % 100);
    ck_assert_int_eq(fi_av_insert(av, in, COUNT / 2, at, 0, NULL), COUNT / 2);
    ck_assert_int_eq(fi_av_insert(av, in + COUNT / 2, COUNT / 2, at + COUNT / 2, 0, NULL),
                     COUNT / 2);
    for (unsigned i = 0; i < COUNT; i++) {
        size_t bytes = sizeof(out);
        OK(fi_av_lookup(av, at[i], &out, &bytes));
        ck_assert_uint_eq(bytes, sizeof(out));
        ck_assert_mem_eq(&out, &in[i], 8);
        if (types[_i] == FI_AV_TABLE)
            ck_assert_uint_eq(at[i], i);
    }
    OK(fi_close(&av->fid));
}

TEST(av__lookup_with_little_room)
{
    struct fid_av *av = av_of(FI_AV_TABLE);
    struct sockaddr_in in = address_of(0, 7000), out = {0};
    size_t bytes = 4;

    ck_assert_int_eq(fi_av_insert(av, &in, 1, NULL, 0, NULL), 1);
    (void)fi_av_lookup(av, 0, &out, &bytes);
    ck_assert_uint_eq(bytes, sizeof(in));
    ck_assert_mem_eq(&out, &in, 4);
    ck_assert_uint_eq(out.sin_addr.s_addr, 0);
    OK(fi_close(&av->fid));
}

TEST(av__remove, .rows = ROWS(types))
{
    struct fid_av *av = av_of(types[_i]);
    struct sockaddr_in in = address_of(0, 7000), out;
    fi_addr_t at, again, none = 12345;
    size_t bytes = sizeof(out);

    ck_assert_int_eq(fi_av_insert(av, &in, 1, &at, 0, NULL), 1);
    ck_assert_int_eq(fi_av_lookup(av, none, &out, &bytes), -FI_EINVAL);
    ck_assert_int_eq(fi_av_remove(av, &none, 1, 0), -FI_EINVAL);
    OK(fi_av_remove(av, &at, 1, 0));
    ck_assert_int_eq(fi_av_lookup(av, at, &out, &bytes), -FI_EINVAL);
    ck_assert_int_eq(fi_av_insert(av, &in, 1, &again, 0, NULL), 1);
    OK(fi_av_lookup(av, again, &out, &bytes));
    ck_assert_mem_eq(&out, &in, 8);
    OK(fi_close(&av->fid));
}

TEST(av__by_node_and_service, .rows = ROWS(types))
{
    struct fid_av *av = av_of(types[_i]);
    struct sockaddr_in out;
    size_t bytes = sizeof(out);
    fi_addr_t at = FI_ADDR_NOTAVAIL;

    ck_assert_int_eq(fi_av_insertsvc(av, "127.0.0.1", "7000", &at, 0, NULL), 1);
    OK(fi_av_lookup(av, at, &out, &bytes));
    ck_assert_uint_eq(ntohs(out.sin_port), 7000);
    ck_assert_uint_eq(ntohl(out.sin_addr.s_addr), INADDR_LOOPBACK);
    ck_assert_int_lt(fi_av_insertsvc(av, "256.0.0.1", "7000", &at, 0, NULL), 1);
    ck_assert_int_lt(fi_av_insertsvc(av, "127.0.0.1", "no service", &at, 0, NULL), 1);
    ck_assert_int_lt(fi_av_insertsvc(av, NULL, "7000", &at, 0, NULL), 1);
    OK(fi_close(&av->fid));
}

/* The good ones around a bad one are there, and the bad one is marked. */
TEST(av__refuses_what_is_no_address)
{
    struct fid_av *av = av_of(FI_AV_MAP);
    struct sockaddr_in in[3] = {address_of(0, 7000), address_of(0, 7001), address_of(0, 7002)};
    fi_addr_t at[3] = {0};

    in[1].sin_family = AF_UNIX;
    ck_assert_int_lt(fi_av_insert(av, in, 3, at, 0, NULL), 3);
    ck_assert_uint_eq(at[1], FI_ADDR_NOTAVAIL);
    ck_assert_int_lt(fi_av_insert(av, in + 1, 1, at, 0, NULL), 1);
    OK(fi_close(&av->fid));
}

TEST(av__as_text)
{
    struct sockaddr_in in = address_of(0, 7000);
    char text[100] = "", small[8];
    size_t bytes = sizeof(text);

    ck_assert_ptr_eq(fi_av_straddr(n.av, &in, text, &bytes), text);
    ck_assert_ptr_nonnull(strstr(text, "127.0.0.1"));
    ck_assert_ptr_nonnull(strstr(text, "7000"));
    ck_assert_uint_eq(bytes, strlen(text) + 1);
    size_t few = sizeof(small);
    ck_assert_ptr_eq(fi_av_straddr(n.av, &in, small, &few), small);
    ck_assert_uint_eq(few, bytes);
    ck_assert_uint_lt(strlen(small), sizeof(small));
}

TEST(name__with_little_room)
{
    uint8_t name[NAME_BYTES], part[NAME_BYTES];
    size_t bytes = node_name(&n, name), few = 3;

    ck_assert_int_eq(fi_getname(&n.ep->fid, part, &few), -FI_ETOOSMALL);
    ck_assert_uint_eq(few, bytes);
    bytes = 0;
    ck_assert_int_eq(fi_getname(&n.ep->fid, NULL, &bytes), -FI_ETOOSMALL);
}

/* A send to an address that is in no AV fails, at once or by its completion. */
TEST(send__to_an_unknown_address, .rows = 3)
{
    static const fi_addr_t nowhere[] = {12345, FI_ADDR_UNSPEC, FI_ADDR_NOTAVAIL};
    char byte = 1;

    if (fi_tsend(n.ep, &byte, 1, NULL, nowhere[_i], 1, &byte) == 0)
        ck_assert_int_gt(take(n.sent).err, 0);
    ck_assert_int_lt(fi_tinject(n.ep, &byte, 1, nowhere[_i], 1), 0);
}

/* Nobody listens there: the send ends with an error. */
TEST(send__to_an_address_where_nobody_is)
{
    struct node gone;
    uint8_t name[NAME_BYTES], *out = filled(LARGE, 1);

    node_open(&gone, NULL);
    (void)node_name(&gone, name);
    node_close(&gone);
    fi_addr_t to = node_insert(&n, name);
    POST(fi_tsend(n.ep, out, LARGE, NULL, to, 1, out));
    struct fi_cq_err_entry e = take(n.sent);
    ck_assert_int_gt(e.err, 0);
    ck_assert_ptr_eq(e.op_context, out);
    free(out);
}

/* The receiver does not know the sender's address, and gets the message all the same. */
TEST(receive__from_an_unknown_address, .rows = 2)
{
    size_t size = _i == 0 ? SMALL : LARGE;
    struct node other;

    node_open(&other, NULL);
    pass(&other, node_meet(&other, &n), &n, size, 7);
    node_close(&other);
}

/* Removed and inserted again, as MPI does with peers that come and go. */
TEST(send__to_an_address_that_came_back)
{
    struct node other;

    node_open(&other, NULL);
    for (uint64_t i = 0; i < 3; i++) {
        fi_addr_t to = node_meet(&n, &other);
        pass(&n, to, &other, SMALL, i);
        pass(&n, to, &other, LARGE, i);
        OK(fi_av_remove(n.av, &to, 1, 0));
    }
    node_close(&other);
}

/* A sanitizer's heap does not tell. */
static size_t heap_bytes(void)
{
    return IS_SANITIZED ? 0 : mallinfo2().uordblks + mallinfo2().hblkhd;
}

/* Numbers of removed addresses are used again, but not where the program counts them itself. */
TEST(av__uses_numbers_again)
{
    struct sockaddr_in other = address_of(0, 1);
    fi_addr_t first = node_insert(&n, (const uint8_t *)&other), at;

    for (unsigned i = 2; i < 1000; i++) {
        other = address_of(0, i);
        at = node_insert(&n, (const uint8_t *)&other);
        ck_assert_uint_eq(at, first + 1);
        OK(fi_av_remove(n.av, &at, 1, 0));
    }
    OK(fi_av_remove(n.av, &first, 1, 0));
    ck_assert_int_eq(fi_av_insert(n.av, &other, 1, NULL, 0, NULL), 1);
    for (unsigned i = 0; i < 3; i++) {
        other = address_of(0, 2000 + i);
        ck_assert_uint_eq(node_insert(&n, (const uint8_t *)&other), first + i + (i == 2));
    }
}

/* Nothing of a peer stays when its address is removed, and no receive names it. */
TEST(av__forgets_what_is_removed)
{
    enum { COUNT = 20000, MOST = 1500000 };
    uint8_t in[SMALL];
    size_t before = heap_bytes();

    for (unsigned i = 0; i < COUNT; i++) {
        struct sockaddr_in other = address_of(0, i + 1);
        fi_addr_t at = node_insert(&n, (const uint8_t *)&other);
        POST(fi_trecv(n.ep, in, SMALL, NULL, at, 1, 0, in));
        if (i % 2 == 0)
            OK(fi_av_remove(n.av, &at, 1, 0));
        OK(fi_cancel(&n.ep->fid, in));
        (void)take_error(n.received, in, FI_ECANCELED);
        if (i % 2 == 1)
            OK(fi_av_remove(n.av, &at, 1, 0));
    }
    ck_assert_uint_lt(heap_bytes(), before + MOST);
}

/* With FI_NUMERICHOST no name is looked up. */
TEST(address__by_name_or_number, .rows = 2)
{
    struct fi_info *hints = node_hints(&(struct node_wish){0}), *info = NULL;
    bool is_name = _i == 0;

    ck_assert_int_eq(fi_getinfo(NODE_VERSION, is_name ? "localhost" : "127.0.0.1", "7000",
                                FI_SOURCE | FI_NUMERICHOST, hints, &info),
                     is_name ? -FI_ENODATA : 0);
    fi_freeinfo(info);
    fi_freeinfo(hints);
}
