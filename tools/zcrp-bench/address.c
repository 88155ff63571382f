#include "address.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/complain.h"

enum { MOST_PORT = 65535 };

/* A number in range, or a name. The resolver would take larger numbers modulo 2^16. */
static bool may_be_port(const char *text)
{
    bool is_number = text[strspn(text, "0123456789")] == '\0';

    return *text != '\0' && (!is_number || strtoul(text, NULL, 10) <= MOST_PORT);
}

int address_parse(const char *text, struct address *address)
{
    const char *colon = strrchr(text, ':');
    size_t length;

    if (colon == NULL || !may_be_port(colon + 1))
        return -1;
    length = (size_t)(colon - text);
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    } else if (memchr(text, ':', length) != NULL) {
        return -1;
    }
    if (length >= sizeof address->host || strlen(colon + 1) >= sizeof address->port)
        return -1;
    memcpy(address->host, text, length);
    address->host[length] = '\0';
    memcpy(address->port, colon + 1, strlen(colon + 1) + 1);
    return 0;
}

static int in_numbers(const struct sockaddr *name, socklen_t length, struct address *address)
{
    int error = getnameinfo(name, length, address->host, sizeof address->host, address->port,
                            sizeof address->port, NI_NUMERICHOST | NI_NUMERICSERV);

    return error == 0 ? 0 : complain("a socket has no address: %s", gai_strerror(error));
}

int address_local(int fd, struct address *address)
{
    struct sockaddr_storage name;
    socklen_t length = sizeof name;

    if (getsockname(fd, (struct sockaddr *)&name, &length) < 0)
        return complain("a socket has no address: %s", strerror(errno));
    return in_numbers((struct sockaddr *)&name, length, address);
}

int address_peer(int fd, struct address *address)
{
    struct sockaddr_storage name;
    socklen_t length = sizeof name;

    if (getpeername(fd, (struct sockaddr *)&name, &length) < 0)
        return complain("a socket has no peer: %s", strerror(errno));
    return in_numbers((struct sockaddr *)&name, length, address);
}
