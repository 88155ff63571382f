#include "provider.h"

#include "zcrp.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static struct {
    uint32_t (*version)(void);
    struct fi_info *(*dupinfo)(const struct fi_info *info);
    void (*freeinfo)(struct fi_info *info);
    int (*log_enabled)(const struct fi_provider *provider, enum fi_log_level level,
                       enum fi_log_subsys subsystem);
    void (*log)(const struct fi_provider *provider, enum fi_log_level level,
                enum fi_log_subsys subsystem, const char *function, int line, const char *format,
                ...);
} host;

static struct fi_provider provider = {
    .version = FI_VERSION(ZCRP_VERSION / 10000, ZCRP_VERSION / 100 % 100),
    .name = "zcrp",
    .getinfo = info_get,
    .fabric = fabric_open,
};

struct fi_info *host_dupinfo(const struct fi_info *info)
{
    return host.dupinfo(info);
}

void host_freeinfo(struct fi_info *info)
{
    host.freeinfo(info);
}

void host_log(enum fi_log_level level, const char *format, ...)
{
    char line[512];
    va_list arguments;

    if (host.log == NULL || host.log_enabled == NULL ||
        !host.log_enabled(&provider, level, FI_LOG_CORE))
        return;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    host.log(&provider, level, FI_LOG_CORE, "zcrp", 0, "%s\n", line);
}

int error_of_code(int code)
{
    switch (code) {
    case ZCRP_OK:
        return 0;
    case ZCRP_ERROR_ARGUMENT:
        return FI_EINVAL;
    case ZCRP_ERROR_BUSY:
        return FI_EAGAIN;
    case ZCRP_ERROR_MEMORY:
        return FI_ENOMEM;
    case ZCRP_ERROR_SYSTEM:
        return errno != 0 ? errno : FI_EIO;
    case ZCRP_ERROR_ADDRESS:
        return FI_EADDRNOTAVAIL;
    case ZCRP_ERROR_REFUSED:
    case ZCRP_ERROR_NOT_ADMITTED:
        return FI_ECONNREFUSED;
    case ZCRP_ERROR_UNREACHABLE:
        return FI_EHOSTUNREACH;
    case ZCRP_ERROR_SILENT:
    case ZCRP_ERROR_STALLED:
    case ZCRP_ERROR_TIMEOUT:
        return FI_ETIMEDOUT;
    case ZCRP_ERROR_PEER_CANCELLED:
    case ZCRP_ERROR_RESTARTED:
    case ZCRP_ERROR_PEER_CLOSED:
    case ZCRP_ERROR_DIED:
    case ZCRP_ERROR_CUT_OFF:
        return FI_ECONNRESET;
    case ZCRP_ERROR_CANCELLED:
    case ZCRP_ERROR_CLOSED:
        return FI_ECANCELED;
    case ZCRP_ERROR_KEYS:
    case ZCRP_ERROR_NO_KEYS:
    case ZCRP_ERROR_EXPOSED:
        return FI_EACCES;
    case ZCRP_ERROR_FAULT:
        return FI_EFAULT;
    default:
        return FI_EIO;
    }
}

int error_of_end(int code)
{
    return code == ZCRP_ERROR_SYSTEM ? FI_EIO : error_of_code(code);
}

int no_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    (void)fid, (void)other, (void)flags;
    return -FI_ENOSYS;
}

int no_control(struct fid *fid, int command, void *argument)
{
    (void)fid, (void)command, (void)argument;
    return -FI_ENOSYS;
}

int no_ops(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
    (void)fid, (void)name, (void)flags, (void)ops, (void)context;
    return -FI_ENOSYS;
}

/* The library that the address belongs to. A program may have libfabric inside itself. */
static void *open_caller(void *address)
{
    Dl_info info;
    void *library = NULL;

    if (dladdr(address, &info) != 0)
        library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return library != NULL ? library : dlopen(NULL, RTLD_LAZY);
}

static bool find_host(void *caller)
{
    void *library = open_caller(caller);

    if (library == NULL)
        return false;
    *(void **)&host.version = dlsym(library, "fi_version");
    *(void **)&host.dupinfo = dlsym(library, "fi_dupinfo");
    *(void **)&host.freeinfo = dlsym(library, "fi_freeinfo");
    *(void **)&host.log_enabled = dlsym(library, "fi_log_enabled");
    *(void **)&host.log = dlsym(library, "fi_log");
    (void)dlclose(library); /* it stays: it is calling */
    return host.version != NULL && host.dupinfo != NULL && host.freeinfo != NULL;
}

/* libfabric leaves a provider out if the provider's libfabric is older than the one that the
 * program asks for. This one goes with each. */
FI_EXT_INI;
FI_EXT_INI
{
    if (!find_host(__builtin_return_address(0)))
        return NULL;
    provider.fi_version = host.version();
    return &provider;
}
