#include "ends.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/complain.h"

/* What the kernel sends waits so many packets for the relay, besides the link's own queue. In a
 * user namespace this may not be changed; then it is the kernel's 500. */
enum { BACKLOG_PACKETS = 10000 };

static struct ifreq request_for(const char *name)
{
    struct ifreq request = {0};

    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    return request;
}

static void set_address(struct sockaddr *where, const char *address)
{
    struct sockaddr_in in = {.sin_family = AF_INET};

    inet_pton(AF_INET, address, &in.sin_addr);
    memcpy(where, &in, sizeof in);
}

/* One change to an interface, through any socket. */
static int change(int any, unsigned long what, struct ifreq *request)
{
    if (ioctl(any, what, request) == 0)
        return 0;
    return complain("cannot set up the interface %s: %s", request->ifr_name, strerror(errno));
}

static int bring_up(int any, const char *name)
{
    struct ifreq request = request_for(name);

    if (change(any, SIOCGIFFLAGS, &request) < 0)
        return -1;
    request.ifr_flags = (short)(request.ifr_flags | IFF_UP);
    return change(any, SIOCSIFFLAGS, &request);
}

static int configure(int any, const struct tun_settings *settings)
{
    struct ifreq address = request_for(settings->name);
    struct ifreq mask = request_for(settings->name);
    struct ifreq mtu = request_for(settings->name);
    struct ifreq backlog = request_for(settings->name);

    set_address(&address.ifr_addr, settings->address);
    set_address(&mask.ifr_netmask, "255.255.255.252");
    mtu.ifr_mtu = (int)settings->mtu;
    backlog.ifr_qlen = BACKLOG_PACKETS;
    (void)ioctl(any, SIOCSIFTXQLEN, &backlog);
    if (change(any, SIOCSIFMTU, &mtu) < 0 || change(any, SIOCSIFADDR, &address) < 0 ||
        change(any, SIOCSIFNETMASK, &mask) < 0)
        return -1;
    return bring_up(any, "lo") < 0 || bring_up(any, settings->name) < 0 ? -1 : 0;
}

/* The link speaks IPv4. The kernel's own greetings in IPv6 would be packets that nobody sent. Where
 * there is no IPv6, there is nothing to forbid. */
static void forbid_ipv6(void)
{
    int file = open("/proc/sys/net/ipv6/conf/default/disable_ipv6", O_WRONLY | O_CLOEXEC);

    if (file < 0)
        return;
    if (write(file, "1", 1) < 0)
        complain("cannot switch IPv6 off, so expect some packets of the kernel's own");
    close(file);
}

static int open_device(void)
{
    int fd = open(TUN_DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK);

    if (fd >= 0)
        return fd;
    if (errno == ENOENT || errno == ENODEV || errno == ENXIO)
        return complain("there is no " TUN_DEVICE
                        " (modprobe tun; in a container give it the device, or as root "
                        "mkdir -p /dev/net && mknod " TUN_DEVICE " c 10 200)");
    return complain("cannot open " TUN_DEVICE ": %s", strerror(errno));
}

/* Makes the interface that the descriptor is the wire of. */
static int attach(int fd, const char *name)
{
    struct ifreq request = request_for(name);

    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    if (ioctl(fd, TUNSETIFF, &request) < 0)
        return complain("cannot make the interface %s: %s", name, strerror(errno));
    return 0;
}

int tun_open(const struct tun_settings *settings)
{
    int fd = open_device();
    int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int status = -1;

    forbid_ipv6();
    if (any < 0)
        complain("cannot make a socket: %s", strerror(errno));
    else if (fd >= 0 && attach(fd, settings->name) == 0)
        status = configure(any, settings);
    if (any >= 0)
        close(any);
    if (status < 0 && fd >= 0)
        close(fd);
    return status < 0 ? -1 : fd;
}
