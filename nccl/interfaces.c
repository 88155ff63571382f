#include "interfaces.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists ---- */

bool interfaces_match(const char *list, const char *name)
{
    bool is_inverse = *list == '^';
    list += is_inverse;
    bool is_exact = *list == '=';
    list += is_exact;
    bool is_empty = true, is_there = false;

    while (*list != '\0') {
        size_t entry = strcspn(list, ","), prefix = strcspn(list, ":,");
        bool has_length = !is_exact || strlen(name) == prefix;
        is_empty &= prefix == 0;
        is_there |= prefix > 0 && has_length && strncmp(name, list, prefix) == 0;
        list += entry + (list[entry] == ',');
    }
    return (is_empty || is_there) != is_inverse;
}

/* ---- finding ---- */

/* AF_UNSPEC: any. */
static int wanted_family(void)
{
    const char *family = getenv("NCCL_SOCKET_FAMILY");

    if (family == NULL)
        return AF_UNSPEC;
    return strcmp(family, "AF_INET") == 0    ? AF_INET
           : strcmp(family, "AF_INET6") == 0 ? AF_INET6
                                             : AF_UNSPEC;
}

/* Is it an address of an interface that is up, and not the loopback of IPv6? */
static bool is_usable(const struct ifaddrs *a, int family)
{
    if (a->ifa_addr == NULL || !(a->ifa_flags & IFF_RUNNING))
        return false;
    int own = a->ifa_addr->sa_family;
    if ((own != AF_INET && own != AF_INET6) || (family != AF_UNSPEC && own != family))
        return false;
    return own == AF_INET ||
           !IN6_IS_ADDR_LOOPBACK(
               &((const struct sockaddr_in6 *)(const void *)a->ifa_addr)->sin6_addr);
}

static bool is_found(const struct interface *found, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(found[i].name, name) == 0)
            return true;
    return false;
}

static void take(struct interface *i, const struct ifaddrs *a)
{
    const void *address = a->ifa_addr;
    char path[PATH_MAX];

    *i = (struct interface){.family = a->ifa_addr->sa_family};
    (void)snprintf(i->name, sizeof(i->name), "%s", a->ifa_name);
    if (i->family == AF_INET)
        memcpy(i->address, &((const struct sockaddr_in *)address)->sin_addr, 4);
    else
        memcpy(i->address, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
    (void)snprintf(path, sizeof(path), "/sys/class/net/%s/device", i->name);
    i->pci_path = realpath(path, NULL);
}

/* The system lists an interface's addresses of IPv4 first, and link-local ones of IPv6 last. */
static int find_of(const struct ifaddrs *all, const char *list, struct interface *found)
{
    int count = 0, family = wanted_family();

    for (const struct ifaddrs *a = all; a != NULL && count < INTERFACES_MOST; a = a->ifa_next)
        if (is_usable(a, family) && interfaces_match(list, a->ifa_name) &&
            !is_found(found, count, a->ifa_name))
            take(&found[count++], a);
    return count;
}

int interfaces_find(struct interface found[INTERFACES_MOST])
{
    static const char *const usual[] = {"ib", "^docker,lo,virbr", "docker", "lo", "virbr"};
    const char *list = getenv("NCCL_SOCKET_IFNAME");
    struct ifaddrs *all;
    int count = 0;

    if (getifaddrs(&all) != 0)
        return -errno;
    if (list != NULL && strlen(list) > 1)
        count = find_of(all, list, found);
    else
        for (size_t i = 0; i < sizeof(usual) / sizeof(*usual) && count == 0; i++)
            count = find_of(all, usual[i], found);
    freeifaddrs(all);
    return count;
}

/* ---- of one ---- */

int interfaces_speed(const struct interface *i)
{
    char path[PATH_MAX];
    int speed = 0;

    (void)snprintf(path, sizeof(path), "/sys/class/net/%s/speed", i->name);
    FILE *file = fopen(path, "re");
    if (file == NULL || fscanf(file, "%d", &speed) != 1 || speed <= 0)
        speed = 10000;
    if (file != NULL)
        (void)fclose(file);
    return speed;
}

void interfaces_write(int family, const uint8_t address[16], const char *through,
                      char text[INTERFACES_HOST])
{
    struct in6_addr six;

    (void)inet_ntop(family, address, text, INTERFACES_HOST);
    if (family != AF_INET6)
        return;
    memcpy(&six, address, sizeof(six));
    size_t length = strlen(text);
    if (IN6_IS_ADDR_LINKLOCAL(&six))
        (void)snprintf(text + length, INTERFACES_HOST - length, "%%%s", through);
}
