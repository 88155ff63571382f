#include "peers.h"

#include <string.h>

#include "common/complain.h"

/* Weak: NULL where the file that defines it was left out of the build. */
extern const struct transport_kind transport_srt __attribute__((weak));
extern const struct transport_kind transport_quic __attribute__((weak));

const struct peer peers[PEERS] = {
    {"srt", "libsrt-openssl-dev", "SRT in file mode", &transport_srt},
    {"quic", "libngtcp2-dev libngtcp2-crypto-gnutls-dev libgnutls28-dev",
     "QUIC, by ngtcp2 0.x; encrypts", &transport_quic},
};

const struct peer *peers_find(const char *name)
{
    for (size_t i = 0; i < PEERS; i++) {
        if (strcmp(peers[i].name, name) == 0)
            return &peers[i];
    }
    return NULL;
}

int peers_complain(const struct peer *peer)
{
    return complain("%s: not built in; install %s and build again", peer->name, peer->packages);
}
