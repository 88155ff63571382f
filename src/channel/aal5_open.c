#include "aal5_open.h"

#include "aal5_channel.h"
#include "aal5_environment.h"
#include "aal5_receive.h"
#include "aal5_send.h"
#include "crc.h"
#include "socket_path.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>

/* What a channel is on that nobody said anything about (RFC 2225 for the MTU). */
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

static uint32_t packet_bytes(uint32_t path)
{
    return (path - AAL5_HEAD) / AAL5_CELL * AAL5_CELL;
}

static int check(const struct channel_aal5 *o)
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

int aal5_open(struct channel *c, const struct channel_aal5 *options)
{
    struct channel_aal5 given = options->mtu != 0 ? *options : usual;
    const struct channel_aal5 *o = &given;
    int error = aal5_environment(&given) ? check(o) : -EINVAL;

    if (error)
        return error;
    struct aal5_channel *a = allocate(!aal5_fault_is_none(&o->faults));
    if (a == NULL)
        return -ENOMEM;
    a->label_out = aal5_label(o->out);
    a->label_in = aal5_label(o->in);
    a->crc = crc_best();
    a->number = 1;
    a->packet_bytes = packet_bytes(c->path_bytes);
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

bool aal5_path_fall(struct channel *c)
{
    struct aal5_channel *a = c->aal5;
    uint32_t known = a->packet_bytes;
    uint32_t told = packet_bytes(socket_path_bytes(c));
    uint32_t least = packet_bytes(CONTROL_BYTES);
    uint32_t half = known / 2 / AAL5_CELL * AAL5_CELL;

    a->packet_bytes = told < known ? told : half > least ? half : least;
    return a->packet_bytes < known;
}
