#include "ecn_path.h"

void ecn_path_init(struct ecn_path *p)
{
    *p = (struct ecn_path){.state = ECN_PATH_TESTING};
}

void ecn_path_on_arrived(struct ecn_path *p, uint32_t units, bool is_seen)
{
    if (p->state != ECN_PATH_TESTING)
        return;
    p->arrived += units < ECN_PATH_UNITS ? units : ECN_PATH_UNITS;
    if (is_seen)
        p->state = ECN_PATH_CAPABLE;
    else if (p->arrived >= ECN_PATH_UNITS)
        p->state = ECN_PATH_FAILED;
}

void ecn_path_on_timeout(struct ecn_path *p)
{
    if (p->state == ECN_PATH_TESTING && p->arrived == 0 && ++p->timeouts == ECN_PATH_TIMEOUTS)
        p->state = ECN_PATH_FAILED;
}
