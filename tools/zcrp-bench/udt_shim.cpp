#include "udt_shim.h"

#include <climits>
#include <udt/udt.h>

namespace
{

const int own_buffer = 8 << 20; /* UDT's default is 12 MB, and stays if it is larger */

bool set(UDTSOCKET socket, UDT::SOCKOPT option, int value)
{
    return UDT::setsockopt(socket, 0, option, &value, sizeof value) != UDT::ERROR;
}

bool set_at_least(UDTSOCKET socket, UDT::SOCKOPT option, int value)
{
    int present = 0;
    int length = sizeof present;

    return (UDT::getsockopt(socket, 0, option, &present, &length) != UDT::ERROR &&
            present >= value) ||
           set(socket, option, value);
}

bool tune(UDTSOCKET socket, int buffer, int pause_ms)
{
    linger none = {0, 0};

    return set_at_least(socket, UDT_SNDBUF, own_buffer) &&
           set_at_least(socket, UDT_RCVBUF, own_buffer) && set(socket, UDP_SNDBUF, buffer) &&
           set(socket, UDP_RCVBUF, buffer) && set(socket, UDT_SNDTIMEO, pause_ms) &&
           set(socket, UDT_RCVTIMEO, pause_ms) &&
           UDT::setsockopt(socket, 0, UDT_LINGER, &none, sizeof none) != UDT::ERROR;
}

ssize_t moved(int count)
{
    int code = UDT::getlasterror_code();

    if (count > 0)
        return count;
    return code == CUDTException::ETIMEOUT || code == CUDTException::EASYNCSND ||
                   code == CUDTException::EASYNCRCV
               ? 0
               : -1;
}

int some(size_t size)
{
    return size < INT_MAX ? static_cast<int>(size) : INT_MAX;
}

} // namespace

const char *udt_shim_reason(void)
{
    return UDT::getlasterror_desc();
}

int udt_shim_startup(void)
{
    return UDT::startup() == UDT::ERROR ? -1 : 0;
}

void udt_shim_cleanup(void)
{
    UDT::cleanup();
}

int udt_shim_open(const struct sockaddr *here, socklen_t length, int buffer, int pause_ms)
{
    UDTSOCKET socket = UDT::socket(here->sa_family, SOCK_STREAM, 0);

    if (socket == UDT::INVALID_SOCK)
        return -1;
    if (tune(socket, buffer, pause_ms) &&
        UDT::bind(socket, here, static_cast<int>(length)) != UDT::ERROR)
        return socket;
    UDT::close(socket);
    return -1;
}

void udt_shim_close(int socket)
{
    UDT::close(socket);
}

int udt_shim_listen(int socket)
{
    return UDT::listen(socket, 1) == UDT::ERROR ? -1 : 0;
}

int udt_shim_connect(int socket, const struct sockaddr *there, socklen_t length)
{
    return UDT::connect(socket, there, static_cast<int>(length)) == UDT::ERROR ? -1 : 0;
}

int udt_shim_accept(int socket)
{
    sockaddr_storage there;
    int length = sizeof there;

    return UDT::accept(socket, reinterpret_cast<sockaddr *>(&there), &length);
}

int udt_shim_here(int socket, struct sockaddr *here, socklen_t length)
{
    int room = static_cast<int>(length);

    return UDT::getsockname(socket, here, &room) == UDT::ERROR ? -1 : 0;
}

ssize_t udt_shim_write(int socket, const void *bytes, size_t size)
{
    return moved(UDT::send(socket, static_cast<const char *>(bytes), some(size), 0));
}

ssize_t udt_shim_read(int socket, void *bytes, size_t size)
{
    return moved(UDT::recv(socket, static_cast<char *>(bytes), some(size), 0));
}
