/* TLS for QUIC, by GnuTLS: a key and a certificate made on the spot, which the other end takes as
 * it is. Enough to pay for encryption, not to be safe from anybody in between. */
#ifndef BENCH_QUIC_TLS_H
#define BENCH_QUIC_TLS_H

#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <stdbool.h>

struct quic_tls {
    gnutls_certificate_credentials_t credentials;
    gnutls_session_t session;
};

/* `reference` is how the session finds its connection, and stays the caller's. 0, or -1 with a
 * complaint; quic_tls_fini is fine in any case. */
int quic_tls_init(struct quic_tls *tls, bool is_server, ngtcp2_crypto_conn_ref *reference);

/* Also of zeros. */
void quic_tls_fini(struct quic_tls *tls);

#endif
