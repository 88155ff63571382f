#include "driver.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

enum { LIMIT_S = 40 };

char driver_log[4096];

/* NCCL's calls of one name differ in type, but these do not. */
#define TABLE(d, version) ((const struct net_v##version *)(d)->table)
#define EACH(d, member)                                                                            \
    ((d)->version == 8    ? TABLE(d, 8)->member                                                    \
     : (d)->version == 9  ? TABLE(d, 9)->member                                                    \
     : (d)->version == 10 ? TABLE(d, 10)->member                                                   \
                          : TABLE(d, 11)->member)

/* ---- loading ---- */

__attribute__((format(printf, 5, 6))) static void
log_line(int level, unsigned long subsystems, const char *where, int line, const char *format, ...)
{
    char text[1024];
    va_list values;

    va_start(values, format);
    (void)vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    must((level == NET_LOG_WARN || level == NET_LOG_INFO) && subsystems != 0 && where != NULL);
    (void)fprintf(stderr, "%s:%d %s\n", where, line, text);
    size_t length = strlen(driver_log);
    if (length + strlen(text) + 2 > sizeof(driver_log))
        length = 0;
    (void)snprintf(driver_log + length, sizeof(driver_log) - length, "%s\n", text);
}

struct driver driver_find(int version)
{
    const char *build = getenv("ZCRP_BUILD");
    char path[512], symbol[32];

    (void)snprintf(path, sizeof(path), "%s/libnccl-net-zcrp.so", build != NULL ? build : "build");
    (void)snprintf(symbol, sizeof(symbol), "ncclNetPlugin_v%d", version);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        (void)fprintf(stderr, "%s\n", dlerror());
    must(library != NULL);
    struct driver d = {.version = version, .table = dlsym(library, symbol)};
    must(d.table != NULL && strcmp(EACH(&d, name), "ZCRP") == 0);
    return d;
}

int driver_init(struct driver *d)
{
    int config = -1;

    if (d->version <= 9)
        return d->version == 8 ? TABLE(d, 8)->init(log_line) : TABLE(d, 9)->init(log_line);
    if (d->version == 10)
        return TABLE(d, 10)->init(log_line, NULL);
    return TABLE(d, 11)->init(&d->context, 1, &config, log_line, NULL);
}

struct driver driver_load(int version)
{
    struct driver d = driver_find(version);
    int count = 0;

    must(driver_init(&d) == NET_OK);
    must(EACH(&d, devices)(&count) == NET_OK && count > 0);
    return d;
}

void driver_finalize(const struct driver *d)
{
    if (d->version >= 11)
        must(TABLE(d, 11)->finalize(d->context) == NET_OK);
}

/* ---- devices ---- */

struct net_properties_v12 driver_properties(const struct driver *d, int device)
{
    struct net_properties_v8 v8;
    struct net_properties_v11 v11 = {.requests_joined_most = 0};
    struct net_properties_v12 v12 = {.rail = 0};
    int result = d->version == 8    ? TABLE(d, 8)->properties(device, &v8)
                 : d->version == 9  ? TABLE(d, 9)->properties(device, &v11.before)
                 : d->version == 10 ? TABLE(d, 10)->properties(device, &v11.before)
                 : d->version == 11 ? TABLE(d, 11)->properties(device, &v11)
                                    : TABLE(d, 11)->properties(device, &v12);

    must(result == NET_OK);
    if (d->version == 12)
        return v12;
    if (d->version == 8)
        return (struct net_properties_v12){.identity = v8.identity, .limits = v8.limits};
    return (struct net_properties_v12){
        .identity = v11.before.identity,
        .must_flush = v11.before.must_flush,
        .limits = v11.before.limits,
        .merged = {.count = v11.before.merged.count, .device = {v11.before.merged.device[0]}},
        .point_to_point_most = v11.before.point_to_point_most,
        .collective_most = v11.before.collective_most,
        .requests_joined_most = v11.requests_joined_most};
}

int driver_device(const struct driver *d, const char *name)
{
    int count = 0;

    must(EACH(d, devices)(&count) == NET_OK);
    for (int i = 0; i < count; i++)
        if (strcmp(driver_properties(d, i).identity.name, name) == 0)
            return i;
    return -1;
}

/* ---- calls ---- */

int driver_listen(const struct driver *d, void *handle, void **listener)
{
    return d->version == 8    ? TABLE(d, 8)->listen(0, handle, listener)
           : d->version == 9  ? TABLE(d, 9)->listen(0, handle, listener)
           : d->version == 10 ? TABLE(d, 10)->listen(0, handle, listener)
                              : TABLE(d, 11)->listen(d->context, 0, handle, listener);
}

int driver_connect(const struct driver *d, void *handle, void **sender)
{
    void *offload = NULL;
    int config = -1;

    return d->version == 8    ? TABLE(d, 8)->connect(0, handle, sender, &offload)
           : d->version == 9  ? TABLE(d, 9)->connect(0, handle, sender, &offload)
           : d->version == 10 ? TABLE(d, 10)->connect(0, &config, handle, sender, &offload)
                              : TABLE(d, 11)->connect(d->context, 0, handle, sender, &offload);
}

int driver_send(const struct driver *d, void *sender, void *memory, size_t size, void **request)
{
    return d->version == 8    ? TABLE(d, 8)->send(sender, memory, (int)size, 0, NULL, request)
           : d->version == 9  ? TABLE(d, 9)->send(sender, memory, size, 0, NULL, request)
           : d->version == 10 ? TABLE(d, 10)->send(sender, memory, size, 0, NULL, NULL, request)
                              : TABLE(d, 11)->send(sender, memory, size, 0, NULL, NULL, request);
}

int driver_receive(const struct driver *d, void *receiver, int count, void *memory, size_t size,
                   void **request)
{
    void *memories[2] = {memory, memory}, *none[2] = {NULL, NULL};
    size_t sizes[2] = {size, size};
    int sizes_v8[2] = {(int)size, (int)size}, tags[2] = {0, 0};

    if (d->version == 8)
        return TABLE(d, 8)->receive(receiver, count, memories, sizes_v8, tags, none, request);
    if (d->version == 9)
        return TABLE(d, 9)->receive(receiver, count, memories, sizes, tags, none, request);
    net_receive receive = d->version == 10 ? TABLE(d, 10)->receive : TABLE(d, 11)->receive;
    return receive(receiver, count, memories, sizes, tags, none, none, request);
}

int driver_accept(const struct driver *d, void *listener, void **receiver)
{
    void *offload = NULL;

    return EACH(d, accept)(listener, receiver, &offload);
}

struct net_registration driver_registration(const struct driver *d)
{
    return EACH(d, registration);
}

struct net_endings driver_endings(const struct driver *d)
{
    return EACH(d, endings);
}

/* ---- calls that NCCL repeats ---- */

static bool is_late(time_t since)
{
    (void)sched_yield();
    return time(NULL) > since + LIMIT_S;
}

int driver_connect_fully(const struct driver *d, void *handle, void **sender)
{
    time_t began = time(NULL);
    int result;

    do {
        result = driver_connect(d, handle, sender);
        must(!is_late(began));
    } while (result == NET_OK && *sender == NULL);
    return result;
}

int driver_accept_fully(const struct driver *d, void *listener, void **receiver)
{
    time_t began = time(NULL);
    int result;

    do {
        result = driver_accept(d, listener, receiver);
        must(!is_late(began));
    } while (result == NET_OK && *receiver == NULL);
    return result;
}

int driver_end(const struct driver *d, void *request, int *size)
{
    time_t began = time(NULL);
    int is_done = 0, result;

    do {
        result = driver_endings(d).test(request, &is_done, size);
        must(!is_late(began));
    } while (result == NET_OK && !is_done);
    return result;
}
