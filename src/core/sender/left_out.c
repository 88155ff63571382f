#include "left_out.h"

#include "core/check.h"

void left_out_init(struct left_out *l, struct table memory, struct secret *secret)
{
    CHECK(table_is_for_ring(&memory));
    *l = (struct left_out){.number = (void *)memory.near,
                           .units = secret_draw_between(secret, LEFT_OUT_LEAST, LEFT_OUT_MOST),
                           .table = memory};
}

static uint64_t number_at(const struct left_out *l, uint64_t i)
{
    return l->number[i & (l->table.size - 1)];
}

static uint64_t oldest_kept(const struct left_out *l)
{
    return l->count < l->table.size ? 0 : l->count - l->table.size;
}

void left_out_add(struct left_out *l, uint64_t number, struct secret *secret, uint64_t most)
{
    CHECK(l->count == 0 || number_at(l, l->count - 1) < number);
    most = most < LEFT_OUT_LEAST ? LEFT_OUT_LEAST : most;
    most = most > LEFT_OUT_MOST ? LEFT_OUT_MOST : most;
    if (l->count == l->table.size && l->table.size < l->table.large)
        l->number = table_grow(&l->table, 0, l->count);
    l->number[l->count++ & (l->table.size - 1)] = number;
    l->units = secret_draw_between(secret, LEFT_OUT_LEAST, most);
}

bool left_out_has(const struct left_out *l, uint64_t first, uint64_t last)
{
    uint64_t low = oldest_kept(l);
    uint64_t high = l->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (number_at(l, middle) < first)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->count && number_at(l, low) < last;
}

void left_out_check(const struct left_out *l)
{
    for (uint64_t i = oldest_kept(l) + 1; i < l->count; i++)
        CHECK(number_at(l, i - 1) < number_at(l, i));
}
