/* Making a channel over AAL5 of a socket that has been looked over, and giving it back. */
#include "aal5_channel.h"
#include "crc.h"
#include "socket.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>

/* The circuit and MTU without any options (RFC 2225 for the MTU). */
static const struct channel_aal5 usual = {
    .out = {.vpi = 0, .vci = 32}, .in = {.vpi = 0, .vci = 32}, .mtu = 9180};

static const struct channel_methods aal5_methods = {
    .send = aal5_send,
    .receive = aal5_receive,
    .receive_control = aal5_receive_control,
};

/* Packets that are pieces of the largest PDU have to fit one call. */
_Static_assert(((CONTROL_BYTES - AAL5_HEAD) / AAL5_CELL) * AAL5_PACKETS_OUT >= AAL5_CELLS_MOST,
               "the largest PDU over the smallest path");

static bool is_raw(const struct channel *c)
{
    return c->kind == CHANNEL_RAW4 || c->kind == CHANNEL_RAW6;
}

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

    if (is_raw(c))
        (void)setsockopt(c->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static int check_options(const struct channel_aal5 *o)
{
    bool is_good = aal5_label(o->out) != 0 && aal5_label(o->in) != 0 && o->mtu >= CONTROL_BYTES &&
                   o->mtu <= AAL5_PAYLOAD_MOST && aal5_fault_is_sane(&o->faults);
    return is_good ? 0 : -EINVAL;
}

static void release(struct aal5_channel *a)
{
    free(a->passing);
    free(a->in.stages[0]);
    free(a->in.stages[1]);
    free(a);
}

/* Most of the memory is never touched while PDUs come in one piece. */
static struct aal5_channel *allocate(bool has_faults)
{
    struct aal5_channel *a = calloc(1, sizeof(*a));

    if (a == NULL)
        return NULL;
    a->in.stages[0] = malloc(AAL5_STAGE);
    a->in.stages[1] = malloc(AAL5_STAGE);
    a->passing = has_faults ? malloc(AAL5_PDU_MOST) : NULL;
    if (a->in.stages[0] != NULL && a->in.stages[1] != NULL && (!has_faults || a->passing != NULL))
        return a;
    release(a);
    return NULL;
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
        unsigned long value = strtoul(p + length + 1, &end, 10);
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
    struct channel_aal5 given = options->mtu != 0 ? *options : usual;
    const struct channel_aal5 *o = &given;
    int error = aal5_environment(&given) ? check_options(o) : -EINVAL;

    if (error)
        return error;
    struct aal5_channel *a = allocate(!aal5_fault_is_none(&o->faults));
    if (a == NULL)
        return -ENOMEM;
    a->label_out = aal5_label(o->out);
    a->label_in = aal5_label(o->in);
    a->crc = crc_best();
    a->number = 1;
    a->packet_bytes = aal5_packet_bytes(c->path_bytes);
    a->in.piece_bytes = a->packet_bytes;
    a->in.head_bytes = c->kind == CHANNEL_RAW4 ? AAL5_HEAD_MOST : AAL5_HEAD;
    aal5_reassembly_init(&a->reassembly);
    aal5_fault_init(&a->network, &o->faults);
    c->aal5 = a;
    c->methods = &aal5_methods;
    c->datagram_max = o->mtu;
    c->path_bytes = c->path_most = o->mtu;
    filter(c, a->label_in);
    return 0;
}

void aal5_close(struct channel *c)
{
    if (is_raw(c))
        (void)setsockopt(c->fd, SOL_SOCKET, SO_DETACH_FILTER, &(int){0}, sizeof(int));
    aal5_free(c);
}

void aal5_free(struct channel *c)
{
    release(c->aal5);
    c->aal5 = NULL;
}
