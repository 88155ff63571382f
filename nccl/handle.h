/* A handle: a listening rank gives it to the rank that shall connect, which names its ticket in the
 * first message. NCCL carries the handle over its own bootstrap network; so its bytes may be
 * anything.
 *
 *      0  "zcrpnet1"
 *      8  family: 4, 6; 2 bytes of 0
 *     10  port, in network order
 *     12  4 bytes of 0
 *     16  address: 16 bytes; of IPv4 12 bytes of 0 follow
 *     32  ticket: 16 random bytes, by which the listening rank knows what is called
 *     48  attempt: 0, or where the connecting rank keeps what it does (connect.h); 8 bytes
 *     56  72 bytes of 0
 *
 * A connection's first message is a hello: "zcrpnet1", and the ticket. Neither is a secret: keys
 * authenticate peers. */
#ifndef NCCL_HANDLE_H
#define NCCL_HANDLE_H

#include "net.h"

#include <stdbool.h>

enum { TICKET_BYTES = 16, HELLO_BYTES = 24 };

struct handle {
    int family; /* AF_INET, AF_INET6 */
    uint8_t address[16];
    uint16_t port; /* in this machine's order */
    uint8_t ticket[TICKET_BYTES];
    uint64_t attempt;
};

void handle_write(const struct handle *h, void *bytes);

/* False: it is none. */
bool handle_read(struct handle *h, const void *bytes);

void hello_write(const uint8_t ticket[TICKET_BYTES], uint8_t bytes[HELLO_BYTES]);

/* The hello's ticket; NULL: it is no hello. */
const uint8_t *hello_ticket(const void *bytes, uint64_t size);

#endif
