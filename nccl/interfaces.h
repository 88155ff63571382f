/* The network interfaces that NCCL's variables choose, as NCCL's own socket transport chooses them
 * (NCCL 2.30, src/misc/socket.cc and src/os/linux.cc); but NCCL_COMM_ID is no hint here. Each is a
 * device of the plugin. */
#ifndef NCCL_INTERFACES_H
#define NCCL_INTERFACES_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    INTERFACES_MOST = 16,
    INTERFACES_HOST = 64, /* bytes of an address in words, with the interface of a link-local one */
};

struct interface {
    char name[IF_NAMESIZE];
    int family;          /* AF_INET, AF_INET6 */
    uint8_t address[16]; /* its first one of this family, in network order; IPv4 has 4 bytes */
    char *pci_path;      /* of its card in /sys; NULL: it is virtual */
};

/* Does a list of interfaces have this name? Entries are separated by commas, and are beginnings of
 * names: "eth,ib". With "=" before the list they are whole names, with "^" before that the list has
 * all others: "^=eth0". What follows a colon in an entry is passed over. An empty list has all
 * names. */
bool interfaces_match(const char *list, const char *name);

/* Finds interfaces that are up, at most INTERFACES_MOST: those of NCCL_SOCKET_IFNAME; if that is
 * not set, those whose names begin with ib, else all but docker, lo and virbr, else docker, else
 * lo, else virbr. NCCL_SOCKET_FAMILY (AF_INET, AF_INET6) chooses the family. Returns how many, or a
 * negative error number. */
int interfaces_find(struct interface found[INTERFACES_MOST]);

/* Megabits a second, as the driver says it; where it does not, 10,000, as NCCL assumes then. */
int interfaces_speed(const struct interface *i);

/* Writes an address in words. If it is link-local, `through` is the interface that leads there. */
void interfaces_write(int family, const uint8_t address[16], const char *through,
                      char text[INTERFACES_HOST]);

#endif
