/* A queue of connections with keys: the listener's thread hears the handshakes, and takers receive
 * what is sealed. */
#include "../../support/house.h"
#include "../../support/shared_keys.h"

LOAD(asleep)

enum { PEERS = 6, BYTES = 20000, ROUNDS = 30 };

static struct zcrp_queue *q;

struct end {
    struct zcrp_connection *connection;
    struct zcrp_msg *in, *out;
    bool asks;
    uint64_t done;
};

static void say(struct end *e)
{
    pattern_fill(e->out->buffer, BYTES, e->done);
    ck_assert_int_eq(zcrp_submit(zcrp_connection_sender(e->connection), e->out, BYTES), ZCRP_OK);
}

static void hear(struct end *e)
{
    ck_assert_int_eq(zcrp_submit(zcrp_connection_receiver(e->connection), e->in, BYTES), ZCRP_OK);
}

static struct end *end_create(struct zcrp_connection *c, bool asks)
{
    struct end *e = calloc(1, sizeof(*e));

    *e = (struct end){
        .connection = c, .in = ends_empty(BYTES), .out = ends_empty(BYTES), .asks = asks};
    ck_assert_int_eq(zcrp_queue_add_connection(q, c, e), ZCRP_OK);
    hear(e);
    if (asks)
        say(e);
    return e;
}

/* True when both ends of a round are through: what was said has ended, and something was heard. */
static bool is_through(const struct end *e)
{
    return zcrp_probe(e->in) && (zcrp_probe(e->out) || (e->done == 0 && !e->asks));
}

/* True once it was the last round. */
static bool go_on(struct end *e)
{
    if (e->done == ROUNDS || !is_through(e))
        return false;
    ck_assert(pattern_holds(e->in->buffer, BYTES, e->done));
    if (!e->asks)
        say(e);
    e->done++;
    if (e->done < ROUNDS)
        hear(e);
    if (e->asks && e->done < ROUNDS)
        say(e);
    return e->done == ROUNDS;
}

TEST(queue_take__with_keys, .needs = has_keys)
{
    struct zcrp_options options = {.keys = shared("alice", key)};
    struct zcrp_options wrong = {.keys = shared("alice", other_key)};
    struct house h = house_open("127.0.0.1", &options);
    struct end *end[2 * PEERS];
    struct zcrp_connection *stranger, *c;
    int count = 0, done = 0, refused = 0;

    ck_assert_int_eq(zcrp_queue_open(&q), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add_listener(q, h.listener, NULL), ZCRP_OK);
    for (int i = 0; i < PEERS; i++) {
        ck_assert_int_eq(house_connect(&h, &c, &options, 0), ZCRP_OK);
        end[count++] = end_create(c, true);
    }
    ck_assert_int_eq(house_connect(&h, &stranger, &wrong, 0), ZCRP_OK);
    ck_assert_int_eq(zcrp_queue_add_connection(q, stranger, NULL), ZCRP_OK);
    while (done < 2 * PEERS || refused == 0) {
        struct zcrp_completion told;
        ck_assert_int_eq(zcrp_queue_take(q, &told, 1, 20 * ENDS_SECOND), 1);
        if (told.kind == ZCRP_PEER_CALLED) {
            ck_assert_int_eq(zcrp_accept(h.listener, &c, 0), ZCRP_OK);
            end[count++] = end_create(c, false);
        } else if (told.kind == ZCRP_CONNECTION_ENDED) {
            ck_assert_ptr_eq(told.connection, stranger);
            ck_assert_int_eq(told.code, ZCRP_ERROR_KEYS);
            refused++;
        } else if (told.kind == ZCRP_MESSAGE_ENDED) {
            ck_assert_int_eq(told.code, ZCRP_OK);
            done += go_on(told.context);
        }
    }
    for (int i = 0; i < count; i++) {
        (void)zcrp_connection_close(end[i]->connection);
        zcrp_free_msg(end[i]->in);
        zcrp_free_msg(end[i]->out);
        free(end[i]);
    }
    (void)zcrp_connection_close(stranger);
    ck_assert_int_eq(zcrp_queue_close(q), ZCRP_OK);
    (void)zcrp_listener_close(h.listener);
    zcrp_keys_free(options.keys);
    zcrp_keys_free(wrong.keys);
}
