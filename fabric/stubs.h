/* Calls that most objects of libfabric have, and that do nothing here. */
#ifndef FABRIC_STUBS_H
#define FABRIC_STUBS_H

#include <rdma/fabric.h>

/* -FI_ENOSYS. */
int no_bind(struct fid *fid, struct fid *other, uint64_t flags);
int no_control(struct fid *fid, int command, void *argument);
int no_ops(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

#endif
