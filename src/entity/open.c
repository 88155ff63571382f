/* Opening an entity: everything it will ever need is taken here. */
#include "circuit.h"
#include "fork.h"
#include "options.h"
#include "turns.h"
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* The API's words for what channel_init found. */
static int code_of_fault(int error)
{
    switch (error) {
    case -EBADF:
        return ZCRP_ERROR_DESCRIPTOR;
    case -ENOTSOCK:
    case -EPROTOTYPE:
    case -EAFNOSUPPORT:
        return ZCRP_ERROR_NOT_SOCKET;
    case -ENOTCONN:
        return ZCRP_ERROR_NOT_CONNECTED;
    case -EINVAL:
        return ZCRP_ERROR_ARGUMENT;
    case -ENOMEM:
        return ZCRP_ERROR_MEMORY;
    default:
        errno = -error;
        return ZCRP_ERROR_SYSTEM;
    }
}

/* Units go one way, everything else the other; the sender's control datagrams are few, and GRO
 * would only glue them together. */
static struct channel_options channel_options(struct zcrp_entity *e, int fd)
{
    bool is_sender = e->machine.role == MACHINE_SENDER;

    return (struct channel_options){
        .send_bytes = is_sender ? e->options.send_buffer : 0,
        .receive_bytes = is_sender ? 0 : e->options.receive_buffer,
        .use_gso = is_sender && !(e->options.flags & ZCRP_NO_SEGMENT),
        .use_gro = !is_sender && !(e->options.flags & ZCRP_NO_GRO),
        .sends_ecn = is_sender && !(e->options.flags & ZCRP_NO_ECN),
        .reads_ecn = !is_sender && !(e->options.flags & ZCRP_NO_ECN),
        .tap = tapping_of(e),
        .aal5 = circuit_of(&e->options, e->machine.role, fd),
    };
}

/* The duplicate of a descriptor of the user's, or a code. */
static int own(int descriptor, int *owned)
{
    *owned = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (*owned >= 0)
        return ZCRP_OK;
    return errno == EBADF ? ZCRP_ERROR_DESCRIPTOR : ZCRP_ERROR_SYSTEM;
}

static void disown(const struct zcrp_entity *e)
{
    (void)close(e->owned[0]);
    if (e->owned[1] != e->owned[0])
        (void)close(e->owned[1]);
}

/* Two descriptors of one socket are a duplex channel, as one descriptor twice is. */
static int own_descriptors(struct zcrp_entity *e, const int descriptors[2])
{
    int code = own(descriptors[0], &e->owned[0]);

    if (code)
        return code;
    for (int i = 0; i < 2; i++) {
        e->given[i] = descriptors[i];
        e->registry.socket[i] = registry_cookie(descriptors[i]);
    }
    bool is_one = descriptors[0] == descriptors[1] ||
                  (e->registry.socket[0] != 0 && e->registry.socket[0] == e->registry.socket[1]);
    e->owned[1] = e->owned[0];
    code = is_one ? ZCRP_OK : own(descriptors[1], &e->owned[1]);
    if (code == ZCRP_OK && registry_add(e))
        return ZCRP_OK;
    disown(e);
    return code == ZCRP_OK ? ZCRP_ERROR_BUSY : code;
}

static void disown_descriptors(struct zcrp_entity *e)
{
    registry_remove(e);
    disown(e);
}

/* Which of the two descriptors the peer's datagrams come from. */
static int index_of_in(const struct zcrp_entity *e)
{
    return e->machine.role == MACHINE_SENDER ? 0 : 1;
}

int entity_given(const struct zcrp_entity *e, const struct channel *c)
{
    int in = index_of_in(e);

    return e->given[c == e->in ? in : 1 - in];
}

static int init_channels(struct zcrp_entity *e)
{
    int in = e->owned[index_of_in(e)], out = e->owned[1 - index_of_in(e)];
    struct channel_options options = channel_options(e, in);
    int error = channel_init(&e->channels[0], in, &options);

    if (error)
        return code_of_fault(error);
    e->in = &e->channels[0];
    e->out = e->in;
    if (in == out)
        return ZCRP_OK;
    options = channel_options(e, out);
    error = channel_init(&e->channels[1], out, &options);
    if (!error)
        e->out = &e->channels[1];
    else
        channel_fini(e->in);
    return error ? code_of_fault(error) : ZCRP_OK;
}

static void fini_channels(struct zcrp_entity *e)
{
    if (e->out != e->in)
        channel_fini(e->out);
    channel_fini(e->in);
}

/* Openings of one system call (receiving.c). Most of the memory is never touched while the network
 * behaves, so the system never gives it. */
static bool init_arrivals(struct zcrp_entity *e)
{
    bool is_sender = e->machine.role == MACHINE_SENDER;

    e->arrival_bytes = is_sender ? LANDING_DATAGRAM : landing_memory(LANDING_OPENINGS);
    e->arrivals = malloc(e->arrival_bytes);
    if (e->arrivals != NULL && !is_sender)
        landing_init(&e->landing, e->arrivals, LANDING_OPENINGS);
    openings_init(&e->openings, e->in->has_gro);
    return e->arrivals != NULL;
}

static int init_memory(struct zcrp_entity *e)
{
    struct channel *units = e->machine.role == MACHINE_SENDER ? e->out : e->in;

    if (!machine_init(&e->machine, e->machine.role, &e->options, units))
        return ZCRP_ERROR_MEMORY;
    if (init_arrivals(e))
        return ZCRP_OK;
    machine_fini(&e->machine);
    return ZCRP_ERROR_MEMORY;
}

static void fini_memory(struct zcrp_entity *e)
{
    free(e->arrivals);
    machine_fini(&e->machine);
}

static void init_locks(struct zcrp_entity *e)
{
    mutex_init(&e->mutex);
    condition_init(&e->sending_due);
    condition_init(&e->timeout_due);
    condition_init(&e->progress);
    e->timeout_at = INT64_MIN;
}

static void fini_locks(struct zcrp_entity *e)
{
    condition_fini(&e->progress);
    condition_fini(&e->timeout_due);
    condition_fini(&e->sending_due);
    mutex_fini(&e->mutex);
}

static int init_threads(struct zcrp_entity *e)
{
    int error = wake_init(&e->stop);

    if (error)
        goto err0;
    gather_init(&e->gather);
    error = helm_init(&e->helm, e->options.spin_ns);
    if (error)
        goto err1;
    error = worker_start_all(e);
    if (!error)
        return ZCRP_OK;
    helm_fini(&e->helm);
err1:
    wake_fini(&e->stop);
err0:
    return code_of_fault(error);
}

static int init(struct zcrp_entity *e, const int descriptors[2])
{
    int code = own_descriptors(e, descriptors);

    if (code)
        goto err0;
    code = init_channels(e);
    if (code)
        goto err1;
    code = init_memory(e);
    if (code)
        goto err2;
    init_locks(e);
    collection_init(&e->collection);
    code = init_threads(e);
    if (code)
        goto err3;
    return ZCRP_OK;

err3:
    collection_fini(&e->collection);
    fini_locks(e);
    fini_memory(e);
err2:
    fini_channels(e);
err1:
    disown_descriptors(e);
err0:
    return code;
}

static int open_entity(struct zcrp_entity **entity, enum machine_role role,
                       const int descriptors[2], const struct zcrp_options *options,
                       size_t options_size)
{
    if (entity == NULL)
        return ZCRP_ERROR_ARGUMENT;
    *entity = NULL;
    if (descriptors == NULL)
        return ZCRP_ERROR_ARGUMENT;
    fork_watch();
    struct zcrp_entity *e = calloc(1, sizeof(*e));
    if (e == NULL)
        return ZCRP_ERROR_MEMORY;
    e->generation = forked_generation();
    e->machine.role = role;
    int code = options_complete(&e->options, options, options_size);
    if (code == ZCRP_OK)
        code = init(e, descriptors);
    if (code == ZCRP_OK)
        *entity = e;
    else
        free(e);
    return code;
}

int zcrp_open_sender_sized(struct zcrp_entity **entity, const int descriptors[2],
                           const struct zcrp_options *options, size_t options_size)
{
    return open_entity(entity, MACHINE_SENDER, descriptors, options, options_size);
}

int zcrp_open_receiver_sized(struct zcrp_entity **entity, const int descriptors[2],
                             const struct zcrp_options *options, size_t options_size)
{
    return open_entity(entity, MACHINE_RECEIVER, descriptors, options, options_size);
}

void entity_destroy(struct zcrp_entity *e)
{
    helm_fini(&e->helm);
    wake_fini(&e->stop);
    collection_fini(&e->collection);
    fini_locks(e);
    fini_memory(e);
    fini_channels(e);
    disown_descriptors(e);
    free(e);
}

/* Locks may be held, and lists half changed, by threads that this process does not have. */
void entity_abandon(struct zcrp_entity *e)
{
    wake_fini(&e->helm.wake);
    wake_fini(&e->stop);
    if (atomic_load(&e->collection.is_on))
        wake_fini(&e->collection.wake);
    fini_memory(e);
    channel_abandon(e->in);
    if (e->out != e->in)
        channel_abandon(e->out);
    disown(e);
    free(e);
}
