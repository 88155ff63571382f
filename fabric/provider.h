/* The provider, and the libfabric that has loaded it.
 *
 * A process may hold several libfabrics (the system's, and one within a Python wheel), and the
 * layout of struct fi_info has versions. So nothing here is linked with libfabric. The provider
 * calls the functions of the library that called fi_prov_ini, each in the newest version there.
 * That library makes and frees each fi_info, in its own layout, whose beginning the provider knows.
 */
#ifndef FABRIC_PROVIDER_H
#define FABRIC_PROVIDER_H

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>
#include <stdbool.h>

/* Of struct fi_info. NULL: no memory. */
struct fi_info *host_dupinfo(const struct fi_info *info);
void host_freeinfo(struct fi_info *info);

/* Writes a line to libfabric's log (FI_LOG_LEVEL). */
void host_log(enum fi_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

int info_get(uint32_t version, const char *node, const char *service, uint64_t flags,
             const struct fi_info *hints, struct fi_info **info);
int fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

/* Counts what is opened in the fabric (1), and closed (-1). */
void fabric_use(struct fid_fabric *fabric, int change);

/* Is the fi_info, which a program may have made itself, one that an endpoint can be opened with? */
bool info_is_ours(const struct fi_info *info);

/* The error of libfabric, positive, that a code of zcrp.h is nearest to. */
int error_of_code(int code);

/* The same of what a completion says, or of an earlier call: errno is about something else by now.
 */
int error_of_end(int code);

/* Calls that most objects of libfabric have, and that do nothing here. -FI_ENOSYS. */
int no_bind(struct fid *fid, struct fid *other, uint64_t flags);
int no_control(struct fid *fid, int command, void *argument);
int no_ops(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

#endif
