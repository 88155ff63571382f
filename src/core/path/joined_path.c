#include "joined_path.h"

bool joined_path_on_wrong(struct joined_path *p, instant now)
{
    if (p->is_left || ++p->wrong < JOINED_PATH_WRONG)
        return false;
    p->wrong = 0;
    p->is_left = true;
    p->retry = now + JOINED_PATH_RETRY;
    return true;
}
