/* Sockets by name: the public face of transport/names.h. */
#include "platform/system.h"
#include "transport/address.h"
#include "transport/names.h"
#include "zcrp.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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

static int system_error(int error)
{
    errno = -error;
    return ZCRP_ERROR_SYSTEM;
}

/* What is wrong with the name or the address is the caller's to know. */
static int descriptor_or_code(int fd)
{
    switch (fd) {
    case -EADDRINUSE:
    case -EADDRNOTAVAIL:
    case -EACCES:
    case -EAFNOSUPPORT:
    case -ENETUNREACH:
    case -EHOSTUNREACH:
        return ZCRP_ERROR_ADDRESS;
    default:
        return fd >= 0 ? fd : system_error(fd);
    }
}

int zcrp_udp_connect(const char *host, const char *port)
{
    if (host == NULL || port == NULL)
        return ZCRP_ERROR_ARGUMENT;
    if (host[0] == '\0' || !is_port(port, 1))
        return ZCRP_ERROR_ADDRESS;
    return descriptor_or_code(udp_connect(host, port));
}

int zcrp_udp_listen(const char *host, const char *port)
{
    if (port == NULL)
        return ZCRP_ERROR_ARGUMENT;
    if ((host != NULL && host[0] == '\0') || !is_port(port, 0))
        return ZCRP_ERROR_ADDRESS;
    return descriptor_or_code(udp_bind(host, port));
}

int zcrp_udp_accept(int descriptor, int64_t timeout_ns)
{
    instant deadline = clock_deadline(timeout_ns);

    if (descriptor < 0)
        return ZCRP_ERROR_ARGUMENT;
    int error = accept_peer(descriptor, deadline);
    if (error == -ETIMEDOUT)
        return ZCRP_ERROR_TIMEOUT;
    return error ? system_error(error) : ZCRP_OK;
}

int zcrp_udp_port(int descriptor)
{
    if (descriptor < 0)
        return ZCRP_ERROR_ARGUMENT;
    union address own = address_of_socket(descriptor);
    if (own.any.sa_family == AF_UNSPEC)
        return ZCRP_ERROR_SYSTEM;
    bool is_ip = own.any.sa_family == AF_INET || own.any.sa_family == AF_INET6;
    return is_ip ? address_port(&own) : ZCRP_ERROR_ARGUMENT;
}

/* ---- AAL5 ---- */

static int raw_or_code(int fd)
{
    return fd == -EPERM || fd == -EACCES ? ZCRP_ERROR_PERMISSION : descriptor_or_code(fd);
}

int zcrp_aal5_connect(const char *host)
{
    return host == NULL ? ZCRP_ERROR_ARGUMENT : raw_or_code(aal5_connect(host));
}

int zcrp_aal5_listen(const char *host)
{
    return raw_or_code(aal5_bind(host));
}
