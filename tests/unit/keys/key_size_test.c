/* A key that costs: what it takes to refuse a stranger's public key of any size. */
#include "../../support/suite.h"

#ifdef ZCRP_KEYS
#include "../../support/hostile_keys.h"
#include "keys/tls.h"

#include <stdio.h>
#include <time.h>

enum { DATAGRAMS_MOST = 200 };

struct end {
    struct handshake h;
    struct tls *tls;
    struct zcrp_keys *keys;
    enum tls_verdict verdict;
    int64_t cost_ns; /* of the processor: all of its turns */
};

static struct end client, server;
static instant now = SECOND;

static int64_t processor_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

static void turn(struct end *e)
{
    if (e->verdict != TLS_GOES_ON)
        return;
    int64_t before = processor_ns();
    e->verdict = tls_turn(e->tls, now);
    e->cost_ns += processor_ns() - before;
    if (e->verdict == TLS_DONE)
        handshake_end(&e->h);
    if (e->verdict == TLS_FAILED)
        handshake_refuse(&e->h);
}

static int say(struct end *from, struct end *to)
{
    uint8_t datagram[HANDSHAKE_BYTES];
    size_t size;
    int said = 0;

    for (; (size = handshake_take(&from->h, now, datagram)) > 0; said++)
        if (handshake_hear(&to->h, now, datagram, size))
            turn(to);
    return said;
}

static void begin(struct end *e, bool is_connecting)
{
    handshake_init(&e->h, is_connecting, 11, 77, now);
    e->tls = tls_create(e->keys, &e->h);
    ck_assert_ptr_nonnull(e->tls);
    e->verdict = TLS_GOES_ON;
    e->cost_ns = 0;
}

static void shake(void)
{
    const struct cookie_answer cookie = {.pairing = {.tag = 11}, .nonce = 77, .cookie = 5};

    begin(&client, true);
    begin(&server, false);
    ck_assert(handshake_on_cookie(&client.h, now, &cookie));
    turn(&client);
    for (int i = 0; i < DATAGRAMS_MOST && say(&client, &server) + say(&server, &client) > 0; i++)
        continue;
}

static void end(void)
{
    tls_destroy(client.tls);
    tls_destroy(server.tls);
    zcrp_keys_free(client.keys);
    zcrp_keys_free(server.keys);
    hostile_forget();
}

static struct zcrp_keys *honest(void)
{
    struct zcrp_keys *keys;

    ck_assert_int_eq(zcrp_keys_raw(&keys, hostile_own, strlen(hostile_own)), 0);
    return keys;
}

static void expect_cheap_refusal(const struct end *victim, const struct hostile_key *k)
{
    printf("%u and %u bits: %.3f ms\n", k->modulus_bits, k->exponent_bits,
           (double)victim->cost_ns / 1e6);
    ck_assert_int_eq(victim->verdict, TLS_FAILED);
    ck_assert_int_lt(victim->cost_ns, 50 * MILLISECOND);
}

static const struct hostile_key costly[] = {{30000, 30000}, {29999, 17}, {4096, 30000}};

/* Neither side gets as far as the signature. Before there was a bound, the first cost 1.6 s. */
TEST(key_size__costs_nobody_seconds, .rows = 2 * ROWS(costly))
{
    bool is_server_hostile = _i >= ROWS(costly);
    const struct hostile_key *k = &costly[_i % ROWS(costly)];

    client.keys = is_server_hostile ? honest() : hostile_raw(k);
    server.keys = is_server_hostile ? hostile_raw(k) : honest();
    shake();
    expect_cheap_refusal(is_server_hostile ? &client : &server, k);
    end();
}

/* The same in a certificate, of somebody whom the victim trusts, and of somebody else. */
TEST(key_size__certificates_cost_nobody_seconds, .rows = 4)
{
    bool is_server_hostile = _i / 2 == 1, is_trusted = _i % 2 == 1;
    const struct hostile_key *k = &costly[0];
    struct papers authority = make_papers("authority.example", &plain_claim);
    struct papers other = make_papers("other.example", &plain_claim);
    struct zcrp_keys *victim, *hostile = hostile_certified(k, &authority);

    ck_assert_int_eq(zcrp_keys_certificate(&victim, authority.certificate, authority.key,
                                           is_trusted ? authority.certificate : other.certificate,
                                           NULL),
                     0);
    client.keys = is_server_hostile ? victim : hostile;
    server.keys = is_server_hostile ? hostile : victim;
    shake();
    expect_cheap_refusal(is_server_hostile ? &client : &server, k);
    end();
    burn(&authority);
    burn(&other);
}

/* The client refuses the server's key, pins the key that it was shown, and both begin anew. */
static void shake_pinned(void)
{
    char shown[2 * ZCRP_KEYS_IDENTITY_MOST];

    shake();
    ck_assert(tls_identity(client.tls, shown, sizeof(shown)));
    ck_assert_int_eq(zcrp_keys_pin(client.keys, shown), 0);
    tls_destroy(client.tls);
    tls_destroy(server.tls);
    shake();
}

/* A key of somebody who is taken, and gives away its own: it is refused for its size. */
TEST(key_size__also_of_those_that_are_pinned)
{
    client.keys = honest();
    server.keys = hostile_raw(&costly[2]);
    shake_pinned();
    expect_cheap_refusal(&client, &costly[2]);
    end();
}

/* A signature that is wrong, with a key that is taken. */
TEST(key_size__a_signature_is_checked)
{
    static const struct hostile_key small = {2048, 17};

    client.keys = honest();
    server.keys = hostile_raw(&small);
    shake_pinned();
    ck_assert(client.tls != NULL);
    ck_assert_int_eq(client.verdict, TLS_FAILED);
    end();
}

static const struct {
    struct hostile_key key;
    bool has_bounds;
} bounds[] = {
    {{4096, 32}, true},  {{2048, 17}, true},  {{4097, 17}, false},
    {{4096, 33}, false}, {{8192, 17}, false}, {{30000, 2}, false},
};

TEST(key_size__bounds_of_rsa, .rows = ROWS(bounds))
{
    gnutls_pubkey_t key = hostile_public(&bounds[_i].key);

    ck_assert_int_eq(identity_has_bounds(key), bounds[_i].has_bounds);
    gnutls_pubkey_deinit(key);
}

/* Own keys, as zcrp_keys_raw reads them. */
TEST(key_size__kinds, .rows = ROWS(key_kinds))
{
    struct papers papers = make_papers("any.example", &key_kinds[_i].claim);
    gnutls_datum_t text = hostile_read(papers.key);

    ck_assert_int_eq(zcrp_keys_raw(&server.keys, text.data, text.size), key_kinds[_i].code);
    if (server.keys != NULL) {
        client.keys = honest();
        ck_assert_int_eq(zcrp_keys_pin(server.keys, hostile_fingerprint()), 0);
        shake_pinned();
        ck_assert_int_eq(client.verdict, TLS_DONE);
        ck_assert_int_eq(server.verdict, TLS_DONE);
        end();
    }
    gnutls_free(text.data);
    burn(&papers);
}
#endif
