/* What the command line says of addresses. An IPv6 address stands in brackets.
 *
 *      [BIND:]PORT:HOST:PORT    a forward
 *      HOST[:PORT]              a far end
 *      HOST:PORT                a target; '*' for either in --allow */
#ifndef ZCRP_TUNNEL_SPEC_H
#define ZCRP_TUNNEL_SPEC_H

#include <stdbool.h>
#include <stdint.h>

enum { HOST_ROOM = 256, PORT_ROOM = 8, RULES_MOST = 256, FORWARDS_MOST = 256 };

struct address {
    char host[HOST_ROOM]; /* "": none was given; "*": any, if that may be */
    uint16_t port;        /* 0: any, the same */
};

struct rules {
    struct address of[RULES_MOST];
    unsigned count;
};

struct forward {
    struct address bind, target;
    bool is_reverse; /* -R: TCP clients come to the far end */
    bool is_socks;   /* the client says the target */
};

/* Each returns 0, or -1 if the text is none. An address without a port has the `usual` one; if that
 * is 0, it may be a port alone, but not a host alone. */
int spec_forward(struct forward *forward, const char *text);
int spec_address(struct address *address, const char *text, uint16_t usual);
int spec_rule(struct address *rule, const char *text);

/* The same of a peer to connect to, which has a host, and a port that is not 0. */
int spec_peer(struct address *peer, const char *text, uint16_t usual);

/* May a control message carry this host? To another one the peer would close the connection. */
bool spec_is_name(const char *host);

/* Does a rule allow this target? Names are compared as they are written, letters of both cases. */
bool spec_allows(const struct rules *rules, const char *host, uint16_t port);

#endif
