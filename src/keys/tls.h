/* One handshake of TLS 1.3, over the core's handshake machine (core/keys/handshake.h), and the keys
 * that come of it.
 *
 *     datagrams <--> struct handshake <-- bytes --> struct tls (GnuTLS) --> two keyrings
 *
 * No session tickets, no early data, nothing below TLS 1.3. Where the library is built without
 * GnuTLS none of this is there, and keys cannot be made in the first place (keys.h).
 *
 * What the two ends have of each other follows from the secrets of application data (RFC 8446,
 * 7.1), by expand (chain.h); `w` is the secret of the end that sends the datagrams:
 *
 *     units                             expand(w, "zcrp unit")
 *     control of the sender             expand(w, "zcrp sender")
 *     control of the receiver           expand(w, "zcrp receiver")
 *     session and tag of its pairing    expand(w, "zcrp pairing", 8), of the end that sends units
 *     what opens its memory channel     expand(w, "zcrp memory", 32), of that end, too
 *
 * One thread at a time. */
#ifndef ZCRP_KEYS_TLS_H
#define ZCRP_KEYS_TLS_H

#include "chain.h"
#include "core/keys/handshake.h"
#include "keys.h"

struct tls;

enum tls_verdict {
    TLS_GOES_ON,
    TLS_DONE,   /* there are keys, and the peer is who it should be */
    TLS_FAILED, /* the peer has no accepted key, or its bytes were no handshake */
    TLS_LACKS,  /* no memory: it cannot go on, and nobody is refused for that */
};

/* A handshake with these keys, which are held as long as it exists. NULL: no memory. */
struct tls *tls_create(struct zcrp_keys *keys, struct handshake *h);

/* Wipes and frees it. NULL is fine. */
void tls_destroy(struct tls *t);

/* The listening side's first buffers, which its handshake may announce: messages 0 .. count - 1 of
 * the connection each have `size` bytes. It does not know yet who calls. */
struct tls_credit {
    uint32_t count; /* 0: none is announced */
    uint64_t size;
};

/* Announces this credit, if the other side asks for any. Before the first turn of the listening
 * side. It crosses in the second level: sealed, and authenticated with the handshake. */
void tls_give_credit(struct tls *t, struct tls_credit credit);

/* After DONE: what the other side has announced; count 0: nothing. */
struct tls_credit tls_credit(const struct tls *t);

/* Reads what has come, and writes what is to be said. The connecting side speaks first. */
enum tls_verdict tls_turn(struct tls *t, instant now);

/* After DONE: the keys of a connection's two halves, to be given back with keyring_fini. False: no
 * memory. */
__attribute__((warn_unused_result)) bool
tls_make_keyrings(const struct tls *t, struct keyring *sender, struct keyring *receiver);

/* The same from the secrets: `out` is this side's. */
__attribute__((warn_unused_result)) bool keyrings_make(enum chain_cipher cipher,
                                                       const uint8_t out[CHAIN_SECRET_BYTES],
                                                       const uint8_t in[CHAIN_SECRET_BYTES],
                                                       struct keyring *sender,
                                                       struct keyring *receiver);

/* Wipes the keys. Fine for one that is all zero. */
void keyring_fini(struct keyring *k);

/* After DONE: who the peer is. Writes at most `size` bytes, the last of them 0. False if they are
 * too few, or there is no memory. */
bool tls_identity(const struct tls *t, char *text, size_t size);

#endif
