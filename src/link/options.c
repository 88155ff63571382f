#include "options.h"

#include "core/instant.h"
#include "transport/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
    UNIT_LEAST = 64,
    UNIT_MOST = 65507, /* what UDP over IPv4 carries */
    MESSAGES_MOST = 1 << 20,
    CONNECTIONS_MOST = 1 << 20,
    MEBIBYTE = 1 << 20,
};

#define MAPPED_MOST (UINT64_C(1) << 44) /* bytes: a process has 2^47 to map */
#define LONGEST (NEVER / 2) /* time; any may be added to any reading of the clock: 146 years */

static bool is_in_range(const struct zcrp_options *o)
{
    const uint32_t known =
        ZCRP_NO_SEGMENT | ZCRP_NO_GRO | ZCRP_NO_ECN | ZCRP_NO_MEMORY | ZCRP_ALLOW_PTRACE;

    if (o->unit_bytes != 0 && (o->unit_bytes < UNIT_LEAST || o->unit_bytes > UNIT_MOST))
        return false;
    if (o->silence_ns < 0 || o->linger_ns < 0 || o->spin_ns < 0 || o->connect_ns < 0 ||
        o->progress_ns < 0)
        return false;
    if (o->congestion < ZCRP_CONGESTION_DEFAULT || o->congestion > ZCRP_CONGESTION_BBR)
        return false;
    if (o->channel < ZCRP_CHANNEL_AUTO || o->channel > ZCRP_CHANNEL_MEMORY)
        return false;
    if (o->connections > CONNECTIONS_MOST || o->backlog > CONNECTIONS_MOST)
        return false;
    if (o->mapped_bytes > MAPPED_MOST)
        return false;
    return o->messages <= MESSAGES_MOST && (o->flags & ~known) == 0;
}

/* What both know; false if the program has set something that only it knows. */
static bool take_over(struct zcrp_options *o, const struct zcrp_options *given, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)given;

    *o = (struct zcrp_options){0};
    if (given == NULL)
        return true;
    memcpy(o, given, size < sizeof(*o) ? size : sizeof(*o));
    for (size_t i = sizeof(*o); i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static void complete_time(int64_t *time, duration usual)
{
    if (*time == 0)
        *time = usual;
    if (*time > LONGEST)
        *time = LONGEST;
}

int options_complete(struct zcrp_options *complete, const struct zcrp_options *given, size_t size)
{
    struct zcrp_options o;

    if (!take_over(&o, given, size) || !is_in_range(&o))
        return ZCRP_ERROR_ARGUMENT;
    if (o.congestion == ZCRP_CONGESTION_DEFAULT)
        o.congestion = ZCRP_CONGESTION_BBR;
    if (o.messages == 0)
        o.messages = 1024;
    if (o.window_bytes == 0)
        o.window_bytes = 32 * MEBIBYTE;
    complete_time(&o.silence_ns, 30 * SECOND);
    complete_time(&o.linger_ns, 5 * SECOND);
    complete_time(&o.spin_ns, 50 * MICROSECOND);
    complete_time(&o.connect_ns, 5 * SECOND);
    complete_time(&o.progress_ns, 30 * SECOND);
    if (o.send_buffer == 0)
        o.send_buffer = 4 * MEBIBYTE;
    if (o.receive_buffer == 0)
        o.receive_buffer = 4 * MEBIBYTE;
    if (o.connections == 0)
        o.connections = 1024;
    if (o.backlog == 0)
        o.backlog = 128;
    if (o.aal5.vci == 0)
        o.aal5.vci = 32;
    if (o.aal5.mtu == 0)
        o.aal5.mtu = 9180;
    *complete = o;
    return ZCRP_OK;
}

/* ---- of a channel ---- */

/* Is AAL5 spoken over this socket? */
static bool wants_aal5(const struct zcrp_options *o, int fd)
{
    return o->channel == ZCRP_CHANNEL_AAL5 ||
           (o->channel == ZCRP_CHANNEL_AUTO && aal5_has_port(fd));
}

static struct aal5_faults faults_of(const struct zcrp_atm_faults *f)
{
    return (struct aal5_faults){
        .loss = f->loss,
        .tagged = f->tagged,
        .tagged_loss = f->tagged_loss,
        .swapped = f->swapped,
        .merged = f->merged,
        .congested = f->congested,
        .discard = (enum aal5_discard)f->discard,
        .seed = f->seed,
    };
}

static struct channel_aal5 aal5_of(const struct zcrp_options *options, bool is_sender, bool is_half,
                                   int fd)
{
    const struct zcrp_aal5 *a = &options->aal5;
    uint32_t usual_control = is_half ? a->vci + 1 : a->vci;
    uint32_t vci_control = a->vci_control != 0 ? a->vci_control : usual_control;
    struct aal5_circuit units = {.vpi = a->vpi, .vci = a->vci};
    struct aal5_circuit control = {.vpi = a->vpi, .vci = vci_control};

    return (struct channel_aal5){
        .is_wanted = wants_aal5(options, fd),
        .out = is_sender ? units : control,
        .in = is_sender ? control : units,
        .also = is_half && !is_sender ? control : (struct aal5_circuit){.vci = 0},
        .mtu = a->mtu,
        .faults = faults_of(&a->faults),
    };
}

/* Units go one way, everything else the other. The sender's control datagrams are few, and GRO
 * would only glue them together. */
struct channel_options options_of_channel(const struct zcrp_options *o, bool is_sender,
                                          bool is_half, int fd)
{
    return (struct channel_options){
        .send_bytes = is_sender ? o->send_buffer : 0,
        .receive_bytes = is_sender ? 0 : o->receive_buffer,
        .use_gso = is_sender && !(o->flags & ZCRP_NO_SEGMENT),
        .use_gro = !is_sender && !(o->flags & ZCRP_NO_GRO),
        .sends_ecn = is_sender && !(o->flags & ZCRP_NO_ECN),
        .reads_ecn = !is_sender && !(o->flags & ZCRP_NO_ECN),
        .aal5 = aal5_of(o, is_sender, is_half, fd),
    };
}
