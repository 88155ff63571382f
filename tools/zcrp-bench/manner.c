#include "manner.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char available[] = "/proc/sys/net/ipv4/tcp_available_congestion_control";

enum { FEW_BYTES = 128 << 10 };

static void add(struct manner manners[MANNERS_MAX], size_t *count, const char *congestion,
                uint64_t write_bytes)
{
    struct manner *manner = &manners[*count];

    if (*count == MANNERS_MAX)
        return;
    *manner = (struct manner){.write_bytes = write_bytes};
    snprintf(manner->congestion, sizeof manner->congestion, "%s", congestion);
    ++*count;
}

static void add_both(struct manner manners[MANNERS_MAX], size_t *count, const char *congestion)
{
    add(manners, count, congestion, 0);
    add(manners, count, congestion, FEW_BYTES);
}

/* "cubic+128K" and "cubic+whole" say what to write, too. False for any other variant. */
static bool add_exact(struct manner manners[MANNERS_MAX], size_t *count, const char *variant)
{
    const char *writes = strchr(variant, '+');
    char congestion[MANNER_NAME];
    bool is_whole = writes != NULL && strcmp(writes, MANNER_WHOLE) == 0;

    if (!is_whole && (writes == NULL || strcmp(writes, MANNER_FEW) != 0))
        return false;
    snprintf(congestion, sizeof congestion, "%.*s", (int)(writes - variant), variant);
    add(manners, count, congestion, is_whole ? 0 : FEW_BYTES);
    return true;
}

/* There may be more than an unprivileged process is permitted. */
static bool is_permitted(const char *congestion)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_taken = fd >= 0 && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion,
                                          (socklen_t)strlen(congestion)) == 0;

    if (fd >= 0)
        close(fd);
    return is_taken;
}

static void add_all(struct manner manners[MANNERS_MAX], size_t *count)
{
    FILE *file = fopen(available, "re");
    char name[MANNER_NAME];

    while (file != NULL && fscanf(file, "%15s", name) == 1) {
        if (is_permitted(name))
            add_both(manners, count, name);
    }
    if (file != NULL)
        fclose(file);
}

size_t manner_list(const char *variant, struct manner manners[MANNERS_MAX])
{
    size_t count = 0;

    if (strcmp(variant, MANNER_DEFAULT) == 0)
        add(manners, &count, "", 0);
    else if (strcmp(variant, MANNER_BEST) == 0)
        add_all(manners, &count);
    else if (!add_exact(manners, &count, variant))
        add_both(manners, &count, variant);
    if (count == 0)
        add_both(manners, &count, "");
    return count;
}
