/* Sockets by name: the public face of transport/names.h. */
#include "link/codes.h"
#include "platform/system.h"
#include "transport/names.h"
#include "zcrp.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* A number is one of a port. A name has a letter (RFC 6335, 5.1), and is for the resolver to know.
 */
static bool is_port(const char *port, long least)
{
    char *end;
    long number;

    if (port[strspn(port, " +-0123456789")] != '\0')
        return port[0] > '9';
    if (port[0] < '0' || port[0] > '9')
        return false;
    errno = 0;
    number = strtol(port, &end, 10);
    return *end == '\0' && errno == 0 && number >= least && number <= UINT16_MAX;
}

int zcrp_udp_connect(const char *host, const char *port)
{
    int fd;

    if (host == NULL || port == NULL)
        return ZCRP_ERROR_ARGUMENT;
    if (host[0] == '\0' || !is_port(port, 1))
        return ZCRP_ERROR_ADDRESS;
    int code = code_of_name(udp_open(NULL, NULL, host, port, &fd));
    return code == ZCRP_OK ? fd : code;
}

int zcrp_udp_listen(const char *host, const char *port)
{
    int fd;

    if (port == NULL)
        return ZCRP_ERROR_ARGUMENT;
    if ((host != NULL && host[0] == '\0') || !is_port(port, 0))
        return ZCRP_ERROR_ADDRESS;
    int code = code_of_name(udp_bind(host, port, &fd));
    return code == ZCRP_OK ? fd : code;
}

int zcrp_udp_accept(int descriptor, int64_t timeout_ns)
{
    instant deadline = clock_deadline(timeout_ns);

    if (descriptor < 0)
        return ZCRP_ERROR_ARGUMENT;
    int error = accept_peer(descriptor, deadline);
    int code = code_of_name(error);
    if (code != ZCRP_ERROR_ADDRESS)
        return code;
    errno = -error; /* of a peer that was found, not of a name */
    return ZCRP_ERROR_SYSTEM;
}

int zcrp_udp_port(int descriptor)
{
    union {
        struct sockaddr any;
        struct sockaddr_in ip4;
        struct sockaddr_in6 ip6;
        struct sockaddr_storage room;
    } address = {.room = {.ss_family = AF_UNSPEC}};
    socklen_t size = sizeof(address);

    if (descriptor < 0)
        return ZCRP_ERROR_ARGUMENT;
    if (getsockname(descriptor, &address.any, &size) != 0)
        return ZCRP_ERROR_SYSTEM;
    if (address.any.sa_family == AF_INET)
        return ntohs(address.ip4.sin_port);
    return address.any.sa_family == AF_INET6 ? ntohs(address.ip6.sin6_port) : ZCRP_ERROR_ARGUMENT;
}

/* ---- AAL5 ---- */

static int aal5_code(int error, int fd)
{
    if (error == 0)
        return fd;
    return error == -EPERM || error == -EACCES ? ZCRP_ERROR_PERMISSION : code_of_name(error);
}

int zcrp_aal5_connect(const char *host)
{
    int fd = -1;

    if (host == NULL)
        return ZCRP_ERROR_ARGUMENT;
    int error = aal5_socket_connect(host, &fd);

    return aal5_code(error, fd);
}

int zcrp_aal5_listen(const char *host)
{
    int fd = -1;
    int error = aal5_socket_bind(host, &fd);

    return aal5_code(error, fd);
}
