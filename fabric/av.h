/* An address vector: what fi_addr_t stands for, as a table or as a map, which here is a table, too.
 */
#ifndef FABRIC_AV_H
#define FABRIC_AV_H

#include "address.h"
#include "domain.h"

#include <rdma/fi_domain.h>

struct av_entry {
    bool is_used;
    struct address address;
};

struct av {
    struct fid_av fid;
    struct domain *domain;
    struct av_entry *entries; /* by fi_addr_t */
    size_t count, room;
    size_t unused;         /* of the count, which may be used again */
    struct list endpoints; /* struct ep, that it is bound to */
};

int av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av, void *context);

/* NULL: there is no such address. Within the mutex. */
const struct address *av_address(const struct av *av, fi_addr_t number);

/* The lowest number that stands for the address, or FI_ADDR_NOTAVAIL. Within the mutex. */
fi_addr_t av_number(const struct av *av, const struct address *a);

#endif
