/* A network interface whose wire is a descriptor: what the kernel sends through it is read, packet
 * by packet, and what is written comes in. */
#ifndef LINK_TUN_H
#define LINK_TUN_H

#include <stdint.h>

#define TUN_DEVICE "/dev/net/tun"

struct tun_settings {
    const char *name;
    const char *address; /* IPv4; the two ends of the link share a network of four addresses */
    uint64_t mtu;
};

/* Makes the interface in the network namespace of this process, and brings it and loopback up. It
 * is gone when the descriptor is closed. The descriptor does not block and is closed by exec. -1
 * with a complaint. */
int tun_open(const struct tun_settings *settings);

#endif
