/* SOCKS5 without authentication (RFC 1928): a client says where it wants to go. */
#ifndef ZCRP_TUNNEL_SOCKS_H
#define ZCRP_TUNNEL_SOCKS_H

#include <stdint.h>

/* Hears a client, whose socket this is. Then calls `on_target` with it; or closes it, if the client
 * says nothing sensible, or nothing at all for SOCKS_NS. */
typedef void (*socks_target)(void *context, int fd, const char *host, uint16_t port);
void socks_hear(int fd, socks_target on_target, void *context);

/* Answers: 0, or an enum refusal. */
void socks_answer(int fd, uint8_t code);

/* To be called now and then. */
void socks_tick(int64_t now_ns);

#endif
