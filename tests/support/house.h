/* A listener and connections to it, both ends in one process, for end-to-end tests. They carry AAL5
 * where ZCRP_TEST_CHANNEL says so (loopback.h), in cells over UDP, as raw sockets have no ports. */
#ifndef ZCRP_TESTS_SUPPORT_HOUSE_H
#define ZCRP_TESTS_SUPPORT_HOUSE_H

#include "ends.h"

/* A listener and the port that it was given. */
struct house {
    struct zcrp_listener *listener;
    char port[8];
};

/* The two ends of a connection. */
struct both {
    struct zcrp_connection *there, *here;
};

/* The options (NULL: none) with the channel of the tests, unless they name one. */
static inline struct zcrp_options house_options(const struct zcrp_options *given)
{
    struct zcrp_options options = given != NULL ? *given : (struct zcrp_options){0};

    if (loopback_is_aal5() && options.channel == ZCRP_CHANNEL_AUTO)
        options.channel = ZCRP_CHANNEL_AAL5;
    return options;
}

static inline struct house house_open(const char *host, const struct zcrp_options *given)
{
    const struct zcrp_options options = house_options(given);
    struct house h;

    ck_assert_int_eq(zcrp_listen(&h.listener, host, "0", &options), ZCRP_OK);
    snprintf(h.port, sizeof h.port, "%d", zcrp_listener_port(h.listener));
    return h;
}

/* Connects, and waits for the peer for `timeout_ns`; the code. */
static inline int house_connect(const struct house *h, struct zcrp_connection **c,
                                const struct zcrp_options *given, int64_t timeout_ns)
{
    const struct zcrp_options options = house_options(given);

    return zcrp_connect(c, "127.0.0.1", h->port, &options, timeout_ns);
}

static inline struct both house_meet(const struct house *h, const struct zcrp_options *given)
{
    struct both b;

    ck_assert_int_eq(house_connect(h, &b.there, given, 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_accept(h->listener, &b.here, 5 * ENDS_SECOND), ZCRP_OK);
    return b;
}

static inline void house_part(const struct both *b)
{
    (void)zcrp_connection_close(b->there);
    (void)zcrp_connection_close(b->here);
}

/* One message from one end to the other. */
static inline void house_pass(struct zcrp_connection *from, struct zcrp_connection *to, nlong size,
                              uint64_t seed)
{
    const struct ends e = {.sender = zcrp_connection_sender(from),
                           .receiver = zcrp_connection_receiver(to)};

    ends_move(&e, size, seed);
}

#endif
