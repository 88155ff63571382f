/* What the plugin says of itself, refuses, and believes: devices and their choice, misuse, keys, a
 * handle of which a bit is wrong, and the layout of NCCL's structures. */
#include "../../nccl/handle.h"
#include "../../nccl/interfaces.h"
#include "../support/folder.h"
#include "ranks.h"

#include <limits.h>
#include <string.h>
#include <sys/socket.h>

LOAD(asleep)

enum { VERSIONS = ROWS(driver_versions) };

/* ---- layouts, as the headers of NCCL 2.30 give them on a 64-bit processor ---- */

#define AT(type, member, place)                                                                    \
    {                                                                                              \
#type "." #member, offsetof(struct type, member), place                                    \
    }
#define SIZE(type, bytes)                                                                          \
    {                                                                                              \
#type, sizeof(struct type), bytes                                                          \
    }

static const struct {
    const char *what;
    size_t is, should;
} layouts[] = {
    AT(net_properties_v8, identity.guid, 16),
    AT(net_properties_v8, identity.registration_is_global, 28),
    AT(net_properties_v8, limits.speed_mbps, 32),
    AT(net_properties_v8, limits.offload_version, 56),
    SIZE(net_properties_v8, 64),
    AT(net_properties_v9, must_flush, 32),
    AT(net_properties_v9, limits.speed_mbps, 36),
    AT(net_properties_v9, limits.latency_us, 44),
    AT(net_properties_v9, merged.count, 64),
    AT(net_properties_v9, point_to_point_most, 88),
    SIZE(net_properties_v9, 104),
    AT(net_properties_v11, requests_joined_most, 104),
    SIZE(net_properties_v11, 112),
    AT(net_properties_v12, merged.device, 68),
    AT(net_properties_v12, point_to_point_most, 104),
    AT(net_properties_v12, requests_joined_most, 120),
    AT(net_properties_v12, plane, 126),
    SIZE(net_properties_v12, 128),
    AT(net_v8, registration, 56),
    AT(net_v8, send, 80),
    AT(net_v8, endings.test, 104),
    AT(net_v8, endings.consumed, 144),
    SIZE(net_v8, 152),
    AT(net_v9, merge, 152),
    SIZE(net_v9, 160),
    AT(net_v10, send, 80),
    SIZE(net_v10, 160),
    AT(net_v11, merge, 152),
    AT(net_v11, set_attributes, 168),
    SIZE(net_v11, 176),
};

static bool has_64_bits(void)
{
    return sizeof(void *) == 8;
}

TEST(interface__layouts, .rows = ROWS(layouts), .needs = has_64_bits)
{
    ck_assert_msg(layouts[_i].is == layouts[_i].should, "%s: %zu, not %zu", layouts[_i].what,
                  layouts[_i].is, layouts[_i].should);
}

/* ---- devices ---- */

static const struct {
    const char *list, *name;
    bool is_there;
} matches[] = {
    {"eth", "eth0", true},       {"eth", "ib0", false},        {"eth,ib", "ib0", true},
    {"=eth", "eth0", false},     {"=eth0", "eth0", true},      {"=eth0,ib1", "ib1", true},
    {"^eth", "eth0", false},     {"^eth", "ib0", true},        {"^=eth", "eth0", true},
    {"^=eth,ib0", "ib0", false}, {"^docker,lo", "lo", false},  {"eth0:1,ib", "eth0", true},
    {"", "eth0", true},          {",,", "eth0", true},         {"^", "eth0", false},
    {"eth0", "eth", false},      {"=eth0:1,ib", "eth0", true}, {",eth", "eth1", true},
};

TEST(interface__matches, .rows = ROWS(matches))
{
    ck_assert_int_eq(interfaces_match(matches[_i].list, matches[_i].name), matches[_i].is_there);
}

/* lo is there with 127.0.0.1 in each network namespace that is up, and has no other family that
 * counts. */
TEST(interface__variables)
{
    struct interface found[INTERFACES_MOST];
    char host[INTERFACES_HOST];

    ranks_choose(false);
    ck_assert_int_eq(interfaces_find(found), 1);
    ck_assert_str_eq(found[0].name, "lo");
    interfaces_write(found[0].family, found[0].address, "lo", host);
    ck_assert_str_eq(host, "127.0.0.1");
    ck_assert_int_gt(interfaces_speed(&found[0]), 0);
    must(setenv("NCCL_SOCKET_FAMILY", "AF_INET6", 1) == 0);
    ck_assert_int_eq(interfaces_find(found), 0);
    struct driver d = driver_find(11);
    ck_assert_int_ne(driver_init(&d), NET_OK);
    ck_assert_ptr_nonnull(strstr(driver_log, "no network interface"));
    must(setenv("NCCL_SOCKET_FAMILY", "AF_INET", 1) == 0);
    must(setenv("NCCL_SOCKET_IFNAME", "^lo", 1) == 0);
    int count = interfaces_find(found);
    for (int i = 0; i < count; i++) {
        ck_assert_str_ne(found[i].name, "lo");
        free(found[i].pci_path);
    }
    must(unsetenv("NCCL_SOCKET_IFNAME") == 0);
    count = interfaces_find(found);
    ck_assert_int_gt(count, 0);
    for (int i = 0; i < count; i++)
        free(found[i].pci_path);
}

TEST(interface__link_local)
{
    const uint8_t address[16] = {0xFE, 0x80, [15] = 7};
    char host[INTERFACES_HOST];

    interfaces_write(AF_INET6, address, "eth3", host);
    ck_assert_str_eq(host, "fe80::7%eth3");
}

TEST(interface__properties, .rows = VERSIONS)
{
    ranks_choose(false);
    struct driver d = driver_load(driver_versions[_i]);
    struct net_properties_v12 p = driver_properties(&d, 0);

    ck_assert_int_eq(driver_device(&d, "lo"), 0);
    ck_assert_ptr_null(p.identity.pci_path);
    ck_assert_int_eq(p.identity.memory_kinds, NET_MEMORY_HOST);
    ck_assert_int_gt(p.limits.speed_mbps, 0);
    ck_assert_int_ge(p.limits.comms_most, 64);
    ck_assert_int_eq(p.limits.receives_most, 1);
    ck_assert_int_eq(p.limits.offload_kind, 0);
    ck_assert_int_eq(p.merged.count, d.version > 8);
    ck_assert_uint_eq(p.point_to_point_most, d.version > 8 ? 1 << 30 : 0);
    ck_assert_int_eq(p.requests_joined_most, d.version > 10);
    ck_assert_int_eq(p.rail, d.version > 11 ? NET_UNKNOWN : 0);
    ck_assert_int_eq(driver_init(&d), NET_OK); /* for another communicator */
    driver_finalize(&d);
    driver_finalize(&d);
}

/* ---- misuse ---- */

static void wait_for_word(const struct driver *d, int bootstrap)
{
    void *sender = ranks_sender(d, bootstrap);
    char word;

    ranks_get(bootstrap, &word, 1);
    must(driver_endings(d).close_sender(sender) == NET_OK);
}

TEST(interface__misuse, .rows = VERSIONS)
{
    ranks_choose(false);
    struct ranks r = ranks_start(driver_versions[_i], wait_for_word);
    void *receiver = ranks_receiver(&r.driver, r.bootstrap), *request = NULL, *registration;
    char memory[16];

    const struct net_registration g = driver_registration(&r.driver);
    ck_assert_int_eq(g.add(receiver, memory, 16, NET_MEMORY_HOST, &registration), NET_OK);
    ck_assert_int_eq(g.remove(receiver, registration), NET_OK);
    ck_assert_int_ne(g.add(receiver, memory, 16, 2, &registration), NET_OK);
    ck_assert_ptr_null(g.add_dma_buffer);
    ck_assert_int_ne(driver_receive(&r.driver, receiver, 2, memory, 16, &request), NET_OK);
    size_t size = r.driver.version == 8 ? (size_t)INT_MAX : (size_t)1 << 40;
    ck_assert_int_ne(driver_receive(&r.driver, receiver, 1, memory, size, &request), NET_OK);
    ck_assert_int_ne(driver_endings(&r.driver).flush(receiver, 1, NULL, NULL, NULL, &request),
                     NET_OK);
    ranks_give(r.bootstrap, "", 1);
    (void)driver_endings(&r.driver).close_receiver(receiver);
    ranks_finish(&r);
}

/* ---- handles ---- */

TEST(interface__handle)
{
    struct handle h = {.family = AF_INET6,
                       .address = {1, [15] = 2},
                       .port = 0x1234,
                       .ticket = {3, [15] = 4},
                       .attempt = 5},
                  again;
    uint8_t bytes[NET_HANDLE_BYTES], hello[HELLO_BYTES];

    handle_write(&h, bytes);
    ck_assert(handle_read(&again, bytes));
    ck_assert_int_eq(again.family, AF_INET6);
    ck_assert_mem_eq(again.address, h.address, 16);
    ck_assert_uint_eq(again.port, h.port);
    ck_assert_mem_eq(again.ticket, h.ticket, TICKET_BYTES);
    ck_assert_uint_eq(again.attempt, 5);
    hello_write(h.ticket, hello);
    ck_assert_mem_eq(hello_ticket(hello, sizeof(hello)), h.ticket, TICKET_BYTES);
    ck_assert_ptr_null(hello_ticket(hello, sizeof(hello) - 1));
    hello[0] ^= 1;
    ck_assert_ptr_null(hello_ticket(hello, sizeof(hello)));
}

/* Each bit is wrong once. A wrong family, address, port or ticket leads elsewhere, or nowhere; all
 * else is refused, also the number of an attempt that this process did not begin. */
TEST(interface__altered_handle)
{
    uint8_t handle[NET_HANDLE_BYTES], altered[NET_HANDLE_BYTES];
    void *listener, *sender;

    ranks_choose(false);
    struct driver d = driver_load(11);
    must(driver_listen(&d, handle, &listener) == NET_OK);
    for (size_t bit = 0; bit < 8 * sizeof(handle); bit++) {
        size_t byte = bit / 8;
        bool is_other_family = bit == 8 * 8 + 1; /* 6 in place of 4 */
        if (is_other_family || byte == 10 || byte == 11 || (byte >= 16 && byte < 20) ||
            (byte >= 32 && byte < 48))
            continue;
        memcpy(altered, handle, sizeof(altered));
        altered[byte] ^= (uint8_t)(1 << bit % 8);
        ck_assert_int_eq(driver_connect(&d, altered, &sender), NET_INVALID_ARGUMENT);
        ck_assert_ptr_null(sender);
    }
    (void)driver_endings(&d).close_listener(listener);
    driver_finalize(&d);
}

/* ---- keys ---- */

static void put_keys(const char *name, const char *digit)
{
    char text[80] = "cluster:";

    for (int i = 0; i < 64; i++)
        strcat(text, digit);
    strcat(text, "\n");
    folder_write(name, text, strlen(text));
    must(setenv("ZCRP_KEYS", folder_path(name), 1) == 0);
}

static void keys_end(void)
{
    must(unsetenv("ZCRP_KEYS") == 0);
    folder_remove();
}

/* Was the library built with keys? */
static bool has_keys(void)
{
#ifdef ZCRP_KEYS
    return true;
#else
    return false;
#endif
}

static void send_with_keys(const struct driver *d, int bootstrap)
{
    void *sender = ranks_sender(d, bootstrap);
    char out[] = "sealed";

    must(ranks_send(d, sender, out, 6) == NET_OK);
    must(driver_endings(d).close_sender(sender) == NET_OK);
}

TEST(interface__keys, .needs = has_keys)
{
    char in[8];
    int size;

    ranks_choose(false);
    folder_make();
    put_keys("key", "7");
    struct ranks r = ranks_start(11, send_with_keys);
    ck_assert_ptr_nonnull(strstr(driver_log, "encrypted, with the keys of"));
    void *receiver = ranks_receiver(&r.driver, r.bootstrap);
    ck_assert_int_eq(ranks_receive(&r.driver, receiver, in, sizeof(in), &size), NET_OK);
    ck_assert_int_eq(size, 6);
    (void)driver_endings(&r.driver).close_receiver(receiver);
    ranks_finish(&r);
    keys_end();
}

static void connect_with_other_keys(const struct driver *d, int bootstrap)
{
    char handle[NET_HANDLE_BYTES];
    void *sender;

    ranks_get(bootstrap, handle, sizeof(handle));
    must(driver_connect_fully(d, handle, &sender) == NET_INVALID_USAGE && sender == NULL);
    ranks_give(bootstrap, "", 1);
}

TEST(interface__other_keys, .needs = has_keys)
{
    char handle[NET_HANDLE_BYTES], word;
    void *listener, *receiver = NULL;

    ranks_choose(false);
    folder_make();
    put_keys("other", "8");
    struct ranks r = ranks_begin(11, connect_with_other_keys);
    put_keys("key", "7");
    r.driver = driver_load(11);
    must(driver_listen(&r.driver, handle, &listener) == NET_OK);
    ranks_give(r.bootstrap, handle, sizeof(handle));
    while (recv(r.bootstrap, &word, 1, MSG_DONTWAIT) != 1 && receiver == NULL)
        must(driver_accept(&r.driver, listener, &receiver) == NET_OK);
    ck_assert_ptr_null(receiver);
    (void)driver_endings(&r.driver).close_listener(listener);
    ranks_finish(&r);
    keys_end();
}

/* Without a file there is a warning, and with one that cannot be read no plugin at all. */
TEST(interface__key_files)
{
    ranks_choose(false);
    must(setenv("ZCRP_KEYS", "/nonexistent/key", 1) == 0);
    struct driver d = driver_find(11);
    ck_assert_int_ne(driver_init(&d), NET_OK);
    ck_assert_ptr_nonnull(strstr(driver_log, "/nonexistent/key"));
    must(setenv("ZCRP_KEYS", "", 1) == 0);
    ck_assert_int_eq(driver_init(&d), NET_OK);
    ck_assert_ptr_nonnull(strstr(driver_log, "no keys"));
    driver_finalize(&d);
}
