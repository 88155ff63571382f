/* ZCRP's channel on the command line: UDP, or AAL5 over a raw socket or over UDP. */
#ifndef BENCH_AAL5_H
#define BENCH_AAL5_H

#include "transport.h"
#include "zcrp.h"

enum aal5_carrier { AAL5_NONE, AAL5_RAW, AAL5_OVER_UDP, AAL5_CARRIERS };

/* "udp", "aal5", "aal5-udp", in the order of the above. */
extern const char *const aal5_names[AAL5_CARRIERS];

/* As the functions of the same names in struct transport_kind, on the channel that the settings ask
 * for. A raw socket has no port; 1 stands for it. */
int aal5_offer(struct transport *transport);
int aal5_accept(struct transport *transport, int port);
int aal5_connect(struct transport *transport, int port);

/* Fills in what the settings say of the channel. Units and control have a circuit each, and the way
 * back two more, so that both ends may share an address. */
void aal5_options(const struct transport *transport, struct zcrp_options *options);

#endif
