#include "ends.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/complain.h"

static const char *const name[ENDS] = {"zcrp0", "zcrp1"};
static const char *const address[ENDS] = {"198.18.0.1", "198.18.0.2"};

const char *ends_address(int end)
{
    return address[end];
}

static int enter_new_namespace(void)
{
    if (unshare(CLONE_NEWNET) == 0)
        return 0;
    if (errno == EPERM)
        return complain("this needs the rights of root (CAP_SYS_ADMIN, CAP_NET_ADMIN); "
                        "`unshare -rn true` says whether `unshare -r zcrp-link ...` lends them");
    return complain("cannot make a network namespace: %s", strerror(errno));
}

static int open_end(struct ends *ends, int end, uint64_t mtu)
{
    const struct tun_settings settings = {name[end], address[end], mtu};

    if (enter_new_namespace() < 0)
        return -1;
    ends->namespace[end] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (ends->namespace[end] < 0)
        return complain("cannot open /proc/self/ns/net: %s", strerror(errno));
    ends->tun[end] = tun_open(&settings);
    return ends->tun[end] < 0 ? -1 : 0;
}

int ends_open(struct ends *ends, uint64_t mtu)
{
    *ends = (struct ends){.tun = {-1, -1}, .namespace = {-1, -1}};
    if (open_end(ends, END_A, mtu) == 0 && open_end(ends, END_B, mtu) == 0)
        return 0;
    ends_close(ends);
    return -1;
}

void ends_close(struct ends *ends)
{
    for (int end = 0; end < ENDS; end++) {
        if (ends->tun[end] >= 0)
            close(ends->tun[end]);
        if (ends->namespace[end] >= 0)
            close(ends->namespace[end]);
    }
}

enum { TCP_LISTENS = 0x0A, LINE_ROOM = 512 };

/* A line: "0: 0100007F:1F90 00000000:0000 0A ...", with more digits in IPv6. */
static bool is_ready(const char *line, bool is_tcp, unsigned port)
{
    unsigned local, state;

    if (sscanf(line, " %*d: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x", &local, &state) != 2)
        return false;
    return (!is_tcp || state == TCP_LISTENS) && (port == 0 || local == port);
}

bool ends_table_has(FILE *table, bool is_tcp, unsigned port)
{
    char line[LINE_ROOM];

    while (fgets(line, sizeof line, table) != NULL) {
        if (is_ready(line, is_tcp, port))
            return true;
    }
    return false;
}

bool ends_is_listening(unsigned port)
{
    static const struct {
        const char *path;
        bool is_tcp;
    } tables[] = {
        {"/proc/self/net/tcp", true},
        {"/proc/self/net/tcp6", true},
        {"/proc/self/net/udp", false},
        {"/proc/self/net/udp6", false},
    };
    bool is_there = false;

    for (size_t i = 0; i < sizeof tables / sizeof *tables && !is_there; i++) {
        FILE *table = fopen(tables[i].path, "re");
        if (table == NULL)
            continue;
        is_there = ends_table_has(table, tables[i].is_tcp, port);
        fclose(table);
    }
    return is_there;
}
