/* The library against docs/vectors/sealed.txt, which another one has made: each datagram is sealed
 * to the same bytes, and they open to it. */
#include "keys/tls.h"

#include "../../support/suite.h"

#ifdef ZCRP_KEYS
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DATAGRAM_MOST = 512, LINE_MOST = 4096 };

struct vector {
    char name[64], kind[16], cipher[16];
    uint8_t secret[CHAIN_SECRET_BYTES], plain[DATAGRAM_MOST], sealed[DATAGRAM_MOST];
    size_t plain_bytes, sealed_bytes;
    uint64_t number;
};

static struct keyring sender, receiver;
static uint8_t staging[SEAL_STAGING];

static size_t from_hex(const char *text, uint8_t *bytes, size_t room)
{
    const gnutls_datum_t hex = {(unsigned char *)text, (unsigned int)strlen(text)};
    ck_assert_int_eq(gnutls_hex_decode(&hex, bytes, &room), 0);
    return room;
}

static bool read_vector(const char *line, struct vector *v)
{
    static char secret[LINE_MOST], plain[LINE_MOST], sealed[LINE_MOST];
    unsigned long long number;
    if (line[0] == '#' ||
        sscanf(line,
               "%63s kind=%15s cipher=%15s secret=%4000s number=%llu plain=%4000s "
               "sealed=%4000s",
               v->name, v->kind, v->cipher, secret, &number, plain, sealed) != 7)
        return false;
    v->number = number;
    ck_assert_uint_eq(from_hex(secret, v->secret, sizeof v->secret), CHAIN_SECRET_BYTES);
    v->plain_bytes = from_hex(plain, v->plain, sizeof v->plain);
    v->sealed_bytes = from_hex(sealed, v->sealed, sizeof v->sealed);
    return true;
}

static void expect_sealed(struct vector *v)
{
    static struct burst burst;
    bool is_unit = strcmp(v->kind, "unit") == 0;
    struct keyring *k = strcmp(v->kind, "receiver") == 0 ? &receiver : &sender;
    size_t data = v->plain_bytes - TRAILER_BYTES;
    burst_set_control(&burst, v->plain_bytes);
    burst.is_control = !is_unit;
    memcpy(burst.control, v->plain, v->plain_bytes);
    if (is_unit) {
        burst.iov[0] = (struct iovec){v->plain, data};
        burst.iov[1] = (struct iovec){v->plain + data, TRAILER_BYTES};
    }
    k->units_out.next = k->control_out.next = v->number;
    ck_assert(keyring_seal(k, &burst, staging));
    ck_assert_uint_eq(burst.bytes, v->sealed_bytes);
    ck_assert_msg(memcmp(staging, v->sealed, v->sealed_bytes) == 0, "%s", v->name);
}

static void expect_opened(const struct vector *v)
{
    uint8_t out[DATAGRAM_MOST];
    size_t bytes = v->sealed_bytes - TRAILER_BYTES - SEAL_TAG_BYTES;
    struct keyring *k = strcmp(v->kind, "receiver") == 0 ? &sender : &receiver;
    struct sealed_unit unit;
    k->units_in.end = k->control_in.end = v->number;
    if (strcmp(v->kind, "unit") != 0) {
        ck_assert_int_eq(keyring_open_control(k, v->sealed, v->sealed_bytes, out, &bytes),
                         SEALED_GOOD);
        ck_assert_uint_eq(bytes, v->plain_bytes);
        ck_assert_mem_eq(out, v->plain, bytes);
        return;
    }
    ck_assert_int_eq(keyring_look_at_unit(k, v->sealed + v->sealed_bytes - TRAILER_BYTES, &unit),
                     SEALED_GOOD);
    ck_assert(keyring_open_unit(k, &unit, v->sealed, bytes, out));
    ck_assert(bytes == 0 || memcmp(out, v->plain, bytes) == 0);
    ck_assert_mem_eq(unit.plain, v->plain + bytes, TRAILER_BYTES);
}

TEST(keyring__as_another_library_has_it)
{
    static char line[3 * LINE_MOST];
    struct vector v;
    int count = 0;
    const char *path = getenv("ZCRP_SEALED_VECTORS");
    FILE *file = fopen(path != NULL ? path : "docs/vectors/sealed.txt", "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (!read_vector(line, &v))
            continue;
        bool is_aes = strcmp(v.cipher, "aes") == 0;
        ck_assert(keyrings_make(is_aes ? CHAIN_AES_128_GCM : CHAIN_CHACHA20_POLY1305, v.secret,
                                v.secret, &sender, &receiver));
        expect_sealed(&v);
        expect_opened(&v);
        keyring_fini(&sender);
        keyring_fini(&receiver);
        count++;
    }
    fclose(file);
    ck_assert_int_ge(count, 16);
}
#endif
