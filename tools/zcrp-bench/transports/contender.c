#include "zcrp-bench/transports/contender.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "zcrp-bench/transports/transport.h"

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

/* The manners that `variant` (what follows the colon, MANNER_BEST without one) stands for; how
 * many, at least one. */
static size_t manner_list(const char *variant, struct manner manners[MANNERS_MAX])
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

struct manner contender_manner(const struct choice *choice)
{
    struct manner manners[MANNERS_MAX] = {0};
    bool is_best = strcmp(choice->variant, MANNER_BEST) == 0;

    if (choice->kind->has_manners)
        (void)manner_list(is_best ? MANNER_DEFAULT : choice->variant, manners);
    return manners[0];
}

/* For round trips the best manner is not looked for. */
static size_t list_for(const struct choice *choice, enum contender_use use,
                       struct manner manners[MANNERS_MAX])
{
    if (!choice->kind->has_manners || use == CONTENDER_BACK)
        return 1;
    if (use == CONTENDER_THERE)
        return manner_list(choice->variant, manners);
    manners[0] = contender_manner(choice);
    return 1;
}

static int open_channel(struct transport *channel, const struct transport *plain,
                        const struct manner *manner, bool is_back)
{
    *channel = *plain;
    channel->manner = *manner;
    channel->is_back = is_back;
    return transport_open(channel);
}

int contender_open(struct contender *contender, const struct choice *choice, enum contender_use use,
                   const struct transport *plain, size_t *number)
{
    static const struct manner usual;
    struct manner manners[MANNERS_MAX] = {0};
    size_t count = list_for(choice, use, manners);

    *contender = (struct contender){.name = choice->name, .first_number = *number};
    for (size_t i = 0; i < count; i++, ++*number) {
        contender->lane_count++;
        if (open_channel(&contender->lanes[i], plain, &manners[i], use == CONTENDER_BACK) < 0)
            return -1;
    }
    if (use != CONTENDER_PING || !choice->kind->is_simplex)
        return 0;
    ++*number;
    return open_channel(&contender->back, plain, &usual, true);
}

void contender_close(struct contender *contender)
{
    for (size_t i = 0; i < contender->lane_count; i++)
        transport_close(&contender->lanes[i]);
    transport_close(&contender->back);
}

bool contender_has_use(const struct contender *contender, size_t lane, uint64_t size)
{
    return contender->lanes[lane].manner.write_bytes < size;
}
