/* Making a channel over AAL5 of a socket that has been looked over, and giving it back. */
#include "aal5_channel.h"
#include "transport/udp/socket.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>

/* Packets that are pieces of the largest PDU have to fit one call. */
_Static_assert(((CONTROL_BYTES - AAL5_HEAD) / AAL5_CELL) * AAL5_PACKETS_OUT >= AAL5_CELLS_MOST,
               "the largest PDU over the smallest path");

/* A raw socket hears all circuits between two machines, and if both are one, itself. The kernel
 * drops what has another label; where IP's head is part of what it looks at, that is passed over.
 */
static void filter(const struct channel *c, uint32_t label)
{
    struct sock_filter steps[] = {
        c->kind == CHANNEL_RAW4 ? (struct sock_filter)BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0)
                                : (struct sock_filter)BPF_STMT(BPF_LDX | BPF_IMM, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_IND, 0),
        BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 12),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, label, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = {.len = sizeof(steps) / sizeof(steps[0]), .filter = steps};

    (void)setsockopt(c->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/* A circuit that does not exist has label 0. */
static bool are_circuits(const struct channel_aal5 *o)
{
    uint32_t in = aal5_label(o->in), also = aal5_label(o->also);

    return aal5_label(o->out) != 0 && in != 0 && also != in && (also != 0) == (o->also.vci != 0);
}

static bool is_sane(const struct channel_aal5 *o)
{
    return are_circuits(o) && o->mtu >= CONTROL_BYTES && o->mtu <= AAL5_PAYLOAD_MOST &&
           aal5_fault_is_sane(&o->faults);
}

bool aal5_is_possible(const struct channel_aal5 *options)
{
    struct channel_aal5 o = *options;

    return aal5_environment(&o) && is_sane(&o);
}

static void init_source(struct aal5_source *source, uint32_t label, uint32_t piece_bytes)
{
    source->label = label;
    source->is_congested = false;
    source->fragments = source->stage = source->first_bytes = 0;
    source->piece_bytes = piece_bytes;
    aal5_reassembly_init(&source->reassembly);
}

static bool set_option(struct channel_aal5 *o, const char *name, size_t length, uint32_t value)
{
    struct {
        const char *name;
        uint32_t *number;
    } const row[] = {
        {"mtu", &o->mtu},
        {"loss", &o->faults.loss},
        {"tagged", &o->faults.tagged},
        {"tagged_loss", &o->faults.tagged_loss},
        {"swapped", &o->faults.swapped},
        {"merged", &o->faults.merged},
        {"congested", &o->faults.congested},
    };

    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        if (strlen(row[i].name) == length && strncmp(row[i].name, name, length) == 0) {
            *row[i].number = value;
            return true;
        }
    if (length == 7 && strncmp(name, "discard", length) == 0)
        o->faults.discard = (enum aal5_discard)value;
    else if (length == 4 && strncmp(name, "seed", length) == 0)
        o->faults.seed = value;
    else
        return false;
    return true;
}

bool aal5_environment(struct channel_aal5 *options)
{
    const char *p = secure_getenv("ZCRP_AAL5");

    while (p && *p) {
        size_t length = strcspn(p, "=,");
        char *end;
        if (p[length] != '=')
            return false;
        unsigned long long value = strtoull(p + length + 1, &end, 10);
        if (end == p + length + 1 || (*end && *end != ',') || value > UINT32_MAX)
            return false;
        if (!set_option(options, p, length, (uint32_t)value))
            return false;
        p = *end ? end + 1 : end;
    }
    return true;
}

int aal5_open(struct channel *c, const struct channel_aal5 *options)
{
    struct channel_aal5 o = *options;

    if (!aal5_environment(&o) || !is_sane(&o))
        return -EINVAL;
    struct aal5_channel *a = malloc(sizeof(*a));
    if (a == NULL)
        return -ENOMEM;
    c->aal5 = a;
    a->label_out = aal5_label(o.out);
    a->packet_bytes = aal5_packet_bytes(c->path_bytes);
    a->number = 1;
    a->stuck = 0;
    aal5_fault_init(&a->network, &o.faults);
    init_source(&a->source[0], aal5_label(o.in), a->packet_bytes);
    init_source(&a->source[1], aal5_label(o.also), a->packet_bytes);
    c->datagram_max = c->path_bytes = c->path_most = o.mtu;
    a->has_filter = channel_is_raw(c) && !o.only_sends;
    if (a->has_filter)
        filter(c, a->source[0].label);
    return 0;
}

void aal5_close(struct channel *c)
{
    if (c->aal5->has_filter)
        (void)setsockopt(c->fd, SOL_SOCKET, SO_DETACH_FILTER, &(int){0}, sizeof(int));
    aal5_free(c);
}

void aal5_free(struct channel *c)
{
    free(c->aal5);
    c->aal5 = NULL;
}
