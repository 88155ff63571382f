/* The hunt for the best TCP: which manners a contender has, and which of them is the fastest. */
#include "zcrp-bench/ends/measurement.h"

#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char available[] = "/proc/sys/net/ipv4/tcp_available_congestion_control";

enum { FEW_BYTES = 128 << 10, TRIALS = 3 };

static void add(struct manner manners[MANNERS_MAX], size_t *count,
                const char congestion[MANNER_NAME], uint64_t write_bytes)
{
    struct manner *manner = &manners[*count];

    if (*count == MANNERS_MAX)
        return;
    manner->write_bytes = write_bytes;
    memcpy(manner->congestion, congestion, MANNER_NAME);
    ++*count;
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

/* Those that may be used; how many, at least one: the machine's. */
static size_t list_permitted(char names[MANNERS_MAX][MANNER_NAME])
{
    FILE *file = fopen(available, "re");
    size_t count = 0;

    while (file != NULL && count < MANNERS_MAX && fscanf(file, "%15s", names[count]) == 1)
        count += is_permitted(names[count]);
    if (file != NULL)
        fclose(file);
    if (count > 0)
        return count;
    names[0][0] = '\0';
    return 1;
}

/* Does the variant end with this? */
static bool has_writes(const char *variant, const char *which)
{
    const char *writes = strchr(variant, '+');

    return writes != NULL && strcmp(writes, which) == 0;
}

/* The congestion control that a variant names; "" is the machine's. */
static void name_of(const char *variant, char name[MANNER_NAME])
{
    bool is_known = has_writes(variant, MANNER_FEW) || has_writes(variant, MANNER_WHOLE) ||
                    has_writes(variant, MANNER_JOINED);
    int length = is_known ? (int)strcspn(variant, "+") : MANNER_NAME;

    snprintf(name, MANNER_NAME, "%.*s", length, variant);
    if (strcmp(name, MANNER_DEFAULT) == 0)
        name[0] = '\0';
}

/* The manners that `variant` (what follows the colon, MANNER_BEST without one) stands for; how
 * many, at least one. */
static size_t manner_list(const char *variant, struct manner manners[MANNERS_MAX])
{
    char names[MANNERS_MAX][MANNER_NAME] = {""};
    bool is_joined = has_writes(variant, MANNER_JOINED);
    bool is_whole =
        is_joined || has_writes(variant, MANNER_WHOLE) || strcmp(variant, MANNER_DEFAULT) == 0;
    size_t known = 1;
    size_t count = 0;

    if (strcmp(variant, MANNER_BEST) == 0)
        known = list_permitted(names);
    else
        name_of(variant, names[0]);
    for (size_t i = 0; i < known; i++) {
        if (!has_writes(variant, MANNER_FEW))
            add(manners, &count, names[i], 0);
        if (!is_whole)
            add(manners, &count, names[i], FEW_BYTES);
    }
    manners[0].is_joined = is_joined;
    return count;
}

/* For round trips, and of crowds, the best manner is not looked for: then it is the machine's
 * congestion control, with whole writes. */
static size_t list_for(const struct choice *choice, const struct options *options,
                       struct manner manners[MANNERS_MAX])
{
    bool is_best = strcmp(choice->variant, MANNER_BEST) == 0;

    if (!choice->kind->has_manners || options->is_reverse)
        return 1;
    if (!options->is_ping && options->peers == 0)
        return manner_list(choice->variant, manners);
    (void)manner_list(is_best ? MANNER_DEFAULT : choice->variant, manners);
    return 1;
}

int contender_open(struct contender *contender, const struct choice *choice,
                   const struct options *options, struct control *control, size_t *number)
{
    struct manner manners[MANNERS_MAX] = {0};
    size_t count = list_for(choice, options, manners);
    struct transport channel = {
        .kind = choice->kind,
        .settings = &options->settings,
        .control = control,
        .is_back = options->is_reverse,
    };

    *contender = (struct contender){.name = choice->name};
    while (contender->lane_count < count) {
        size_t i = contender->lane_count++;

        channel.manner = manners[i];
        for (uint64_t flow = 0; flow < options->settings.flows; flow++) {
            channel.number = (*number)++;
            contender->lanes[i][flow] = channel;
            if (transport_open(&contender->lanes[i][flow]) < 0)
                return -1;
        }
    }
    if (!options->is_ping || !transport_is_simplex(&channel))
        return 0;
    channel.is_back = true;
    channel.number = (*number)++;
    contender->back = channel;
    return transport_open(&contender->back);
}

void contender_close(struct contender *contender)
{
    for (size_t i = 0; i < contender->lane_count * FLOWS_MAX; i++)
        transport_close(&contender->lanes[i / FLOWS_MAX][i % FLOWS_MAX]);
    transport_close(&contender->back);
}

/* Only manners whose writes are smaller than the message are worth trying. */
static bool has_use(const struct contender *contender, size_t lane, uint64_t size)
{
    return contender->lanes[lane]->manner.write_bytes < size;
}

int contender_choose(struct contender *contender, struct sending_end *end, uint64_t size)
{
    double s_a_byte[MANNERS_MAX][TRIALS];
    size_t lanes = contender->lane_count;
    double least = INFINITY;
    size_t best = 0;
    struct run trial;

    for (size_t i = 0; lanes > 1 && i < TRIALS * lanes; i++) {
        contender->lane = i % lanes;
        if (!has_use(contender, i % lanes, size))
            continue;
        if (measurement_try(end, contender, size, &trial) < 0)
            return -1;
        s_a_byte[i % lanes][i / lanes] = trial.seconds / (double)trial.bytes;
    }
    for (size_t lane = 0; lanes > 1 && lane < lanes; lane++) {
        double median =
            has_use(contender, lane, size) ? statistics_median(s_a_byte[lane], TRIALS) : INFINITY;

        if (median < least) {
            least = median;
            best = lane;
        }
    }
    contender->lane = best;
    return 0;
}
