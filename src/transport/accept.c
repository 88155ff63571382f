/* Accepting a peer. */
#include "address.h"
#include "core/keys/handshake.h"
#include "core/wire/aal5.h"
#include "core/wire/cookie.h"
#include "crc.h"
#include "keyed_hash.h"
#include "names.h"
#include "platform/sleep.h"
#include "platform/system.h"
#include "udp/socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

enum {
    IP4_HEAD = 20,
    LARGEST = 2048, /* bytes; larger ones are no hellos of any version */
};

/* How a hello is wrapped on this socket. */
enum wrapping { WRAPPING_NONE, WRAPPING_AAL5, WRAPPING_RAW4 };

/* One datagram as it came, and what is in it. */
struct knock {
    union address from;
    socklen_t from_size;
    uint8_t bytes[LARGEST];
    size_t size;
    const uint8_t *payload;
    size_t payload_bytes;
    uint32_t label; /* of the circuit it came on */
};

static int option(int fd, int name)
{
    return socket_get(fd, SOL_SOCKET, name);
}

static enum wrapping wrapping_of(int fd)
{
    if (option(fd, SO_TYPE) == SOCK_RAW)
        return option(fd, SO_DOMAIN) == AF_INET ? WRAPPING_RAW4 : WRAPPING_AAL5;
    return aal5_has_port(fd) ? WRAPPING_AAL5 : WRAPPING_NONE;
}

/* Finds the payload; false if it is wrapped in something else than a PDU that came in one packet.
 */
static bool unwrap(struct knock *k, enum wrapping wrapping)
{
    size_t head = wrapping == WRAPPING_RAW4 ? IP4_HEAD : 0;
    struct aal5_packet packet = {.payload = k->bytes, .payload_bytes = (uint32_t)k->size};
    bool is_good = wrapping == WRAPPING_NONE ||
                   (k->size > head &&
                    aal5_packet_decode(k->bytes + head, k->size - head, crc_best(), &packet));

    k->label = packet.label;
    k->payload = packet.payload;
    k->payload_bytes = packet.payload_bytes;
    return is_good;
}

/* Looks at the first datagram in the socket, which stays there: true, or false and errno. */
static bool look(int fd, struct knock *k)
{
    k->from_size = sizeof(k->from);
    k->from.any.sa_family = AF_UNSPEC; /* a socket without a name leaves it so */
    ssize_t size = recvfrom(fd, k->bytes, sizeof(k->bytes), MSG_PEEK | MSG_DONTWAIT | MSG_TRUNC,
                            &k->from.any, &k->from_size);
    k->size = size > 0 ? (size_t)size : 0;
    return size >= 0;
}

static void drop(int fd)
{
    uint8_t byte;

    (void)recv(fd, &byte, sizeof(byte), MSG_DONTWAIT);
}

/* An answer that cannot be sent is lost: the peer repeats its hello. */
static void answer(int fd, const struct knock *k, enum wrapping wrapping, const uint8_t *payload,
                   size_t size)
{
    uint8_t packet[AAL5_HEAD + AAL5_CELL];
    const struct aal5_packet answer = {k->label, payload, (uint32_t)size};

    if (wrapping != WRAPPING_NONE) {
        size = aal5_packet_encode(packet, &answer, crc_best());
        payload = packet;
    }
    (void)sendto(fd, payload, size, MSG_DONTWAIT | MSG_NOSIGNAL, &k->from.any, k->from_size);
}

/* What to do with a datagram. Nothing can be sent to an address without a port; a raw one has none.
 */
static enum listening hear(int fd, struct knock *k, enum wrapping wrapping,
                           const struct cookie_jar *jar, uint8_t payload[TRAILER_BYTES],
                           size_t *size)
{
    bool has_place = address_port(&k->from) != 0 || option(fd, SO_TYPE) == SOCK_RAW;

    if (!has_place || k->size > LARGEST || !unwrap(k, wrapping))
        return LISTENING_DROPS;
    if (handshake_has_cookie(jar, address_number(&k->from), clock_now(), k->payload,
                             k->payload_bytes))
        return LISTENING_ACCEPTS; /* a sender with keys: it goes on with its handshake */
    return listening_hear(jar, address_number(&k->from), clock_now(), k->payload, k->payload_bytes,
                          payload, size);
}

/* Connects to whom the first datagram in the socket came from: 1, or a negative error number. */
static int connect_to(int fd, const struct knock *k)
{
    int error;

    if (connect(fd, &k->from.any, k->from_size) == 0)
        return 1;
    error = errno;
    drop(fd);
    return -error;
}

/* Sees to the first datagram in the socket: 1 if the socket is connected now, 0 to go on, -EAGAIN
 * if there is none, or another negative error number. */
static int see_to_first(int fd, enum wrapping wrapping, const struct cookie_jar *jar)
{
    struct knock k;
    uint8_t payload[TRAILER_BYTES];
    size_t size = 0;

    if (!look(fd, &k))
        return errno == EINTR ? 0 : -errno;
    enum listening heard = hear(fd, &k, wrapping, jar, payload, &size);
    if (heard == LISTENING_ACCEPTS)
        return connect_to(fd, &k);
    drop(fd);
    if (heard == LISTENING_ANSWERS)
        answer(fd, &k, wrapping, payload, size);
    return 0;
}

/* 0 if there is something in the socket; a socket can be ready and empty all the same, because the
 * checksum is looked at by recvmsg. */
static int await_datagram(int fd, instant deadline)
{
    struct pollfd set = {.fd = fd, .events = POLLIN};
    int ready = ready_wait(&set, 1, deadline);

    if (ready <= 0)
        return ready < 0 ? ready : -ETIMEDOUT;
    return set.revents & POLLNVAL ? -EBADF : 0;
}

int accept_peer(int fd, instant deadline)
{
    int type = option(fd, SO_TYPE);
    if (type >= 0 && type != SOCK_DGRAM && type != SOCK_RAW)
        return -EPROTOTYPE; /* what is in there is no datagram of a caller's */
    enum wrapping wrapping = wrapping_of(fd);
    struct cookie_jar jar = keyed_hash_jar();
    int result = 0;

    while (result == 0) {
        result = see_to_first(fd, wrapping, &jar);
        if (result == -EAGAIN)
            result = await_datagram(fd, deadline);
        else if (result == 0 && clock_now() >= deadline)
            result = -ETIMEDOUT;
    }
    return result < 0 ? result : 0;
}
