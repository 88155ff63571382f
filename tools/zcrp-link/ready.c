#include "run.h"

#include <stddef.h>

enum { TCP_LISTENS = 0x0A, LINE_ROOM = 512 };

/* A line: "0: 0100007F:1F90 00000000:0000 0A ...", with more digits in IPv6. */
static bool is_ready(const char *line, bool is_tcp, unsigned port)
{
    unsigned local, state;

    if (sscanf(line, " %*d: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x", &local, &state) != 2)
        return false;
    return (!is_tcp || state == TCP_LISTENS) && (port == 0 || local == port);
}

bool ready_has_port(FILE *table, bool is_tcp, unsigned port)
{
    char line[LINE_ROOM];

    while (fgets(line, sizeof line, table) != NULL) {
        if (is_ready(line, is_tcp, port))
            return true;
    }
    return false;
}

bool ready_listens(unsigned port)
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
        is_there = ready_has_port(table, tables[i].is_tcp, port);
        fclose(table);
    }
    return is_there;
}
