#include "bottleneck.h"

void bottleneck_init(struct bottleneck *b, uint64_t rate, duration limit)
{
    *b = (struct bottleneck){.rate = rate, .limit = limit, .free_at = INT64_MIN};
}

bool bottleneck_enter(struct bottleneck *b, instant now, uint32_t bytes, instant *leaves)
{
    uint64_t bits_ns = bytes * UINT64_C(8) * (uint64_t)SECOND;
    bool is_idle = b->free_at <= now;
    instant starts = is_idle ? now : b->free_at;
    uint64_t carry = is_idle ? 0 : b->carry;
    instant ends;

    if (b->rate == 0) {
        *leaves = now;
        return true;
    }
    ends = starts + (duration)((bits_ns + carry) / b->rate);
    if (!is_idle && ends - now > b->limit)
        return false;
    b->free_at = ends;
    b->carry = (bits_ns + carry) % b->rate;
    *leaves = ends;
    return true;
}
