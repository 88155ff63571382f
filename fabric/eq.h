/* An event queue. Address vectors insert at once and endpoints connect by themselves, so nothing is
 * ever told but what the program writes to it. */
#ifndef FABRIC_EQ_H
#define FABRIC_EQ_H

#include <rdma/fi_eq.h>

int eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq, void *context);

#endif
