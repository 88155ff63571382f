/* Both ends of a transfer in one process, for end-to-end tests: the public API, and libcheck. */
#ifndef ZCRP_TESTS_SUPPORT_ENDS_H
#define ZCRP_TESTS_SUPPORT_ENDS_H

#include "loopback.h"
#include "pattern.h"
#include "suite.h"
#include "zcrp.h"

#include <check.h>
#include <stddef.h>
#include <stdio.h>

#define ENDS_SECOND ((int64_t)1000000000)
#define ENDS_MILLISECOND (ENDS_SECOND / 1000)

struct ends {
    struct loopback sockets;
    struct zcrp_entity *sender;
    struct zcrp_entity *receiver;
};

static inline struct ends ends_open(enum loopback_kind kind, bool is_simplex,
                                    const struct zcrp_options *options)
{
    struct ends e = {.sockets = loopback_open(kind, is_simplex)};

    ck_assert_int_eq(zcrp_open_receiver(&e.receiver, e.sockets.receiver, options), 0);
    ck_assert_int_eq(zcrp_open_sender(&e.sender, e.sockets.sender, options), 0);
    return e;
}

static inline void ends_close(struct ends *e)
{
    ck_assert_int_eq(zcrp_close(e->sender), 0);
    ck_assert_int_eq(zcrp_close(e->receiver), 0);
    loopback_close(&e->sockets);
}

/* A message full of its pattern. */
static inline struct zcrp_msg *ends_filled(nlong size, uint64_t seed)
{
    struct zcrp_msg *m = zcrp_alloc_msg(size);

    ck_assert_ptr_nonnull(m);
    pattern_fill(m->buffer, size, seed);
    return m;
}

/* A message that has nothing of it. */
static inline struct zcrp_msg *ends_empty(nlong size)
{
    struct zcrp_msg *m = zcrp_alloc_msg(size);

    ck_assert_ptr_nonnull(m);
    memset(m->buffer, 0xEE, size);
    return m;
}

/* Waits for the message, within 30 seconds. */
static inline int ends_wait(struct zcrp_msg *m)
{
    return zcrp_wait_for(m, 30 * ENDS_SECOND);
}

/* What the two ends of a transfer counted. */
struct ends_transfer {
    struct zcrp_stats sent;
    struct zcrp_stats received;
};

/* One message from end to end, which are opened for it and closed after it. */
static inline struct ends_transfer ends_transfer(const struct loopback *sockets, nlong size,
                                                 const struct zcrp_options *of_sender,
                                                 const struct zcrp_options *of_receiver)
{
    struct zcrp_msg *from = ends_filled(size, 1), *to = ends_empty(size);
    struct zcrp_entity *sender, *receiver;
    struct ends_transfer counted;

    ck_assert_int_eq(zcrp_open_receiver(&receiver, sockets->receiver, of_receiver), 0);
    ck_assert_int_eq(zcrp_open_sender(&sender, sockets->sender, of_sender), 0);
    ck_assert_int_eq(zcrp_submit(receiver, to, size), 0);
    ck_assert_int_eq(zcrp_submit(sender, from, size), 0);
    ck_assert_int_eq(ends_wait(from), ZCRP_OK);
    ck_assert_int_eq(ends_wait(to), ZCRP_OK);
    ck_assert(pattern_holds(to->buffer, size, 1));
    ck_assert_int_eq(zcrp_stats(sender, &counted.sent), 0);
    ck_assert_int_eq(zcrp_stats(receiver, &counted.received), 0);
    ck_assert_int_eq(zcrp_close(sender), 0);
    ck_assert_int_eq(zcrp_close(receiver), 0);
    zcrp_free_msg(from);
    zcrp_free_msg(to);
    return counted;
}

/* Can there be ends? Says why not. */
static inline bool ends_are_permitted(void)
{
    if (!loopback_is_permitted())
        puts("no right to open a raw socket: CAP_NET_RAW");
    return loopback_is_permitted();
}

NEEDS(ends_are_permitted)

#endif
