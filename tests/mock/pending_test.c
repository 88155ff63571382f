/* Which callers have a place, what they are sent, and whose handshakes end well. Where there is no
 * thread, none is served. */
/* wrap: thread_start thread_join clock_now */
#include "../support/mock.h"

#include "handshake/pending.h"
#include "platform/system.h"
#include "platform/thread.h"
#include "transport/keyed_hash.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PLACES = 64, OF_HOST = 16, TAG = 1 };

static const uint8_t key[ZCRP_KEYS_PSK_LEAST] = {1};
static struct zcrp_keys *keys;
static struct pending *r;
static bool has_thread;
static duration limit;
static _Atomic duration later; /* than it is */

instant __real_clock_now(void);
instant __wrap_clock_now(void)
{
    return __real_clock_now() + later;
}

int __real_thread_start(struct thread *t, const char *name, thread_run run, void *context);
int __wrap_thread_start(struct thread *t, const char *name, thread_run run, void *context)
{
    return has_thread ? __real_thread_start(t, name, run, context) : 0;
}

void __real_thread_join(struct thread *t);
void __wrap_thread_join(struct thread *t)
{
    if (has_thread)
        __real_thread_join(t);
}

/* ---- what is sent, and who is through ---- */

static struct mutex mutex;
static struct datagram_queue told;     /* (m) */
static uint64_t told_bytes;            /* (m) */
static _Atomic bool is_told_elsewhere; /* from another address of this host than most come to */
static struct datagram_queue early;    /* what came before there was a connection */
static _Atomic int successes, lacks;   /* of room, before there is some */
static _Atomic bool is_slow, is_stuck; /* it looks for room as long as that */
static _Atomic int let_in[OF_HOST], turned_away[OF_HOST]; /* by the port: 1000 and up */

static void send_answer(void *context, const struct caller *caller, const uint8_t *datagram,
                        size_t size)
{
    (void)context;
    mutex_lock(&mutex);
    datagram_queue_add(&told, datagram, size);
    is_told_elsewhere = is_told_elsewhere || caller->here.any.sa_family != AF_UNSPEC;
    told_bytes += size;
    mutex_unlock(&mutex);
}

static struct caller caller_at(const char *host, uint16_t port)
{
    struct sockaddr_in ip4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 ip6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    struct caller c = {.from_size = sizeof(ip4)};

    if (inet_pton(AF_INET, host, &ip4.sin_addr) == 1)
        memcpy(&c.from, &ip4, sizeof(ip4));
    else if (inet_pton(AF_INET6, host, &ip6.sin6_addr) == 1)
        memcpy(&c.from, &ip6, sizeof(ip6));
    return c;
}

static void say_early(const char *host, uint8_t what, enum datagram_type type, size_t size)
{
    const struct caller caller = caller_at(host, 1000);
    uint8_t said[HANDSHAKE_BYTES + 1] = {what};

    said[size - 1] = datagram_last_byte(type);
    pending_hear(r, &caller, said, size);
}

/* A handshake has ended well. Before that its caller may have sent requests and units, as many as
 * it likes, and others, too. */
static bool on_success(void *context, const struct caller *caller,
                       struct session_keys *session_keys)
{
    uint16_t port = ntohs(((const struct sockaddr_in *)&caller->from)->sin_port);

    (void)context;
    session_keys_destroy(session_keys);
    for (; is_slow; usleep(1000))
        is_stuck = true;
    if (atomic_fetch_sub(&lacks, 1) > 0) {
        atomic_fetch_add(&turned_away[port - 1000], 1);
        return false;
    }
    say_early("192.0.2.1", 70, DATAGRAM_REQUEST, 2);
    say_early("192.0.2.1", 1, DATAGRAM_UNIT, HANDSHAKE_BYTES);
    say_early("192.0.2.1", 99, DATAGRAM_UNIT, HANDSHAKE_BYTES + 1);
    say_early("192.0.2.2", 88, DATAGRAM_REQUEST, 2);
    say_early("192.0.2.2", 89, DATAGRAM_UNIT, 100);
    say_early("192.0.2.1", 98, DATAGRAM_HELLO, 100);
    say_early("192.0.2.1", 77, DATAGRAM_REQUEST, 2);
    for (uint8_t i = 2; i < 100; i++)
        say_early("192.0.2.1", i, DATAGRAM_UNIT, 100);
    pending_take_early(r, &early);
    let_in[port - 1000]++;
    successes++;
    return true;
}

static void open_with(bool has_one)
{
    const struct pending_rules rules = {.keys = keys,
                                        .places = PLACES,
                                        .of_host = OF_HOST,
                                        .at_once = 32,
                                        .limit = limit,
                                        .send = send_answer,
                                        .on_success = on_success};

    has_thread = has_one;
    if (keys == NULL)
        skip();
    assert_int_equal(pending_open(&r, &rules), 0);
}

static void setup(void)
{
    mutex_init(&mutex);
    told.count = 0;
    told_bytes = 0;
    later = 0;
    limit = 5 * SECOND;
    successes = lacks = 0;
    is_slow = is_stuck = false;
    for (int i = 0; i < OF_HOST; i++)
        let_in[i] = turned_away[i] = 0;
    r = NULL;
    if (zcrp_keys_psk(&keys, "a", key, sizeof(key)) != ZCRP_OK) /* built without */
        keys = NULL;
}

static void teardown(void)
{
    is_slow = false;
    pending_close(r, false);
    zcrp_keys_free(keys);
    mutex_fini(&mutex);
}

FIXTURE(setup, teardown)

/* ---- places ---- */

/* The first datagram of a handshake, from that address, with so many bytes of junk. */
static void hear_with(const char *host, uint16_t port, uint64_t nonce, bool has_cookie, size_t junk)
{
    const struct cookie_jar jar = keyed_hash_jar();
    const struct caller caller = caller_at(host, port);
    const struct cookie_owner owner = {
        .peer = address_number(&caller.from), .nonce = nonce, .pairing = {.tag = TAG}};
    const struct handshake_datagram d = {
        .tag = TAG,
        .nonce = nonce,
        .cookie = has_cookie ? cookie_make(&jar, &owner, clock_now()) : 0};
    uint8_t datagram[HANDSHAKE_BYTES] = {0};

    handshake_encode(datagram + junk, &d);
    pending_hear(r, &caller, datagram, junk + TRAILER_BYTES);
}

static void hear(const char *host, uint16_t port, uint64_t nonce)
{
    hear_with(host, port, nonce, true, 0);
}

static uint64_t dropped(void)
{
    return pending_count(r).dropped;
}

/* Has that caller a place? */
static bool is_here(const char *host, uint16_t port, uint64_t nonce)
{
    uint64_t before = pending_count(r).unproven;

    hear_with(host, port, nonce, false, 0);
    return pending_count(r).unproven == before;
}

TEST(hear__a_share_for_each_host)
{
    open_with(false);
    for (uint16_t i = 0; i < 3 * OF_HOST; i++)
        hear("192.0.2.1", (uint16_t)(1000 + i), 1 + i);
    assert_int_equal(dropped(), 2 * OF_HOST);
    hear("192.0.2.2", 1000, 1);
    assert_int_equal(dropped(), 2 * OF_HOST);
}

/* All addresses of a network of 64 bits are one host's. */
TEST(hear__a_share_for_each_network)
{
    char host[64];

    open_with(false);
    for (int i = 0; i < 2 * OF_HOST; i++) {
        snprintf(host, sizeof(host), "2001:db8::%x", 1 + i);
        hear(host, 1000, 1);
    }
    assert_int_equal(dropped(), OF_HOST);
}

TEST(hear__no_more_places_than_there_are)
{
    char host[64];

    open_with(false);
    for (int i = 0; i < 2 * PLACES; i++) {
        snprintf(host, sizeof(host), "192.0.2.%d", 1 + i);
        hear(host, 1000, 1);
    }
    assert_int_equal(dropped(), PLACES);
}

/* The one that has waited longest gives way, once that is long. */
TEST(hear__who_has_waited_long_gives_way)
{
    open_with(false);
    for (uint16_t i = 0; i < OF_HOST; i++, later++)
        hear("192.0.2.1", (uint16_t)(1000 + i), 1);
    hear("192.0.2.1", 2000, 1);
    assert_int_equal(dropped(), 1);
    later += HANDSHAKE_PATIENCE;
    hear("192.0.2.1", 2000, 1);
    assert_int_equal(dropped(), 1);
    assert_true(is_here("192.0.2.1", 2000, 1));
    assert_false(is_here("192.0.2.1", 1000, 1));
    for (uint16_t i = 1; i < OF_HOST; i++)
        assert_true(is_here("192.0.2.1", (uint16_t)(1000 + i), 1));
}

/* What is no handshake of TLS ends it at once. */
TEST(hear__who_was_refused_gives_way)
{
    open_with(true);
    for (uint16_t i = 0; i < OF_HOST; i++)
        hear_with("192.0.2.1", (uint16_t)(1000 + i), 1, true, i == 5 ? 100 : 0);
    while (pending_count(r).refused == 0)
        usleep(1000);
    assert_true(is_here("192.0.2.1", 1005, 1));
    for (hear("192.0.2.1", 2000, 1); !is_here("192.0.2.1", 2000, 1); hear("192.0.2.1", 2000, 1))
        usleep(1000); /* the thread is still at that place */
    uint64_t before = dropped();
    assert_false(is_here("192.0.2.1", 1005, 1));
    hear("192.0.2.1", 2001, 1);
    assert_int_equal(dropped(), before + 1);
    assert_int_equal(pending_count(r).refused, 1);
}

TEST(hear__no_cookie_no_place)
{
    open_with(false);
    assert_false(is_here("192.0.2.1", 1000, 1));
    assert_false(is_here("192.0.2.1", 1000, 1));
    assert_int_equal(dropped(), 0);
    assert_int_equal(told_bytes, 0);
}

/* The last bytes of a caller with these flags, which says nothing that can be checked here. */
static void hear_end(uint64_t nonce, uint8_t flags)
{
    const struct caller caller = caller_at("192.0.2.1", 1000);
    const struct handshake_datagram d = {.tag = TAG, .nonce = nonce, .cookie = 1, .flags = flags};
    uint8_t datagram[SEAL_TAG_BYTES + TRAILER_BYTES] = {0};

    told.count = 0;
    handshake_encode(datagram + SEAL_TAG_BYTES, &d);
    pending_hear(r, &caller, datagram, sizeof(datagram));
}

static void expect_cookie(uint64_t nonce)
{
    const struct caller caller = caller_at("192.0.2.1", 1000);
    const struct cookie_jar jar = keyed_hash_jar();
    const struct cookie_owner owner = {
        .peer = address_number(&caller.from), .nonce = nonce, .pairing = {.tag = TAG}};
    struct cookie_answer answer;

    assert_int_equal(told.count, 1);
    assert_int_equal(cookie_answer_decode(told.datagram[0].bytes, told.datagram[0].size, &answer),
                     VERDICT_OK);
    assert_int_equal(answer.nonce, nonce);
    assert_int_equal(answer.pairing.tag, TAG);
    assert_true(cookie_is_good(&jar, &owner, clock_now(), answer.cookie));
}

/* A caller that goes on with a handshake is told that it is not known here, each time that it
 * speaks. Nothing is kept of it. */
TEST(hear__a_handshake_that_is_not_known)
{
    static const uint8_t of_others[] = {HANDSHAKE_SECOND | HANDSHAKE_ANSWERS, HANDSHAKE_ANSWERS,
                                        HANDSHAKE_SECOND | HANDSHAKE_REFUSES, 0};
    open_with(false);
    for (uint64_t nonce = 1; nonce < 3; nonce++) {
        hear_end(nonce, HANDSHAKE_SECOND);
        expect_cookie(nonce);
        assert_false(is_here("192.0.2.1", 1000, nonce));
    }
    for (size_t i = 0; i < sizeof(of_others); i++) {
        hear_end(1, of_others[i]);
        assert_int_equal(told.count, 0);
    }
    hear("192.0.2.1", 1000, 1);
    hear_end(1, HANDSHAKE_SECOND);
    assert_int_equal(told.count, 0); /* it has a place now */
    pending_end(r);
    hear_end(2, HANDSHAKE_SECOND);
    assert_int_equal(told.count, 0);
}

/* A caller that finds no place is told so, in fewer bytes than a ClientHello has; whoever has no
 * cookie is told nothing. */
TEST(hear__no_place_is_told)
{
    struct handshake_datagram d;
    size_t bytes;

    open_with(false);
    for (uint16_t i = 0; i < OF_HOST; i++)
        hear("192.0.2.1", (uint16_t)(1000 + i), 1);
    hear_with("192.0.2.1", 2000, 7, false, 0);
    assert_int_equal(told.count, 0);
    hear("192.0.2.1", 2000, 7);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.datagram[0].size, TRAILER_BYTES);
    assert_int_equal(handshake_decode(told.datagram[0].bytes, TRAILER_BYTES, &d, &bytes),
                     VERDICT_OK);
    assert_int_equal(bytes, 0);
    assert_int_equal(d.tag, TAG);
    assert_int_equal(d.nonce, 7);
    assert_int_equal(d.flags, HANDSHAKE_ANSWERS);
    pending_end(r);
    hear("192.0.2.1", 2001, 7);
    assert_int_equal(told.count, 1);
}

/* A caller answers what is no refusal with one: both would go on for ever. Nor does it get a place
 * where there is one. */
TEST(hear__no_place_for_a_refusal)
{
    const struct cookie_jar jar = keyed_hash_jar();
    const struct caller caller = caller_at("192.0.2.1", 2000);
    const struct cookie_owner owner = {
        .peer = address_number(&caller.from), .nonce = 7, .pairing = {.tag = TAG}};
    const struct handshake_datagram refusal = {.tag = TAG,
                                               .nonce = 7,
                                               .flags = HANDSHAKE_REFUSES,
                                               .cookie = cookie_make(&jar, &owner, clock_now())};
    uint8_t datagram[TRAILER_BYTES];

    open_with(false);
    handshake_encode(datagram, &refusal);
    pending_hear(r, &caller, datagram, sizeof(datagram));
    assert_false(is_here("192.0.2.1", 2000, 7));
    for (uint16_t i = 0; i < OF_HOST; i++)
        hear("192.0.2.1", (uint16_t)(1000 + i), 1);
    pending_hear(r, &caller, datagram, sizeof(datagram));
    assert_int_equal(told.count, 0);
}

TEST(hear__nobody_behind_the_last)
{
    open_with(false);
    pending_end(r);
    hear("192.0.2.1", 1000, 1);
    assert_false(is_here("192.0.2.1", 1000, 1));
    assert_int_equal(dropped(), 0);
}

/* ---- hellos ---- */

/* The answer to a hello. */
static struct datagram_copy ask(uint64_t cookie)
{
    const struct caller caller = caller_at("192.0.2.1", 1000);
    const struct hello hello = {.pairing = {.tag = TAG}, .nonce = 7, .cookie = cookie};
    uint8_t datagram[TRAILER_BYTES];

    told.count = 0;
    pending_hear(r, &caller, datagram, hello_encode(datagram, sizeof(datagram), &hello));
    assert_int_equal(told.count, 1);
    return told.datagram[0];
}

/* Whoever has no keys is told so, once it has brought its cookie back. */
TEST(hear__hello_without_keys)
{
    struct cookie_answer cookie;
    struct handshake_datagram d;
    size_t bytes;

    open_with(false);
    struct datagram_copy answer = ask(0);
    assert_int_equal(cookie_answer_decode(answer.bytes, answer.size, &cookie), VERDICT_OK);
    answer = ask(cookie.cookie);
    assert_int_equal(handshake_decode(answer.bytes, answer.size, &d, &bytes), VERDICT_OK);
    assert_int_equal(d.flags, HANDSHAKE_ANSWERS | HANDSHAKE_REFUSES);
    assert_int_equal(d.nonce, 7);
}

TEST(hear__what_is_strange)
{
    const struct caller caller = caller_at("192.0.2.1", 1000);
    const uint8_t short_one[TRAILER_BYTES - 1] = {[TRAILER_BYTES - 2] = 0x10 | DATAGRAM_HANDSHAKE};

    open_with(false);
    pending_hear(r, &caller, short_one, sizeof(short_one));
    pending_hear(r, &caller, short_one, 1);
    assert_int_equal(pending_count(r).strange, 2);
    assert_int_equal(told.count, 0);
}

/* ---- handshakes ---- */

/* What has come for the caller. */
static void read_told(struct tls_handshake *h)
{
    static struct datagram_queue came;

    mutex_lock(&mutex);
    datagram_queue_take_all(&told, &came);
    mutex_unlock(&mutex);
    for (uint32_t i = 0; i < came.count; i++)
        (void)tls_handshake_hear(h, clock_now(), came.datagram[i].bytes, came.datagram[i].size);
}

/* The caller at this port says what is due, and hears what has come for it. */
static void talk_from(struct tls_handshake *h, uint16_t port)
{
    const struct caller caller = caller_at("192.0.2.1", port);
    uint8_t datagram[HANDSHAKE_BYTES];
    size_t size;

    handshake_expire(&h->machine, clock_now());
    while ((size = handshake_take(&h->machine, datagram)) > 0)
        pending_hear(r, &caller, datagram, size);
    read_told(h);
    usleep(1000);
}

static void talk(struct tls_handshake *h)
{
    talk_from(h, 1000);
}

/* A caller with a good key that waits for room, which has been looked for twice. Its nonce is 1 for
 * port 1000, and so on. */
static struct tls_handshake *wait_from(uint16_t port)
{
    struct tls_handshake *h = tls_handshake_create(keys, true, TAG, 1 + port - 1000U);

    while (h->verdict != TLS_DONE || turned_away[port - 1000] < 2)
        talk_from(h, port);
    return h;
}

/* A caller with a good key. Of what comes before its handshake has ended, its own last request is
 * kept, and its first units, as far as there is room. */
static void succeed(void)
{
    open_with(true);
    struct tls_handshake *h = tls_handshake_create(keys, true, TAG, 1);
    while (successes == 0)
        talk(h);
    assert_int_equal(h->verdict, TLS_DONE);
    tls_handshake_destroy(h);
}

TEST(on_success__with_what_came_early)
{
    succeed();
    assert_int_equal(early.count, DATAGRAM_QUEUE_MOST);
    assert_int_equal(early.datagram[0].size, 2);
    assert_int_equal(early.datagram[0].bytes[0], 77);
    assert_int_equal(early.datagram[1].size, HANDSHAKE_BYTES);
    for (uint8_t i = 1; i < DATAGRAM_QUEUE_MOST; i++)
        assert_int_equal(early.datagram[i].bytes[0], i);
    assert_int_equal(pending_count(r).refused, 0);
    while (is_here("192.0.2.1", 1000, 1)) /* its place is free */
        usleep(1000);
}

static uint64_t bytes_told(void)
{
    mutex_lock(&mutex);
    uint64_t bytes = told_bytes;
    mutex_unlock(&mutex);
    return bytes;
}

/* Whoever knows the nonce sends something in the caller's name to another address of this host. The
 * caller does not hear what comes from there. */
TEST(hear__from_another_place)
{
    const struct handshake_datagram said = {.tag = TAG, .nonce = 1};
    struct caller elsewhere = caller_at("192.0.2.1", 1000);
    uint8_t datagram[TRAILER_BYTES];

    elsewhere.here.any.sa_family = AF_INET;
    handshake_encode(datagram, &said);
    is_told_elsewhere = false;
    limit = 60 * SECOND; /* a busy machine answers late */
    open_with(true);
    struct tls_handshake *h = tls_handshake_create(keys, true, TAG, 1);
    while (!is_here("192.0.2.1", 1000, 1))
        talk(h);
    pending_hear(r, &elsewhere, datagram, sizeof(datagram));
    for (int i = 0; i < 3; i++) { /* it is answered, and told the same again */
        uint64_t before = bytes_told();
        while (bytes_told() == before)
            usleep(1000);
    }
    assert_false(is_told_elsewhere);
    tls_handshake_destroy(h);
}

/* A caller for which there is no room has its place, and what it has sent, until there is some. */
TEST(on_success__again_until_there_is_room)
{
    lacks = 3;
    succeed();
    assert_int_equal(lacks, -1);
    assert_int_equal(early.count, DATAGRAM_QUEUE_MOST);
    assert_int_equal(early.datagram[0].bytes[0], 77);
    while (is_here("192.0.2.1", 1000, 1))
        usleep(1000);
}

/* A caller that waits for room and says nothing any more may be gone: room that comes later is for
 * others, until it speaks again. */
TEST(on_success__not_for_who_is_gone)
{
    lacks = 1000;
    open_with(true);
    struct tls_handshake *h = tls_handshake_create(keys, true, TAG, 1);
    while (h->verdict != TLS_DONE || lacks == 1000)
        talk(h);
    usleep(1500000); /* longer than HANDSHAKE_PATIENCE, by the clock that the thread sleeps by */
    lacks = 0;
    usleep(4 * PENDING_PAUSE / MICROSECOND);
    assert_int_equal(successes, 0);
    while (successes == 0)
        talk(h);
    tls_handshake_destroy(h);
}

/* Whoever has seen its datagrams can write some that look like it: they do not speak for it. By the
 * time that another caller is through, they have been read. */
TEST(on_success__not_for_who_looks_like_the_caller)
{
    lacks = 1000000;
    open_with(true);
    struct tls_handshake *gone = wait_from(1000);
    later += 2 * HANDSHAKE_PATIENCE;
    tls_handshake_destroy(wait_from(1001)); /* the thread knows the time */
    usleep(100000);                         /* and has read all of it */
    lacks = 0;
    hear_with("192.0.2.1", 1000, 1, false, 0);
    hear_with("192.0.2.1", 1000, 1, false, 100);
    struct tls_handshake *h = tls_handshake_create(keys, true, TAG, 3);
    while (let_in[2] == 0)
        talk_from(h, 1002);
    assert_int_equal(let_in[0], 0);
    while (let_in[0] == 0)
        talk(gone);
    tls_handshake_destroy(gone);
    tls_handshake_destroy(h);
}

/* Callers that wait for room and are gone keep nobody out: the one that has waited longest gives
 * way, but for those that are there. */
TEST(hear__who_waits_for_room_and_is_gone_gives_way)
{
    struct tls_handshake *h[OF_HOST];

    lacks = 1000000;
    limit = 3600 * SECOND;
    open_with(true);
    for (uint16_t i = 0; i < OF_HOST; i++)
        h[i] = wait_from((uint16_t)(1000 + i));
    later += 4 * SECOND;
    int before = turned_away[0];
    while (turned_away[0] < before + 2)
        talk(h[0]);
    hear("192.0.2.1", 2000, 99);
    assert_int_equal(dropped(), 0);
    assert_true(is_here("192.0.2.1", 2000, 99));
    assert_true(is_here("192.0.2.1", 1000, 1));
    assert_false(is_here("192.0.2.1", 1001, 2));
    for (uint16_t i = 2; i < OF_HOST; i++)
        assert_true(is_here("192.0.2.1", (uint16_t)(1000 + i), 1U + i));
    for (uint16_t i = 0; i < OF_HOST; i++)
        tls_handshake_destroy(h[i]);
}

/* One caller that waits for room came at that turn; the others have shown no key yet. All may give
 * way: who has shown none does first. */
static void fill_around(uint16_t known)
{
    struct tls_handshake *h = NULL;

    lacks = 1000000;
    limit = 3600 * SECOND;
    open_with(true);
    for (uint16_t i = 0; i < OF_HOST; i++) {
        if (i == known)
            h = wait_from((uint16_t)(1000 + i));
        else
            hear("192.0.2.1", (uint16_t)(1000 + i), 1U + i);
    }
    later += HANDSHAKE_PATIENCE + ROOM_PATIENCE;
    hear("192.0.2.1", 2000, 100);
    assert_int_equal(dropped(), 0);
    assert_true(is_here("192.0.2.1", 2000, 100));
    assert_true(is_here("192.0.2.1", (uint16_t)(1000 + known), 1U + known));
    tls_handshake_destroy(h);
}

TEST(hear__who_waits_for_room_gives_way_last)
{
    fill_around(0);
}

TEST(hear__who_waits_for_room_gives_way_last_whenever_it_came)
{
    fill_around(OF_HOST - 1);
}

/* The thread is busy for long, as with the user's key lookup: who has spoken meanwhile is heard
 * before anybody gets its place. */
TEST(hear__who_waits_for_room_and_was_not_heard_yet)
{
    struct tls_handshake *h[OF_HOST];

    lacks = 1000000;
    limit = 3600 * SECOND;
    open_with(true);
    for (uint16_t i = 0; i < OF_HOST; i++)
        h[i] = wait_from((uint16_t)(1000 + i));
    is_slow = true;
    while (!is_stuck)
        talk_from(h[0], 1000);
    later += 4 * SECOND;
    for (uint16_t i = 0; i < OF_HOST; i++)
        hear_with("192.0.2.1", (uint16_t)(1000 + i), 1U + i, false, 0);
    hear("192.0.2.1", 2000, 99);
    assert_int_equal(dropped(), 1);
    for (uint16_t i = 0; i < OF_HOST; i++)
        assert_true(is_here("192.0.2.1", (uint16_t)(1000 + i), 1U + i));
    is_slow = false;
    for (uint16_t i = 0; i < OF_HOST; i++)
        tls_handshake_destroy(h[i]);
}

/* A caller that waits for room says nothing for so long that it is forgotten. Then it is told that,
 * and believes it when it is told again. */
TEST(hear__a_caller_that_was_forgotten)
{
    lacks = 1000000;
    limit = 200 * MILLISECOND; /* it repeats its last bytes more rarely in the end */
    open_with(true);
    struct tls_handshake *h = tls_handshake_create(keys, true, TAG, 1);
    while (h->machine.doubted == NEVER)
        talk(h);
    assert_int_equal(h->machine.phase, HANDSHAKE_ENDS);
    assert_false(h->machine.is_forgotten);
    while (!h->machine.is_forgotten)
        talk(h);
    assert_int_equal(successes, 0);
    tls_handshake_destroy(h);
}

/* What the caller had begun before is not admitted as well. */
TEST(on_success__for_who_has_begun_anew)
{
    lacks = 1000000;
    open_with(true);
    struct tls_handshake *before = tls_handshake_create(keys, true, TAG, 1);
    while (before->verdict != TLS_DONE || lacks == 1000000)
        talk(before);
    struct tls_handshake *h = tls_handshake_create(keys, true, TAG, 2);
    while (h->verdict != TLS_DONE || is_here("192.0.2.1", 1000, 1))
        talk(h);
    lacks = 0;
    while (successes == 0)
        talk(h);
    while (is_here("192.0.2.1", 1000, 2))
        usleep(1000);
    assert_int_equal(successes, 1);
    tls_handshake_destroy(before);
    tls_handshake_destroy(h);
}
