#include "transport/udp/socket.h"

#include "../../support/suite.h"

#include <errno.h>

static const struct {
    int error;
    enum channel_verdict verdict;
    enum channel_counter counter; /* CHANNEL_COUNTERS: none */
} row[] = {
    {EAGAIN, CHANNEL_BLOCKED, CHANNEL_BLOCKS},
    {EWOULDBLOCK, CHANNEL_BLOCKED, CHANNEL_BLOCKS},
    {ENOBUFS, CHANNEL_CROWDED, CHANNEL_CROWDS},
    {ENOMEM, CHANNEL_CROWDED, CHANNEL_CROWDS},
    {EMSGSIZE, CHANNEL_TOO_BIG, CHANNEL_TOO_BIGS},
    {ECONNREFUSED, CHANNEL_REFUSED, CHANNEL_REFUSALS},
    {ECONNRESET, CHANNEL_REFUSED, CHANNEL_REFUSALS},
    {ENOTCONN, CHANNEL_REFUSED, CHANNEL_REFUSALS},
    {EDESTADDRREQ, CHANNEL_REFUSED, CHANNEL_REFUSALS},
    {EHOSTUNREACH, CHANNEL_REFUSED, CHANNEL_REFUSALS},
    {EHOSTDOWN, CHANNEL_REFUSED, CHANNEL_REFUSALS},
    {ENETUNREACH, CHANNEL_REFUSED, CHANNEL_REFUSALS},
    {ENETDOWN, CHANNEL_REFUSED, CHANNEL_REFUSALS},
    {ENONET, CHANNEL_REFUSED, CHANNEL_REFUSALS},
    {ENOPROTOOPT, CHANNEL_REFUSED, CHANNEL_REFUSALS},
    {EOPNOTSUPP, CHANNEL_REFUSED, CHANNEL_REFUSALS},
    {EPROTO, CHANNEL_REFUSED, CHANNEL_REFUSALS},
    {EACCES, CHANNEL_REFUSED, CHANNEL_REFUSALS},
    {EPERM, CHANNEL_REFUSED, CHANNEL_REFUSALS},
    {EBADF, CHANNEL_BROKEN, CHANNEL_COUNTERS},
    {ENOTSOCK, CHANNEL_BROKEN, CHANNEL_COUNTERS},
    {EPIPE, CHANNEL_BROKEN, CHANNEL_COUNTERS},
    {EFAULT, CHANNEL_FAULT, CHANNEL_FAULTS},
    {EINVAL, CHANNEL_REFUSED, CHANNEL_REFUSALS},
    {EADDRNOTAVAIL, CHANNEL_REFUSED, CHANNEL_REFUSALS},
    {ENODEV, CHANNEL_REFUSED, CHANNEL_REFUSALS},
    {ENOKEY, CHANNEL_REFUSED, CHANNEL_REFUSALS},
    {EIO, CHANNEL_BROKEN, CHANNEL_COUNTERS},
};

/* A socket that is bound anew when its own address is gone counts how often it was. */
TEST(fault_note__own_address_is_gone)
{
    static const int errors[] = {EINVAL, EADDRNOTAVAIL, ENETUNREACH, ENETDOWN, ENODEV};
    struct channel c = {.fd = -1, .may_rebind = true};

    for (int i = 0; i < ROWS(errors); i++)
        ck_assert_int_eq(fault_note(&c, errors[i]), CHANNEL_REFUSED);
    ck_assert_uint_eq(channel_count(&c, CHANNEL_HOMELESS), ROWS(errors));
    ck_assert_uint_eq(channel_count(&c, CHANNEL_REFUSALS), ROWS(errors));
    ck_assert_int_eq(fault_note(&c, EHOSTUNREACH), CHANNEL_REFUSED);
    ck_assert_uint_eq(channel_count(&c, CHANNEL_HOMELESS), ROWS(errors));
}

/* A local socket has no address that may come back. */
TEST(fault_note__of_a_local_socket, .rows = 2)
{
    const int error = _i == 0 ? EINVAL : EADDRNOTAVAIL;
    struct channel c = {.fd = -1, .kind = CHANNEL_UNIX};

    ck_assert_int_eq(fault_note(&c, error), CHANNEL_BROKEN);
}

TEST(fault_note__table, .rows = sizeof(row) / sizeof(row[0]))
{
    struct channel c = {.fd = -1};

    ck_assert_int_eq(fault_note(&c, row[_i].error), row[_i].verdict);
    for (int i = 0; i < CHANNEL_COUNTERS; i++) {
        enum channel_counter counter = (enum channel_counter)i;
        bool is_port = counter == CHANNEL_CLOSED_PORTS && row[_i].error == ECONNREFUSED;
        ck_assert_uint_eq(channel_count(&c, counter), is_port || counter == row[_i].counter);
    }
}
