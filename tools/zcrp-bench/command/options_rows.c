#include "zcrp-bench/command/options_rows.h"

#include <assert.h>

static const struct options_group *const groups[] = {
    &options_work,
    &options_channel,
    &options_ends,
    &options_report,
};

size_t options_rows(const struct options_row *rows[OPTIONS_ROWS_MOST])
{
    size_t count = 0;

    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        assert(count + groups[i]->count <= OPTIONS_ROWS_MOST);
        for (size_t row = 0; row < groups[i]->count; row++)
            rows[count++] = &groups[i]->rows[row];
    }
    return count;
}
