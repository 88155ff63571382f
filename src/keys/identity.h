/* What is in a struct zcrp_keys, for the handshake to use. */
#ifndef ZCRP_KEYS_IDENTITY_H
#define ZCRP_KEYS_IDENTITY_H

#include "chain.h"
#include "keys.h"
#include "log.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <stdatomic.h>

/* A key that both ends have, and its name. */
struct shared_key {
    struct shared_key *next;
    size_t bytes;
    uint8_t key[ZCRP_KEYS_PSK_MOST];
    char identity[ZCRP_KEYS_IDENTITY_MOST + 1];
};

/* A peer's key that is taken: the SHA-256 of its SubjectPublicKeyInfo. */
struct pinned_key {
    struct pinned_key *next;
    uint8_t fingerprint[ZCRP_KEYS_FINGERPRINT_BYTES];
};

enum keys_kind { KEYS_SHARED, KEYS_RAW, KEYS_CERTIFICATE };

struct zcrp_keys {
    _Atomic int holders;
    enum keys_kind kind;
    gnutls_priority_t priority; /* what a handshake may agree on; parsed once */
    struct shared_key *shared;  /* the first of them is what a connecting side shows */
    zcrp_keys_lookup lookup;    /* NULL: none */
    void *lookup_context;
    gnutls_certificate_credentials_t own; /* raw key or certificate, and authorities */
    struct pinned_key *pinned;
    struct log *log;                        /* of secrets; NULL: none */
    char name[ZCRP_KEYS_IDENTITY_MOST + 1]; /* that a peer's certificate must have; "": any */
};

/* The key of this identity: the user's, or what the lookup says. Writes at most ZCRP_KEYS_PSK_MOST
 * bytes; how many; 0: there is none. */
size_t identity_find_shared(const struct zcrp_keys *keys, const char *identity, uint8_t *key);

/* 0 if this public key is of a kind and a size with which a signature may be checked (zcrp.h), else
 * GNUTLS_E_UNSUPPORTED_SIGNATURE_ALGORITHM; or GNUTLS_E_MEMORY_ERROR: it is not known. */
int identity_bounds(gnutls_pubkey_t key);

/* Is the peer of this session one that is taken, if it has the key that it has shown? Looks at what
 * was shown only, and checks nothing that was signed with it. A certificate has to be for the side
 * that the peer is on: a server's if this side connects, a client's if it listens. False where keys
 * are pre-shared, of which none is shown. */
bool identity_takes_peer(const struct zcrp_keys *keys, gnutls_session_t session, bool is_listening);

/* The SHA-256 of the public key that the peer has shown. */
bool identity_fingerprint(gnutls_session_t session,
                          uint8_t fingerprint[ZCRP_KEYS_FINGERPRINT_BYTES]);

#endif
