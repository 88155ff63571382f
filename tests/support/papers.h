/* Certificates that a test makes, in files. */
#ifndef ZCRP_TESTS_SUPPORT_PAPERS_H
#define ZCRP_TESTS_SUPPORT_PAPERS_H

#include "asserts.h"
#include "zcrp.h"

#include <gnutls/x509.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A certificate of this name that has signed itself, in files that the test removes. */
struct papers {
    char certificate[32], key[32];
};

static inline void write_paper(char path[32], const gnutls_datum_t *text)
{
    strcpy(path, "/tmp/zcrp-paper-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text->data, text->size), text->size);
    close(fd);
}

/* What a certificate says beside its name. */
struct claim {
    const char *purpose;  /* NULL: none, so any */
    bool has_common_name; /* instead of an alternative name */
    bool has_mail;        /* an alternative name, but none of a host's */
    bool has_address;     /* an alternative name: 192.0.2.1 */
    bool has_long_name;   /* too long for GnuTLS's look, and behind it another host's */
    uint32_t more_bytes;  /* of an address (URI) behind the name; 0: there is none */
    gnutls_pk_algorithm_t kind;
    unsigned int bits;
};

static const struct claim plain_claim = {.kind = GNUTLS_PK_EDDSA_ED25519};

/* Each kind of key that the library accepts, some that it refuses, and the code for each. */
#define CURVE(name) GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_##name)
static const struct {
    struct claim claim;
    int code;
} key_kinds[] = {
    {{.kind = GNUTLS_PK_EDDSA_ED25519}, ZCRP_OK},
    {{.kind = GNUTLS_PK_ECDSA, .bits = CURVE(SECP256R1)}, ZCRP_OK},
    {{.kind = GNUTLS_PK_ECDSA, .bits = CURVE(SECP384R1)}, ZCRP_OK},
    {{.kind = GNUTLS_PK_ECDSA, .bits = CURVE(SECP521R1)}, ZCRP_OK},
    {{.kind = GNUTLS_PK_RSA, .bits = 2048}, ZCRP_OK},
    {{.kind = GNUTLS_PK_EDDSA_ED448}, ZCRP_ERROR_ARGUMENT},
    {{.kind = GNUTLS_PK_ECDSA, .bits = CURVE(SECP224R1)}, ZCRP_ERROR_ARGUMENT},
};
#undef CURVE

static inline void write_name(gnutls_x509_crt_t crt, const char *name, const struct claim *claim)
{
    unsigned int length = (unsigned int)strlen(name);

    if (claim->has_common_name)
        gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, name, length);
    else
        gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, name, length, 0);
    if (claim->has_mail)
        gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_RFC822NAME, "a@b", 3, 0);
    if (claim->has_address)
        gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, "\xC0\x00\x02\x01", 4,
                                             GNUTLS_FSAN_APPEND);
    if (claim->has_long_name) {
        char uri[256] = "http://";
        memset(uri + 7, 'a', sizeof uri - 7);
        gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_URI, uri, sizeof uri, 0);
        gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, "o.example", 9,
                                             GNUTLS_FSAN_APPEND);
    }
    if (claim->more_bytes > 0) {
        char *uri = malloc(claim->more_bytes);
        ck_assert_ptr_nonnull(uri);
        memset(uri, 'a', claim->more_bytes);
        gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_URI, uri, claim->more_bytes,
                                             GNUTLS_FSAN_APPEND);
        free(uri);
    }
    if (claim->purpose != NULL)
        gnutls_x509_crt_set_key_purpose_oid(crt, claim->purpose, 0);
}

static inline struct papers make_papers(const char *name, const struct claim *claim)
{
    static const unsigned char serial = 1;
    struct papers papers;
    gnutls_x509_crt_t crt;
    gnutls_x509_privkey_t private;
    gnutls_datum_t text;
    ck_assert_int_eq(gnutls_x509_crt_init(&crt), 0);
    ck_assert_int_eq(gnutls_x509_privkey_init(&private), 0);
    ck_assert_int_eq(gnutls_x509_privkey_generate(private, claim->kind, claim->bits, 0), 0);
    gnutls_x509_crt_set_version(crt, 3);
    gnutls_x509_crt_set_serial(crt, &serial, 1);
    gnutls_x509_crt_set_activation_time(crt, time(NULL) - 86400);
    gnutls_x509_crt_set_expiration_time(crt, time(NULL) + 86400);
    write_name(crt, name, claim);
    gnutls_x509_crt_set_basic_constraints(crt, 1, -1);
    gnutls_x509_crt_set_key(crt, private);
    ck_assert_int_eq(gnutls_x509_crt_sign2(crt, crt, private, GNUTLS_DIG_UNKNOWN, 0), 0);
    ck_assert_int_eq(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &text), 0);
    write_paper(papers.certificate, &text);
    gnutls_free(text.data);
    ck_assert_int_eq(gnutls_x509_privkey_export2_pkcs8(private, GNUTLS_X509_FMT_PEM, NULL,
                                                       GNUTLS_PKCS_PLAIN, &text),
                     0);
    write_paper(papers.key, &text);
    gnutls_free(text.data);
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(private);
    return papers;
}

static inline void burn(const struct papers *papers)
{
    unlink(papers->certificate);
    unlink(papers->key);
}

#endif
