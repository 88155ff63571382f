/* Memory regions. ZCRP reads and writes any memory of the program, so registering does nothing; it
 * is there for programs that register whatever they are told. No peer reaches a region. */
#ifndef FABRIC_MR_H
#define FABRIC_MR_H

#include <rdma/fi_domain.h>

extern struct fi_ops_mr mr_ops;

#endif
