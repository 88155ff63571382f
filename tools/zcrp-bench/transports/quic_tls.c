#include "zcrp-bench/transports/quic_end.h"

#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>
#include <time.h>

#include "common/complain.h"

enum { ONE_DAY = 86400 };

/* AES with 128 bits first: the fastest where the processor has it. */
static const char priority[] = "%DISABLE_TLS13_COMPAT_MODE:NORMAL:-VERS-ALL:+VERS-TLS1.3:"
                               "-CIPHER-ALL:+AES-128-GCM:-GROUP-ALL:+GROUP-X25519";

static int failed(const char *doing, int code)
{
    return complain("quic: cannot %s: %s", doing, gnutls_strerror(code));
}

static int fill(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key)
{
    static const unsigned char serial = 1;
    time_t now = time(NULL);
    int code = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                            GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);

    if (code >= 0)
        code = gnutls_x509_crt_set_version(certificate, 3);
    if (code >= 0)
        code = gnutls_x509_crt_set_serial(certificate, &serial, 1);
    if (code >= 0)
        code = gnutls_x509_crt_set_activation_time(certificate, now - ONE_DAY);
    if (code >= 0)
        code = gnutls_x509_crt_set_expiration_time(certificate, now + ONE_DAY);
    if (code >= 0)
        code = gnutls_x509_crt_set_dn(certificate, "CN=zcrp-bench", NULL);
    if (code >= 0)
        code = gnutls_x509_crt_set_key(certificate, key);
    if (code >= 0)
        code = gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0);
    return code;
}

static int make_certificate(gnutls_certificate_credentials_t credentials)
{
    gnutls_x509_crt_t certificate = NULL;
    gnutls_x509_privkey_t key = NULL;
    int code = gnutls_x509_crt_init(&certificate);

    if (code >= 0)
        code = gnutls_x509_privkey_init(&key);
    if (code >= 0)
        code = fill(certificate, key);
    if (code >= 0)
        code = gnutls_certificate_set_x509_key(credentials, &certificate, 1, key);
    if (certificate != NULL)
        gnutls_x509_crt_deinit(certificate);
    if (key != NULL)
        gnutls_x509_privkey_deinit(key);
    return code;
}

static int make_session(struct quic_tls *tls, bool is_server)
{
    const gnutls_datum_t protocol = {(unsigned char *)"zcrp-bench", 10};
    int code = gnutls_init(&tls->session, is_server ? GNUTLS_SERVER : GNUTLS_CLIENT);

    if (code >= 0)
        code = is_server ? ngtcp2_crypto_gnutls_configure_server_session(tls->session)
                         : ngtcp2_crypto_gnutls_configure_client_session(tls->session);
    if (code >= 0)
        code = gnutls_priority_set_direct(tls->session, priority, NULL);
    if (code >= 0)
        code = gnutls_credentials_set(tls->session, GNUTLS_CRD_CERTIFICATE, tls->credentials);
    if (code >= 0)
        code = gnutls_alpn_set_protocols(tls->session, &protocol, 1, GNUTLS_ALPN_MANDATORY);
    return code;
}

int quic_tls_init(struct quic_tls *tls, bool is_server, ngtcp2_crypto_conn_ref *reference)
{
    int code = gnutls_certificate_allocate_credentials(&tls->credentials);

    if (code >= 0 && is_server)
        code = make_certificate(tls->credentials);
    if (code >= 0)
        code = make_session(tls, is_server);
    if (code < 0)
        return failed("set up TLS", code);
    gnutls_session_set_ptr(tls->session, reference);
    return 0;
}

void quic_tls_fini(struct quic_tls *tls)
{
    if (tls->session != NULL)
        gnutls_deinit(tls->session);
    if (tls->credentials != NULL)
        gnutls_certificate_free_credentials(tls->credentials);
}
