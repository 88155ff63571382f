/* Sockets by name: the public face of transport/names.h, and what is wrong with a name. */
#include "link/codes.h"
#include "platform/reason.h"
#include "platform/system.h"
#include "transport/address.h"
#include "transport/names.h"
#include "zcrp.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
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

/* Where a socket is wanted: here, or connected to there. */
struct place {
    const char *host; /* NULL: any of this machine's */
    const char *port; /* NULL: it has none */
    bool is_own;      /* of this machine: it is listened at */
};

/* What it is called in a sentence. */
struct place_name {
    char text[2 * QUOTE_ROOM + 16];
};

static const char *name_of(const struct place *p, struct place_name *name)
{
    struct quote host, port;
    char *text = name->text;

    if (p->host != NULL && p->port != NULL)
        (void)snprintf(text, sizeof(name->text), "\"%s\", port %s", quote(&host, p->host),
                       quote(&port, p->port));
    else if (p->host != NULL)
        (void)snprintf(text, sizeof(name->text), "\"%s\"", quote(&host, p->host));
    else if (p->port != NULL)
        (void)snprintf(text, sizeof(name->text), "port %s", quote(&port, p->port));
    else
        strcpy(text, "any address");
    return text;
}

/* ---- what is wrong ---- */

/* The name is none, or nobody knows it. errno is what comes closest. */
static int say_unresolved(const struct place *p, int resolver)
{
    struct quote text;
    bool lacks_port = resolver == EAI_SERVICE || p->host == NULL;

    errno = lacks_port ? EINVAL : resolver == EAI_AGAIN ? EAGAIN : ENOENT;
    if (lacks_port)
        return reason_say(ZCRP_ERROR_ADDRESS, "\"%s\" is no port: %s",
                          quote(&text, p->port != NULL ? p->port : ""),
                          resolver == EAI_SERVICE ? "no UDP service has this name"
                                                  : gai_strerror(resolver));
    return reason_say(ZCRP_ERROR_ADDRESS, "cannot resolve host \"%s\": %s", quote(&text, p->host),
                      gai_strerror(resolver));
}

static int say_no_port(const char *port, int least)
{
    struct quote text;

    errno = EINVAL;
    return reason_say(ZCRP_ERROR_ADDRESS,
                      "\"%s\" is no port: that is a number from %d to %d, or the name of a service",
                      quote(&text, port), least, UINT16_MAX);
}

/* What the system says of the place, in errno. */
static int say_refused(int code, const struct place *p)
{
    struct quote text;
    struct place_name name;

    if (p->is_own && errno == EADDRINUSE && p->port != NULL)
        return reason_say(code, "port %s is in use%s%s", p->port, p->host != NULL ? " at " : "",
                          p->host != NULL ? quote(&text, p->host) : "");
    if (p->is_own && errno == EADDRNOTAVAIL && p->host != NULL)
        return reason_say(code, "\"%s\" is no address of this machine", quote(&text, p->host));
    return reason_say(code, "cannot %s %s: %s", p->is_own ? "listen at" : "connect to",
                      name_of(p, &name), strerror(errno));
}

/* Is it for the caller to know, because the name or the address is wrong? */
static bool is_of_address(int error)
{
    switch (error) {
    case EADDRINUSE:
    case EADDRNOTAVAIL:
    case EACCES:
    case EAFNOSUPPORT:
    case ENETUNREACH:
    case EHOSTUNREACH:
        return true;
    default:
        return false;
    }
}

static int descriptor_or_code(const struct place *p, int fd)
{
    if (fd >= 0)
        return fd;
    if (names_resolver(fd) != 0)
        return say_unresolved(p, names_resolver(fd));
    errno = -fd;
    return say_refused(is_of_address(errno) ? ZCRP_ERROR_ADDRESS : ZCRP_ERROR_SYSTEM, p);
}

/* Can there be such a place? OK, or what is wrong with it. */
static int check_place(const struct place *p)
{
    int least = p->is_own ? 0 : 1;

    if (p->host != NULL && p->host[0] == '\0') {
        errno = EINVAL;
        return reason_say(ZCRP_ERROR_ADDRESS, "the host is empty");
    }
    return is_port(p->port, least) ? ZCRP_OK : say_no_port(p->port, least);
}

/* ---- UDP ---- */

int zcrp_udp_connect(const char *host, const char *port)
{
    const struct place place = {.host = host, .port = port};

    if (host == NULL || port == NULL)
        return code_of_null(host == NULL ? "host" : "port");
    int code = check_place(&place);
    return code == ZCRP_OK ? descriptor_or_code(&place, udp_connect(host, port)) : code;
}

int zcrp_udp_listen(const char *host, const char *port)
{
    const struct place place = {.host = host, .port = port, .is_own = true};

    if (port == NULL)
        return code_of_null("port");
    int code = check_place(&place);
    return code == ZCRP_OK ? descriptor_or_code(&place, udp_bind(host, port)) : code;
}

/* What the system says of a descriptor, in errno. */
static int say_descriptor(int descriptor)
{
    return reason_say(ZCRP_ERROR_SYSTEM, "descriptor %d: %s", descriptor, strerror(errno));
}

static int say_no_descriptor(int descriptor)
{
    return reason_say(ZCRP_ERROR_ARGUMENT, "%d is no descriptor", descriptor);
}

int zcrp_udp_accept(int descriptor, int64_t timeout_ns)
{
    instant deadline = clock_deadline(timeout_ns);

    if (descriptor < 0)
        return say_no_descriptor(descriptor);
    int error = accept_peer(descriptor, deadline);
    if (error == -ETIMEDOUT)
        return ZCRP_ERROR_TIMEOUT;
    errno = error ? -error : errno;
    return error ? say_descriptor(descriptor) : ZCRP_OK;
}

int zcrp_udp_port(int descriptor)
{
    if (descriptor < 0)
        return say_no_descriptor(descriptor);
    union address own = address_of_socket(descriptor);
    if (own.any.sa_family == AF_UNSPEC)
        return say_descriptor(descriptor);
    if (own.any.sa_family == AF_INET || own.any.sa_family == AF_INET6)
        return address_port(&own);
    return reason_say(ZCRP_ERROR_ARGUMENT, "descriptor %d has no port", descriptor);
}

/* ---- AAL5 ---- */

static int raw_or_code(const struct place *p, int fd)
{
    return fd == -EPERM || fd == -EACCES ? ZCRP_ERROR_PERMISSION : descriptor_or_code(p, fd);
}

int zcrp_aal5_connect(const char *host)
{
    if (host == NULL)
        return code_of_null("host");
    return raw_or_code(&(struct place){.host = host}, aal5_connect(host));
}

int zcrp_aal5_listen(const char *host)
{
    return raw_or_code(&(struct place){.host = host, .is_own = true}, aal5_bind(host));
}
