#include "zcrp-link/ends.h"

#include "../../support/suite.h"

#include <string.h>

static const char tcp[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
    "   0: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0\n"
    "  12: 00000000:1388 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n";
static const char tcp6[] =
    "  sl  local_address                         remote_address                        st\n"
    "   0: 00000000000000000000000000000000:1388 00000000000000000000000000000000:0000 0A 0\n";
static const char udp[] =
    "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
    "  102: 00000000:1B58 00000000:0000 07 00000000:00000000 00:00000000 00000000     0\n";

static const struct {
    const char *table;
    bool is_tcp;
    unsigned port;
    bool expected;
} rows[] = {
    {tcp, true, 0, true},        {tcp, true, 0x1388, true},
    {tcp, true, 0x1F90, false}, /* connected, and so not listening */
    {tcp, true, 1, false},       {tcp6, true, 0x1388, true},
    {tcp6, true, 0x1389, false}, {udp, false, 0, true},
    {udp, false, 7000, true},    {udp, false, 7001, false},
    {"", true, 0, false},        {"nonsense\n\n", true, 0, false},
};

TEST(ends_table_has__table, .rows = sizeof rows / sizeof *rows)
{
    char copy[1024];
    strcpy(copy, rows[_i].table);
    FILE *table = fmemopen(copy, strlen(copy) + 1, "r");
    ck_assert_int_eq(ends_table_has(table, rows[_i].is_tcp, rows[_i].port), rows[_i].expected);
    fclose(table);
}
