/* What the command line says of addresses. An IPv6 address stands in brackets.
 *
 *      [BIND:]PORT:HOST:PORT    a forward
 *      HOST[:PORT]              a far end
 *      HOST:PORT                a target; '*' for either in --allow */
#ifndef ZCRP_TUNNEL_SPEC_H
#define ZCRP_TUNNEL_SPEC_H

#include <stdbool.h>
#include <stdint.h>

enum { HOST_ROOM = 256, PORT_ROOM = 8, RULES_MOST = 256 };

struct address {
    char host[HOST_ROOM]; /* "": none was given; "*": any, if that may be */
    uint16_t port;        /* 0: any, the same */
};

struct forward {
    struct address bind, target;
    bool is_reverse; /* -R: TCP clients come to the far end */
    bool is_socks;   /* the client says the target */
};

/* Each returns 0, or -1 with a complaint that names `option`. */
int spec_forward(struct forward *forward, const char *text, const char *option);
int spec_address(struct address *address, const char *text, const char *option, uint16_t usual);
int spec_rule(struct address *rule, const char *text, const char *option);

/* Does a rule allow this target? Names are compared as they are written, letters of both cases. */
bool spec_allows(const struct address *rules, unsigned count, const char *host, uint16_t port);

#endif
