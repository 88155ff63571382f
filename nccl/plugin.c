/* NCCL's net plugin over libzcrp: its start, its devices, and the tables of the versions. What
 * differs between versions are arguments that this plugin does not need. */
#include "plugin.h"

#include "comm.h"
#include "connect.h"
#include "listen.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NCCL's calls have parameters that are not needed here, and its tables have names of its own. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
/* NOLINTBEGIN(misc-unused-parameters, readability-identifier-naming) */

#define SECOND INT64_C(1000000000)

struct plugin plugin;

struct zcrp_options plugin_options(void)
{
    return (struct zcrp_options){.keys = plugin.keys,
                                 .messages = 2 * NET_REQUESTS_MOST, /* a comm has half of them */
                                 .linger_ns = SECOND, /* NCCL closes when all has arrived */
                                 .connections = PLUGIN_COMMS_MOST,
                                 .backlog = 1024,
                                 .accept_ns = INT64_MAX, /* a rank may compute before it accepts */
                                 .first_messages = 1,    /* the hello */
                                 .first_bytes = 64};
}

/* ---- what NCCL is told ---- */

void plugin_log(int level, const char *where, int line, const char *format, ...)
{
    char text[512];
    va_list values;

    va_start(values, format);
    (void)vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    if (plugin.log != NULL)
        plugin.log(level, NET_LOG_OF_INIT | NET_LOG_OF_NET, where, line, "%s", text);
}

int plugin_result(int code)
{
    switch (code) {
    case ZCRP_OK:
        return NET_OK;
    case ZCRP_ERROR_TOO_LARGE:
    case ZCRP_ERROR_KEYS:
    case ZCRP_ERROR_NO_KEYS:
    case ZCRP_ERROR_EXPOSED:
        return NET_INVALID_USAGE;
    case ZCRP_ERROR_MEMORY:
    case ZCRP_ERROR_SYSTEM:
    case ZCRP_ERROR_ADDRESS:
    case ZCRP_ERROR_CHANNEL:
        return NET_SYSTEM_ERROR;
    case ZCRP_ERROR_ARGUMENT:
    case ZCRP_ERROR_SIZE:
    case ZCRP_ERROR_BUSY:
    case ZCRP_ERROR_FORKED:
        return NET_INTERNAL_ERROR;
    default:
        return NET_REMOTE_ERROR;
    }
}

/* ---- start and end ---- */

static int contexts; /* inits without a finalize */
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

static int find_devices(void)
{
    plugin.device_count = interfaces_find(plugin.device);
    if (plugin.device_count <= 0) {
        plugin_warn("NET/ZCRP: no network interface: see NCCL_SOCKET_IFNAME, NCCL_SOCKET_FAMILY");
        plugin.device_count = 0;
        return NET_SYSTEM_ERROR;
    }
    for (int i = 0; i < plugin.device_count; i++) {
        const struct interface *d = &plugin.device[i];
        char host[INTERFACES_HOST];
        interfaces_write(d->family, d->address, d->name, host);
        plugin_inform("NET/ZCRP: device %d is %s, %s", i, d->name, host);
    }
    return NET_OK;
}

/* If the file cannot be read, nothing is sent without keys instead. */
static int read_keys(void)
{
    const char *path = secure_getenv("ZCRP_KEYS");

    if (path == NULL || path[0] == '\0') {
        plugin_warn("NET/ZCRP: no keys, so whoever can read the network can read and change all "
                    "data; ZCRP_KEYS names a file of zcrp-keys");
        return NET_OK;
    }
    int code = zcrp_keys_read(&plugin.keys, path);
    if (code == ZCRP_OK)
        plugin_inform("NET/ZCRP: data between hosts are encrypted, with the keys of %s", path);
    else
        plugin_warn("NET/ZCRP: ZCRP_KEYS: %s", zcrp_explain(code));
    return plugin_result(code);
}

/* A number, as NCCL reads it. */
static bool does_tell_watched(void)
{
    const char *value = secure_getenv("NCCL_NET_OPTIONAL_RECV_COMPLETION");

    return value == NULL || value[0] == '\0' || strtoll(value, NULL, 0) != 0;
}

/* Until version 10 once in a process, then once for each communicator. */
static int start(net_logger log)
{
    int result = NET_OK;

    (void)pthread_mutex_lock(&starting);
    if (plugin.device_count == 0) {
        plugin.log = log;
        plugin.tells_watched = does_tell_watched();
        result = read_keys();
        if (result == NET_OK)
            result = find_devices();
    }
    contexts += result == NET_OK;
    (void)pthread_mutex_unlock(&starting);
    return result;
}

static int finalize(void *context)
{
    (void)pthread_mutex_lock(&starting);
    bool is_last = --contexts == 0;
    (void)pthread_mutex_unlock(&starting);
    if (is_last)
        connect_end_attempts();
    return NET_OK;
}

/* ---- devices ---- */

static int devices(int *count)
{
    *count = plugin.device_count;
    return NET_OK;
}

static bool is_device(int device)
{
    return device >= 0 && device < plugin.device_count;
}

static struct net_identity identity_of(int device)
{
    return (struct net_identity){.name = plugin.device[device].name,
                                 .pci_path = plugin.device[device].pci_path,
                                 .guid = (uint64_t)device,
                                 .memory_kinds = NET_MEMORY_HOST};
}

/* Nobody has measured the network's latency. */
static struct net_limits limits_of(int device)
{
    return (struct net_limits){.speed_mbps = interfaces_speed(&plugin.device[device]),
                               .comms_most = PLUGIN_COMMS_MOST,
                               .receives_most = 1};
}

static int properties_v8(int device, struct net_properties_v8 *properties)
{
    if (!is_device(device))
        return NET_INTERNAL_ERROR;
    *properties = (struct net_properties_v8){identity_of(device), limits_of(device)};
    return NET_OK;
}

static int properties_v9(int device, struct net_properties_v9 *properties)
{
    if (!is_device(device))
        return NET_INTERNAL_ERROR;
    *properties = (struct net_properties_v9){.identity = identity_of(device),
                                             .limits = limits_of(device),
                                             .merged = {.count = 1, .device = {device}},
                                             .point_to_point_most = PLUGIN_MESSAGE_MOST,
                                             .collective_most = PLUGIN_MESSAGE_MOST};
    return NET_OK;
}

static int properties_v11(int device, void *properties)
{
    struct net_properties_v11 *p = properties;

    p->requests_joined_most = 1;
    return properties_v9(device, &p->before);
}

static int properties_v12(int device, void *properties)
{
    if (!is_device(device))
        return NET_INTERNAL_ERROR;
    *(struct net_properties_v12 *)properties =
        (struct net_properties_v12){.identity = identity_of(device),
                                    .limits = limits_of(device),
                                    .merged = {.count = 1, .device = {device}},
                                    .point_to_point_most = PLUGIN_MESSAGE_MOST,
                                    .collective_most = PLUGIN_MESSAGE_MOST,
                                    .requests_joined_most = 1,
                                    .rail = NET_UNKNOWN,
                                    .plane = NET_UNKNOWN};
    return NET_OK;
}

/* ---- calls that are the same in all versions ---- */

static int accept_caller(void *listener, void **receiver, void **offload)
{
    return listen_accept(listener, receiver);
}

/* The kernel reads and writes any memory of the process, so there is nothing to register. */
static int register_memory(void *comm, void *memory, size_t size, int kind, void **registration)
{
    *registration = NULL;
    return kind == NET_MEMORY_HOST ? NET_OK : NET_INTERNAL_ERROR;
}

static int unregister_memory(void *comm, void *registration)
{
    return NET_OK;
}

/* Only a GPU's memory needs it. */
static int flush(void *receiver, int count, void **memory, int *sizes, void **registrations,
                 void **request)
{
    *request = NULL;
    return NET_INTERNAL_ERROR;
}

#define REGISTRATION                                                                               \
    {                                                                                              \
        .add = register_memory, .remove = unregister_memory                                        \
    }
#define ENDINGS                                                                                    \
    {                                                                                              \
        .flush = flush, .test = comm_test, .close_sender = comm_close,                             \
        .close_receiver = comm_close, .close_listener = listen_close                               \
    }

/* ---- calls of one version and later ones ---- */

static int init_v10(net_logger log, void *profiler)
{
    return start(log);
}

static int init_v11(void **context, uint64_t communicator, void *config, net_logger log,
                    void *profiler)
{
    *context = NULL;
    return start(log);
}

static int listen_v8(int device, void *handle, void **listener)
{
    return is_device(device) ? listen_open(device, handle, listener) : NET_INTERNAL_ERROR;
}

static int listen_v11(void *context, int device, void *handle, void **listener)
{
    return listen_v8(device, handle, listener);
}

static int connect_v8(int device, void *handle, void **sender, void **offload)
{
    return is_device(device) ? connect_advance(device, handle, sender) : NET_INTERNAL_ERROR;
}

static int connect_v10(int device, void *config, void *handle, void **sender, void **offload)
{
    return connect_v8(device, handle, sender, offload);
}

static int connect_v11(void *context, int device, void *handle, void **sender, void **offload)
{
    return connect_v8(device, handle, sender, offload);
}

static int send_v9(void *sender, void *memory, size_t size, int tag, void *registration,
                   void **request)
{
    return comm_submit(sender, memory, size, false, request);
}

static int send_v8(void *sender, void *memory, int size, int tag, void *registration,
                   void **request)
{
    return size >= 0 ? send_v9(sender, memory, (size_t)size, tag, registration, request)
                     : NET_INTERNAL_ERROR;
}

static int send_v10(void *sender, void *memory, size_t size, int tag, void *registration,
                    void *profile, void **request)
{
    return send_v9(sender, memory, size, tag, registration, request);
}

static int receive_v9(void *receiver, int count, void **memory, size_t *sizes, int *tags,
                      void **registrations, void **request)
{
    bool is_watched = !plugin.tells_watched || *request == NET_END_IS_OPTIONAL;

    return count == 1 ? comm_submit(receiver, memory[0], sizes[0], is_watched, request)
                      : NET_INTERNAL_ERROR;
}

/* Any receive may be watched. */
static int receive_v8(void *receiver, int count, void **memory, int *sizes, int *tags,
                      void **registrations, void **request)
{
    return count == 1 && sizes[0] >= 0
               ? comm_submit(receiver, memory[0], (size_t)sizes[0], true, request)
               : NET_INTERNAL_ERROR;
}

static int receive_v10(void *receiver, int count, void **memory, size_t *sizes, int *tags,
                       void **registrations, void **profiles, void **request)
{
    return receive_v9(receiver, count, memory, sizes, tags, registrations, request);
}

/* ---- the tables ---- */

#define EXPORTED extern __attribute__((visibility("default")))

EXPORTED const struct net_v8 ncclNetPlugin_v8;
EXPORTED const struct net_v9 ncclNetPlugin_v9;
EXPORTED const struct net_v10 ncclNetPlugin_v10;
EXPORTED const struct net_v11 ncclNetPlugin_v11, ncclNetPlugin_v12;

static const char name[] = "ZCRP"; /* for NCCL_NET */

const struct net_v8 ncclNetPlugin_v8 = {name,      start,      devices,       properties_v8,
                                        listen_v8, connect_v8, accept_caller, REGISTRATION,
                                        send_v8,   receive_v8, ENDINGS};
const struct net_v9 ncclNetPlugin_v9 = {name,      start,      devices,       properties_v9,
                                        listen_v8, connect_v8, accept_caller, REGISTRATION,
                                        send_v9,   receive_v9, ENDINGS,       NULL};
const struct net_v10 ncclNetPlugin_v10 = {name,      init_v10,    devices,       properties_v9,
                                          listen_v8, connect_v10, accept_caller, REGISTRATION,
                                          send_v10,  receive_v10, ENDINGS,       NULL};

#define SINCE_V11(properties)                                                                      \
    {                                                                                              \
        name, init_v11, devices, properties, listen_v11, connect_v11, accept_caller, REGISTRATION, \
            send_v10, receive_v10, ENDINGS, NULL, finalize, NULL                                   \
    }
const struct net_v11 ncclNetPlugin_v11 = SINCE_V11(properties_v11);
const struct net_v11 ncclNetPlugin_v12 = SINCE_V11(properties_v12);
/* NOLINTEND(misc-unused-parameters, readability-identifier-naming) */
