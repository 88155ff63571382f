/* Two handshakes of TLS with each other, from memory to memory. */
#include "keys/tls.h"

#include "../../support/suite.h"

#ifdef ZCRP_KEYS
#include "../../support/papers.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#define HAS_SANITIZER (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))

enum { DATAGRAMS_MOST = 100 };

struct end {
    struct handshake h;
    struct tls *tls;
    struct zcrp_keys *keys;
    enum tls_verdict verdict;
};

static struct end client, server;
static instant now = SECOND;
static const uint8_t key[ZCRP_KEYS_PSK_LEAST] = {1, 2, 3}, other_key[ZCRP_KEYS_PSK_LEAST] = {9};

static const char ed25519[2][128] = {
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
    "-----END PRIVATE KEY-----\n",
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIEzNCJsopdubKS92nA/5yo/1vahLoLYnwlZFZCd7BNtv\n"
    "-----END PRIVATE KEY-----\n"};

static struct tls_credit given; /* by the listening side */

static void begin(struct end *e, bool is_connecting)
{
    handshake_init(&e->h, is_connecting, 11, 77, now);
    e->tls = tls_create(e->keys, &e->h);
    ck_assert_ptr_nonnull(e->tls);
    if (!is_connecting)
        tls_give_credit(e->tls, given);
    e->verdict = TLS_GOES_ON;
}

static void turn(struct end *e)
{
    if (e->verdict != TLS_GOES_ON)
        return;
    e->verdict = tls_turn(e->tls, now);
    if (e->verdict == TLS_DONE)
        handshake_end(&e->h);
    if (e->verdict == TLS_FAILED)
        handshake_refuse(&e->h);
}

static int flights_to_lose[3]; /* the connecting side's, the answer, and what that is answered */

static bool loses_flight(const struct end *from)
{
    int flight = from == &server ? 1 : client.verdict == TLS_DONE ? 2 : 0;
    return flights_to_lose[flight] > 0 && flights_to_lose[flight]-- > 0;
}

static int count; /* of datagrams of this handshake */

/* Sends what one end has to say; every `lost`-th datagram is lost. */
static int say(struct end *from, struct end *to, int lost)
{
    uint8_t datagram[HANDSHAKE_BYTES];
    size_t size = handshake_take(&from->h, datagram);
    bool is_lost = size > 0 && loses_flight(from);
    int said = 0;
    for (; size > 0; size = handshake_take(&from->h, datagram), said++)
        if (!is_lost && (lost == 0 || ++count % lost != 0))
            handshake_hear(&to->h, now, datagram, size);
    turn(to);
    return said;
}

static void shake(int lost)
{
    const struct cookie_answer cookie = {.pairing = {.tag = 11}, .nonce = 77, .cookie = 5};
    count = 0;
    begin(&client, true);
    begin(&server, false);
    ck_assert(handshake_on_cookie(&client.h, now, &cookie));
    turn(&client);
    for (int i = 0; i < DATAGRAMS_MOST; i++) {
        int said = say(&client, &server, lost) + say(&server, &client, lost);
        if (said > 0)
            continue;
        instant next =
            instant_earlier(handshake_deadline(&client.h), handshake_deadline(&server.h));
        bool is_over = server.verdict != TLS_GOES_ON && client.verdict != TLS_GOES_ON;
        if (next == NEVER || is_over)
            break;
        now = next;
        handshake_expire(&client.h, now);
        handshake_expire(&server.h, now);
    }
}

static void set_shared(const char *identity, const uint8_t *theirs)
{
    ck_assert_int_eq(zcrp_keys_psk(&client.keys, identity, key, sizeof key), 0);
    ck_assert_int_eq(zcrp_keys_psk(&server.keys, "another", other_key, sizeof other_key), 0);
    ck_assert_int_eq(zcrp_keys_add_psk(server.keys, "alice", theirs, sizeof key), 0);
}

static void end(void)
{
    tls_destroy(client.tls);
    tls_destroy(server.tls);
    zcrp_keys_free(client.keys);
    zcrp_keys_free(server.keys);
}

/* What one end seals the other one opens, in both directions. */
static void expect_same_keys(void)
{
    struct keyring ours[2], theirs[2];
    struct hello hello = {.pairing = {1, 1}};
    struct burst burst;
    static uint8_t staging[SEAL_STAGING], out[CONTROL_BYTES];
    size_t plain;
    ck_assert(tls_make_keyrings(client.tls, &ours[0], &ours[1]));
    ck_assert(tls_make_keyrings(server.tls, &theirs[0], &theirs[1]));
    ck_assert_mem_eq(&ours[0].pairing, &theirs[1].pairing, sizeof(struct pairing));
    ck_assert_mem_eq(&ours[1].pairing, &theirs[0].pairing, sizeof(struct pairing));
    ck_assert_uint_ne(ours[0].pairing.session, ours[1].pairing.session);
    for (int i = 0; i < 4; i++) {
        struct keyring *from = i < 2 ? &ours[i] : &theirs[i - 2];
        struct keyring *to = i < 2 ? &theirs[1 - i] : &ours[3 - i];
        hello.pairing = from->pairing;
        burst_set_control(&burst, hello_encode(burst.control, sizeof burst.control, &hello));
        ck_assert(keyring_seal(from, &burst, staging));
        ck_assert_int_eq(keyring_open_control(to, burst.iov[1].iov_base, burst.bytes, out, &plain),
                         SEALED_GOOD);
        burst_set_control(&burst, hello_encode(burst.control, sizeof burst.control, &hello));
        ck_assert(keyring_seal(from, &burst, staging));
        ck_assert_int_ne(
            keyring_open_control(from, burst.iov[1].iov_base, burst.bytes, out, &plain),
            SEALED_GOOD);
    }
    for (int i = 0; i < 2; i++) {
        keyring_fini(&ours[i]);
        keyring_fini(&theirs[i]);
    }
}

/* With nothing lost, and with every third to fifth datagram lost. */
TEST(tls__pre_shared_key, .rows = 4)
{
    char name[ZCRP_KEYS_IDENTITY_MOST + 1];
    set_shared("alice", key);
    shake(_i == 0 ? 0 : _i + 2);
    ck_assert_int_eq(client.verdict, TLS_DONE);
    ck_assert_int_eq(server.verdict, TLS_DONE);
    ck_assert(tls_identity(server.tls, name, sizeof name));
    ck_assert_str_eq(name, "alice");
    ck_assert(tls_identity(client.tls, name, sizeof name));
    ck_assert(!tls_identity(server.tls, name, 5));
    expect_same_keys();
    end();
}

/* The listening side's first buffers are known with the keys; there may be none. */
TEST(tls__credit, .rows = 2)
{
    const struct tls_credit credit = {.count = _i == 0 ? 0 : 7, .size = 1ULL << 33};
    given = credit;
    set_shared("alice", key);
    shake(3);
    ck_assert_int_eq(client.verdict, TLS_DONE);
    ck_assert_int_eq(server.verdict, TLS_DONE);
    ck_assert_uint_eq(tls_credit(client.tls).count, credit.count);
    ck_assert_uint_eq(tls_credit(client.tls).size, _i == 0 ? 0 : credit.size);
    expect_same_keys();
    end();
}

TEST(tls__each_flight_lost_three_times)
{
    instant began = now;
    for (int i = 0; i < 3; i++)
        flights_to_lose[i] = 3;
    set_shared("alice", key);
    shake(0);
    ck_assert_int_eq(client.verdict, TLS_DONE);
    ck_assert_int_eq(server.verdict, TLS_DONE);
    ck_assert_int_lt(now - began, 3 * SECOND);
    end();
}

TEST(tls__another_key)
{
    set_shared("alice", other_key);
    shake(0);
    ck_assert_int_eq(server.verdict, TLS_FAILED);
    ck_assert_int_eq(client.verdict, TLS_GOES_ON);
    ck_assert_int_ne(client.h.refusal, NEVER);
    end();
}

TEST(tls__unknown_identity)
{
    set_shared("mallory", key);
    shake(0);
    ck_assert_int_eq(server.verdict, TLS_FAILED);
    ck_assert_int_ne(client.verdict, TLS_DONE);
    end();
}

static size_t look_up(void *context, const char *identity, uint8_t *found, size_t size)
{
    ck_assert_str_eq(identity, "alice");
    ck_assert_uint_ge(size, sizeof key);
    memcpy(found, context, sizeof key);
    return sizeof key;
}

TEST(tls__looked_up)
{
    ck_assert_int_eq(zcrp_keys_psk(&client.keys, "alice", key, sizeof key), 0);
    ck_assert_int_eq(zcrp_keys_psk(&server.keys, "another", other_key, sizeof other_key), 0);
    ck_assert_int_eq(zcrp_keys_set_lookup(server.keys, look_up, (void *)key), 0);
    shake(0);
    ck_assert_int_eq(server.verdict, TLS_DONE);
    ck_assert_int_eq(client.verdict, TLS_DONE);
    end();
}

/* A key has no more bytes than there is room for; what the function says does not matter. */
static size_t look_up_and_boast(void *context, const char *identity, uint8_t *found, size_t size)
{
    return look_up(context, identity, found, size) + size;
}

TEST(tls__looked_up_a_key_that_is_too_long)
{
    ck_assert_int_eq(zcrp_keys_psk(&client.keys, "alice", key, sizeof key), 0);
    ck_assert_int_eq(zcrp_keys_psk(&server.keys, "another", other_key, sizeof other_key), 0);
    ck_assert_int_eq(zcrp_keys_set_lookup(server.keys, look_up_and_boast, (void *)key), 0);
    shake(0);
    ck_assert_int_eq(server.verdict, TLS_FAILED);
    ck_assert_int_ne(client.verdict, TLS_DONE);
    end();
}

/* Bytes of the first level, once the second has begun. */
TEST(tls__bytes_where_nothing_belongs)
{
    const struct cookie_answer cookie = {.pairing = {.tag = 11}, .nonce = 77, .cookie = 5};

    set_shared("alice", key);
    begin(&client, true);
    begin(&server, false);
    ck_assert(handshake_on_cookie(&client.h, now, &cookie));
    turn(&client);
    ck_assert_int_gt(say(&client, &server, 0), 0);
    ck_assert_int_eq(server.verdict, TLS_GOES_ON);
    ck_assert(handshake_write(&client.h, now, HANDSHAKE_LEVEL_FIRST, (const uint8_t *)"more", 4));
    ck_assert_int_gt(say(&client, &server, 0), 0);
    ck_assert_int_eq(server.verdict, TLS_FAILED);
    end();
}

/* ---- raw keys ---- */

static const char *fingerprint[2] = {
    "sha256:0000000000000000000000000000000000000000000000000000000000000000",
    "sha256:0000000000000000000000000000000000000000000000000000000000000001",
};

static void set_raw(void)
{
    ck_assert_int_eq(zcrp_keys_raw(&client.keys, ed25519[0], strlen(ed25519[0])), 0);
    ck_assert_int_eq(zcrp_keys_raw(&server.keys, ed25519[1], strlen(ed25519[1])), 0);
}

TEST(tls__raw_key_that_is_not_pinned)
{
    set_raw();
    ck_assert_int_eq(zcrp_keys_pin(client.keys, fingerprint[0]), 0);
    ck_assert_int_eq(zcrp_keys_pin(server.keys, fingerprint[1]), 0);
    shake(0);
    ck_assert_int_eq(client.verdict, TLS_FAILED);
    ck_assert_int_eq(server.h.phase, HANDSHAKE_REFUSED); /* sealed, so the word counts */
    end();
}

/* Each learns the other's fingerprint from a handshake that fails, and pins it. */
static void pin_each_other(bool has_client_pinned)
{
    char theirs[2 * ZCRP_KEYS_IDENTITY_MOST];
    set_raw();
    shake(0);
    ck_assert(tls_identity(client.tls, theirs, sizeof theirs));
    end();
    set_raw();
    ck_assert_int_eq(zcrp_keys_pin(client.keys, theirs), 0);
    shake(0);
    ck_assert_int_eq(client.verdict, TLS_DONE);
    ck_assert_int_eq(server.verdict, TLS_FAILED);
    ck_assert_int_eq(client.h.phase, HANDSHAKE_REFUSED);
    char ours[2 * ZCRP_KEYS_IDENTITY_MOST];
    ck_assert(tls_identity(server.tls, ours, sizeof ours));
    end();
    set_raw();
    ck_assert_int_eq(zcrp_keys_pin(client.keys, theirs), 0);
    if (has_client_pinned)
        ck_assert_int_eq(zcrp_keys_pin(server.keys, ours), 0);
}

TEST(tls__raw_keys)
{
    pin_each_other(true);
    shake(3);
    ck_assert_int_eq(client.verdict, TLS_DONE);
    ck_assert_int_eq(server.verdict, TLS_DONE);
    expect_same_keys();
    end();
}

/* ---- certificates ---- */

static const struct {
    const char *name; /* that the client asks for */
    bool is_trusted;  /* the server's certificate */
    enum tls_verdict verdict;
} certified[] = {
    {"server.example", true, TLS_DONE},
    {NULL, true, TLS_DONE},
    {"other.example", true, TLS_FAILED},
    {"server.example", false, TLS_FAILED},
};

TEST(tls__certificates, .rows = ROWS(certified))
{
    struct papers ours = make_papers("client.example", &plain_claim);
    struct papers theirs = make_papers("server.example", &plain_claim);
    const struct papers *trusted = certified[_i].is_trusted ? &theirs : &ours;
    ck_assert_int_eq(zcrp_keys_certificate(&client.keys, ours.certificate, ours.key,
                                           trusted->certificate, certified[_i].name),
                     0);
    ck_assert_int_eq(zcrp_keys_certificate(&server.keys, theirs.certificate, theirs.key,
                                           ours.certificate, "client.example"),
                     0);
    shake(4);
    ck_assert_int_eq(client.verdict, certified[_i].verdict);
    if (client.verdict == TLS_DONE) {
        ck_assert_int_eq(server.verdict, TLS_DONE);
        expect_same_keys();
    }
    end();
    ck_assert_int_eq(chmod(ours.key, 0644), 0);
    ck_assert_int_eq(
        zcrp_keys_certificate(&client.keys, ours.certificate, ours.key, theirs.certificate, NULL),
        ZCRP_ERROR_EXPOSED);
    burn(&ours);
    burn(&theirs);
}

/* Such keys would refuse everybody. */
TEST(tls__authorities_that_are_none)
{
    struct papers ours = make_papers("client.example", &plain_claim);

    ck_assert_int_eq(
        zcrp_keys_certificate(&client.keys, ours.certificate, ours.key, ours.key, NULL),
        ZCRP_ERROR_ARGUMENT);
    ck_assert_ptr_null(client.keys);
    burn(&ours);
}

#define SERVER GNUTLS_KP_TLS_WWW_SERVER
#define CLIENT GNUTLS_KP_TLS_WWW_CLIENT
#define PAPER(...)                                                                                 \
    {                                                                                              \
        .kind = GNUTLS_PK_EDDSA_ED25519, __VA_ARGS__                                               \
    }

/* What both certificates say, and who refuses the other one for it. */
static const struct {
    struct claim ours, theirs;
    enum tls_verdict client, server;
} claims[] = {
    {PAPER(.purpose = CLIENT), PAPER(.purpose = SERVER), TLS_DONE, TLS_DONE},
    {PAPER(.purpose = GNUTLS_KP_ANY), PAPER(.purpose = GNUTLS_KP_ANY), TLS_DONE, TLS_DONE},
    {PAPER(.purpose = SERVER), PAPER(.purpose = SERVER), TLS_DONE, TLS_FAILED},
    {PAPER(.purpose = CLIENT), PAPER(.purpose = CLIENT), TLS_FAILED, TLS_GOES_ON},
    {PAPER(.purpose = GNUTLS_KP_CODE_SIGNING), PAPER(.purpose = SERVER), TLS_DONE, TLS_FAILED},
    {PAPER(), PAPER(.has_common_name = true), TLS_FAILED, TLS_GOES_ON},
    {PAPER(), PAPER(.has_common_name = true, .has_mail = true), TLS_FAILED, TLS_GOES_ON},
    {PAPER(), PAPER(.has_common_name = true, .has_address = true), TLS_FAILED, TLS_GOES_ON},
    {PAPER(), PAPER(.has_address = true), TLS_DONE, TLS_DONE},
    {PAPER(.has_common_name = true), PAPER(), TLS_DONE, TLS_FAILED},
    {PAPER(), PAPER(.has_common_name = true, .has_long_name = true), TLS_FAILED, TLS_GOES_ON},
};

TEST(tls__what_certificates_are_for, .rows = ROWS(claims))
{
    struct papers ours = make_papers("client.example", &claims[_i].ours);
    struct papers theirs = make_papers("server.example", &claims[_i].theirs);

    ck_assert_int_eq(zcrp_keys_certificate(&client.keys, ours.certificate, ours.key,
                                           theirs.certificate, "server.example"),
                     0);
    ck_assert_int_eq(zcrp_keys_certificate(&server.keys, theirs.certificate, theirs.key,
                                           ours.certificate, "client.example"),
                     0);
    shake(0);
    ck_assert_int_eq(client.verdict, claims[_i].client);
    ck_assert_int_eq(server.verdict, claims[_i].server);
    end();
    burn(&ours);
    burn(&theirs);
}

/* An address is a name, too, if the certificate says it as one. */
TEST(tls__a_certificate_of_an_address, .rows = 2)
{
    static const struct claim claim = PAPER(.has_common_name = true, .has_address = true);
    static const char *const wanted[] = {"192.0.2.1", "192.0.2.2"};
    struct papers ours = make_papers("client.example", &plain_claim);
    struct papers theirs = make_papers("server.example", &claim);

    ck_assert_int_eq(zcrp_keys_certificate(&client.keys, ours.certificate, ours.key,
                                           theirs.certificate, wanted[_i]),
                     0);
    ck_assert_int_eq(zcrp_keys_certificate(&server.keys, theirs.certificate, theirs.key,
                                           ours.certificate, "client.example"),
                     0);
    shake(0);
    ck_assert_int_eq(client.verdict, _i == 0 ? TLS_DONE : TLS_FAILED);
    end();
    burn(&ours);
    burn(&theirs);
}

TEST(tls__kinds_of_certificates, .rows = ROWS(key_kinds))
{
    struct papers theirs = make_papers("server.example", &key_kinds[_i].claim);
    struct papers ours = make_papers("client.example", &plain_claim);

    ck_assert_int_eq(zcrp_keys_certificate(&server.keys, theirs.certificate, theirs.key,
                                           ours.certificate, "client.example"),
                     key_kinds[_i].code);
    if (server.keys != NULL) {
        ck_assert_int_eq(zcrp_keys_certificate(&client.keys, ours.certificate, ours.key,
                                               theirs.certificate, "server.example"),
                         0);
        shake(0);
        ck_assert_int_eq(client.verdict, TLS_DONE);
        ck_assert_int_eq(server.verdict, TLS_DONE);
        end();
    }
    burn(&ours);
    burn(&theirs);
}

/* ---- chains of any length ---- */

/* Both sides have such a certificate, and trust those; the code for it. */
static int certify_both(const struct papers *p, const char *authorities)
{
    int code =
        zcrp_keys_certificate(&client.keys, p->certificate, p->key, authorities, "a.example");

    if (code == ZCRP_OK)
        code =
            zcrp_keys_certificate(&server.keys, p->certificate, p->key, authorities, "a.example");
    return code;
}

static size_t der_bytes(const struct papers *p)
{
    gnutls_datum_t pem, der;
    gnutls_x509_crt_t crt;

    ck_assert_int_eq(gnutls_load_file(p->certificate, &pem), 0);
    ck_assert_int_eq(gnutls_x509_crt_init(&crt), 0);
    ck_assert_int_eq(gnutls_x509_crt_import(crt, &pem, GNUTLS_X509_FMT_PEM), 0);
    ck_assert_int_eq(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_DER, &der), 0);
    size_t bytes = der.size;
    gnutls_x509_crt_deinit(crt);
    gnutls_free(der.data);
    gnutls_free(pem.data);
    return bytes;
}

/* The largest chain that is taken fits a handshake, also if the largest signature came behind it. A
 * byte more is refused at once, because no handshake could carry it. */
TEST(tls__largest_chain, .rows = 2)
{
    enum { LARGEST = 11000, OWN_SIGNATURE = 64, LARGEST_SIGNATURE = 512 };
    struct claim claim = {.kind = GNUTLS_PK_EDDSA_ED25519, .more_bytes = 5000};
    struct papers p = make_papers("a.example", &claim);

    claim.more_bytes += LARGEST + (uint32_t)_i - (uint32_t)der_bytes(&p);
    burn(&p);
    p = make_papers("a.example", &claim);
    ck_assert_uint_eq(der_bytes(&p), (size_t)(LARGEST + _i));
    int code = certify_both(&p, p.certificate);
    burn(&p);
    if (_i == 1) {
        ck_assert_int_eq(code, ZCRP_ERROR_ARGUMENT);
        ck_assert_ptr_null(client.keys);
        ck_assert_ptr_nonnull(strstr(zcrp_explain(ZCRP_ERROR_ARGUMENT), "11001 bytes"));
        return;
    }
    ck_assert_int_eq(code, ZCRP_OK);
    given = (struct tls_credit){.count = 7, .size = 1ULL << 33};
    shake(5);
    ck_assert_int_eq(client.verdict, TLS_DONE);
    ck_assert_int_eq(server.verdict, TLS_DONE);
    ck_assert_uint_le(server.h.out[HANDSHAKE_LEVEL_SECOND].written,
                      HANDSHAKE_ROOM - (LARGEST_SIGNATURE - OWN_SIGNATURE));
    end();
}

/* Adds a file's certificate to another file. */
static void add_paper(const char *to, const struct papers *p)
{
    gnutls_datum_t pem;
    FILE *file = fopen(to, "a");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(gnutls_load_file(p->certificate, &pem), 0);
    ck_assert_uint_eq(fwrite(pem.data, 1, pem.size, file), pem.size);
    ck_assert_int_eq(fclose(file), 0);
    gnutls_free(pem.data);
}

/* Whoever trusts many authorities, as a system does, has as much room for its own chain. */
TEST(tls__many_authorities)
{
    enum { AUTHORITIES = 250 };
    const struct claim other = {.kind = GNUTLS_PK_EDDSA_ED25519, .has_common_name = true};
    struct papers own = make_papers("a.example", &plain_claim);
    char name[61], authorities[32];

    write_paper(authorities, &(gnutls_datum_t){NULL, 0});
    for (int i = 0; i < AUTHORITIES; i++) {
        snprintf(name, sizeof(name), "an authority whose name is not a short one %d", 1000000 + i);
        struct papers p = make_papers(name, &other);
        add_paper(authorities, &p);
        burn(&p);
    }
    add_paper(authorities, &own);
    ck_assert_int_eq(certify_both(&own, authorities), ZCRP_OK);
    shake(5);
    ck_assert_int_eq(client.verdict, TLS_DONE);
    ck_assert_int_eq(server.verdict, TLS_DONE);
    end();
    unlink(authorities);
    burn(&own);
}

/* ---- what a stranger costs ---- */

static uint8_t first_bytes[HANDSHAKE_BYTES];
static size_t first_size;

/* The listening side hears the first bytes, and answers. Nanoseconds of the processor. */
static int64_t answer(void)
{
    struct timespec before, after;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    begin(&server, false);
    handshake_hear(&server.h, now, first_bytes, first_size);
    turn(&server);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    tls_destroy(server.tls);
    server.tls = NULL;
    return (after.tv_sec - before.tv_sec) * SECOND + after.tv_nsec - before.tv_nsec;
}

/* The least of several, which is what nobody has disturbed. */
static int64_t cost_of_answer(const uint8_t *theirs)
{
    const struct cookie_answer cookie = {.pairing = {.tag = 11}, .nonce = 77, .cookie = 5};
    int64_t least = SECOND;
    set_shared("alice", theirs);
    begin(&client, true);
    ck_assert(handshake_on_cookie(&client.h, now, &cookie));
    turn(&client);
    first_size = handshake_take(&client.h, first_bytes);
    for (int i = 0; i < 100; i++) {
        int64_t cost = answer();
        least = cost < least ? cost : least;
    }
    end();
    return least;
}

/* A wrong key is found before anything is computed that costs. */
TEST(tls__another_key_costs_little)
{
    int64_t right = cost_of_answer(key), wrong = cost_of_answer(other_key);
    printf("an answer costs %lld ns, a refusal %lld ns\n", (long long)right, (long long)wrong);
    ck_assert_int_le(HAS_SANITIZER ? wrong : 10 * wrong, right);
}

/* ---- mistakes of the caller's ---- */

TEST(keys__arguments)
{
    struct zcrp_keys *keys = NULL;
    ck_assert_int_eq(zcrp_keys_psk(NULL, "a", key, 32), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_keys_psk(&keys, "", key, 32), ZCRP_ERROR_ARGUMENT);
    ck_assert_int_eq(zcrp_keys_psk(&keys, "a", key, 31), ZCRP_ERROR_ARGUMENT);
    ck_assert_ptr_null(keys);
    ck_assert_int_eq(zcrp_keys_raw(&keys, "no key", 6), ZCRP_ERROR_ARGUMENT);
    ck_assert_ptr_null(keys);
    zcrp_keys_free(NULL);
}
#endif
