#include "handle.h"

#include <string.h>
#include <sys/socket.h>

enum { AT_FAMILY = 8, AT_PORT = 10, AT_ADDRESS = 16, AT_TICKET = 32, AT_ATTEMPT = 48 };

static const uint8_t magic[8] = "zcrpnet1";

void handle_write(const struct handle *h, void *bytes)
{
    uint8_t *out = bytes;

    memset(out, 0, NET_HANDLE_BYTES);
    memcpy(out, magic, sizeof(magic));
    out[AT_FAMILY] = h->family == AF_INET ? 4 : 6;
    out[AT_PORT] = (uint8_t)(h->port >> 8);
    out[AT_PORT + 1] = (uint8_t)h->port;
    memcpy(out + AT_ADDRESS, h->address, h->family == AF_INET ? 4 : 16);
    memcpy(out + AT_TICKET, h->ticket, TICKET_BYTES);
    memcpy(out + AT_ATTEMPT, &h->attempt, sizeof(h->attempt));
}

/* Only what this would write itself is a handle. */
bool handle_read(struct handle *h, const void *bytes)
{
    uint8_t again[NET_HANDLE_BYTES];
    const uint8_t *in = bytes;

    h->family = in[AT_FAMILY] == 4 ? AF_INET : AF_INET6;
    h->port = (uint16_t)(in[AT_PORT] << 8 | in[AT_PORT + 1]);
    memcpy(h->address, in + AT_ADDRESS, sizeof(h->address));
    memcpy(h->ticket, in + AT_TICKET, TICKET_BYTES);
    memcpy(&h->attempt, in + AT_ATTEMPT, sizeof(h->attempt));
    handle_write(h, again);
    return h->port != 0 && memcmp(again, in, sizeof(again)) == 0;
}

void hello_write(const uint8_t ticket[TICKET_BYTES], uint8_t bytes[HELLO_BYTES])
{
    memcpy(bytes, magic, sizeof(magic));
    memcpy(bytes + sizeof(magic), ticket, TICKET_BYTES);
}

const uint8_t *hello_ticket(const void *bytes, uint64_t size)
{
    bool is_hello = size == HELLO_BYTES && memcmp(bytes, magic, sizeof(magic)) == 0;

    return is_hello ? (const uint8_t *)bytes + sizeof(magic) : NULL;
}
