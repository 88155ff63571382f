/* AAL5 channels: what the options say about them, and their sockets by name. */
#include "circuit.h"

#include "channel/names.h"
#include "error.h"

#include <errno.h>

static bool is_wanted(const struct zcrp_options *o, int fd)
{
    return o->channel == ZCRP_CHANNEL_AAL5 ||
           (o->channel == ZCRP_CHANNEL_AUTO && aal5_socket_has_port(fd));
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

struct channel_aal5 circuit_of(const struct zcrp_options *options, enum machine_role role, int fd)
{
    const struct zcrp_aal5 *a = &options->aal5;
    struct aal5_circuit units = {.vpi = a->vpi, .vci = a->vci};
    struct aal5_circuit control = {.vpi = a->vpi, .vci = a->vci_control};
    bool is_sender = role == MACHINE_SENDER;

    return (struct channel_aal5){
        .is_wanted = is_wanted(options, fd),
        .out = is_sender ? units : control,
        .in = is_sender ? control : units,
        .mtu = a->mtu,
        .faults = faults_of(&a->faults),
    };
}

static int code_of(int error, int fd)
{
    if (error == 0)
        return fd;
    return error == -EPERM || error == -EACCES ? ZCRP_ERROR_PERMISSION : error_of_name(error);
}

int zcrp_aal5_connect(const char *host)
{
    int fd = -1;

    if (host == NULL)
        return ZCRP_ERROR_ARGUMENT;
    int error = aal5_socket_connect(host, &fd);

    return code_of(error, fd);
}

int zcrp_aal5_listen(const char *host)
{
    int fd = -1;
    int error = aal5_socket_bind(host, &fd);

    return code_of(error, fd);
}
