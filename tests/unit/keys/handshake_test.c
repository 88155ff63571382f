#include "core/keys/handshake.h"

#include "../../support/fake_cipher.h"
#include "../../support/random.h"
#include "../../support/secret.h"
#include "../../support/suite.h"

enum { TAG = 11, NONCE = 77, COOKIE = 5 };

static struct handshake client, server;
static struct fake_keys keys[4];
static uint8_t datagram[HANDSHAKE_BYTES];
static instant now;

static void set_up(void)
{
    for (int i = 0; i < 4; i++)
        keys[i] = (struct fake_keys){.secret = 1 + (uint64_t)(i / 2)};
    now = SECOND;
    handshake_init(&client, true, TAG, NONCE, now);
    handshake_init(&server, false, TAG, NONCE, now);
}

FIXTURE(set_up, NULL)

static void use_keys(void)
{
    handshake_use_keys(&client, &fake_cipher, &keys[0], &keys[2]);
    handshake_use_keys(&server, &fake_cipher, &keys[3], &keys[1]);
}

static void give_cookie(void)
{
    const struct cookie_answer answer = {.pairing = {.tag = TAG}, .nonce = NONCE, .cookie = COOKIE};
    ck_assert(handshake_on_cookie(&client, now, &answer));
}

static void write_bytes(struct handshake *h, enum handshake_level level, size_t count)
{
    static uint8_t bytes[HANDSHAKE_ROOM];
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(i * 7 + (size_t)level);
    ck_assert(handshake_write(h, now, level, bytes, count));
}

/* All that the other side has to say is heard, but for `lose`, which counts down. */
static uint32_t deliver(struct handshake *from, struct handshake *to, int lose)
{
    uint32_t heard = 0;
    for (;;) {
        bool has_datagram = handshake_has_datagram(from);
        size_t size = handshake_take(from, datagram);
        ck_assert_int_eq(has_datagram, size > 0);
        if (size == 0)
            return heard;
        heard += --lose < 0 && handshake_hear(to, now, datagram, size);
    }
}

static void expect(struct handshake *h, enum handshake_level level, size_t count)
{
    const uint8_t *bytes;
    ck_assert_uint_eq(handshake_read(h, level, &bytes), count);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(bytes[i], (uint8_t)(i * 7 + (size_t)level));
}

static void expire(struct handshake *h)
{
    ck_assert_int_ne(handshake_deadline(h), NEVER);
    now = handshake_deadline(h);
    handshake_expire(h, now);
}

TEST(handshake_has_cookie__of_this_peer)
{
    const struct cookie_jar jar = jar_of_seed(1);
    const struct cookie_owner owner = {.peer = 3, .nonce = NONCE, .pairing = {.tag = TAG}};
    struct handshake_datagram d = {
        .tag = TAG, .nonce = NONCE, .cookie = cookie_make(&jar, &owner, now)};
    handshake_encode(datagram, &d);
    ck_assert(handshake_has_cookie(&jar, 3, now, datagram, TRAILER_BYTES));
    ck_assert(!handshake_has_cookie(&jar, 4, now, datagram, TRAILER_BYTES));
    ck_assert(!handshake_has_cookie(&jar, 3, now + 3 * COOKIE_SLOT, datagram, TRAILER_BYTES));
    ck_assert(!handshake_has_cookie(&jar, 3, now, datagram, TRAILER_BYTES - 1));
    d.flags = HANDSHAKE_ANSWERS;
    handshake_encode(datagram, &d);
    ck_assert(!handshake_has_cookie(&jar, 3, now, datagram, TRAILER_BYTES));
    d.flags = HANDSHAKE_SECOND; /* that is a number */
    handshake_encode(datagram, &d);
    ck_assert(!handshake_has_cookie(&jar, 3, now, datagram, TRAILER_BYTES));
}

TEST(handshake_disown__of_a_connecting_side_that_ends)
{
    const struct cookie_jar jar = jar_of_seed(1);
    const struct cookie_owner owner = {.peer = 3, .nonce = NONCE, .pairing = {.tag = TAG}};
    struct handshake_datagram d = {.tag = TAG, .nonce = NONCE, .flags = HANDSHAKE_SECOND};
    struct cookie_answer answer;
    uint8_t out[TRAILER_BYTES];
    ck_assert(handshake_disown(&jar, 3, now, &d, out));
    ck_assert_int_eq(cookie_answer_decode(out, sizeof out, &answer), VERDICT_OK);
    ck_assert_uint_eq(answer.pairing.tag, TAG);
    ck_assert_uint_eq(answer.pairing.session, 0);
    ck_assert_uint_eq(answer.nonce, NONCE);
    ck_assert(cookie_is_good(&jar, &owner, now, answer.cookie));
    for (d.flags = 0; d.flags < 8; d.flags++)
        ck_assert(handshake_disown(&jar, 3, now, &d, out) == (d.flags == HANDSHAKE_SECOND));
}

TEST(handshake_refuse_hello__by_its_name)
{
    const struct hello hello = {.pairing = {.tag = TAG}, .nonce = NONCE};
    struct handshake_datagram d;
    uint8_t out[TRAILER_BYTES];
    size_t count, size = hello_encode(datagram, sizeof datagram, &hello);
    ck_assert(!handshake_refuse_hello(datagram, size - 1, out));
    ck_assert(handshake_refuse_hello(datagram, size, out));
    ck_assert_int_eq(handshake_decode(out, TRAILER_BYTES, &d, &count), VERDICT_OK);
    ck_assert_uint_eq(d.tag, TAG);
    ck_assert_uint_eq(d.nonce, NONCE);
    ck_assert_int_eq(d.flags, HANDSHAKE_ANSWERS | HANDSHAKE_REFUSES);
}

TEST(handshake_take__hello_first)
{
    struct hello hello;
    for (int i = 0; i < 4; i++) {
        ck_assert_uint_eq(handshake_take(&client, datagram), TRAILER_BYTES);
        ck_assert_int_eq(hello_decode(datagram, TRAILER_BYTES, &hello), VERDICT_OK);
        ck_assert_uint_eq(hello.nonce, NONCE);
        ck_assert_uint_eq(hello.pairing.tag, TAG);
        ck_assert_uint_eq(handshake_take(&client, datagram), 0);
        expire(&client);
    }
    give_cookie();
    ck_assert(!handshake_has_datagram(&client));
    ck_assert_uint_eq(handshake_take(&client, datagram), 0);
}

TEST(handshake_on_cookie__of_this_question)
{
    struct cookie_answer answer = {.pairing = {.tag = TAG}, .nonce = NONCE + 1, .cookie = COOKIE};
    ck_assert(!handshake_on_cookie(&client, now, &answer));
    answer.nonce = NONCE;
    answer.pairing.tag++;
    ck_assert(!handshake_on_cookie(&client, now, &answer));
    give_cookie();
    answer.pairing.tag = TAG;
    ck_assert(!handshake_on_cookie(&client, now, &answer)); /* one is enough */
    ck_assert_uint_eq(client.dropped, 3);
}

/* Without it the other side would forget who asks. */
TEST(handshake_take__shows_the_cookie)
{
    struct handshake_datagram d;
    size_t bytes;
    give_cookie();
    write_bytes(&client, HANDSHAKE_LEVEL_FIRST, 10);
    size_t size = handshake_take(&client, datagram);
    ck_assert_int_eq(handshake_decode(datagram, size, &d, &bytes), VERDICT_OK);
    ck_assert_uint_eq(d.cookie, COOKIE);
    ck_assert_uint_eq(d.nonce, NONCE);
    ck_assert_uint_eq(d.tag, TAG);
    ck_assert_uint_eq(bytes, 10);
}

TEST(handshake_hear__bytes_of_both_levels)
{
    give_cookie();
    write_bytes(&client, HANDSHAKE_LEVEL_FIRST, 230);
    ck_assert_uint_eq(deliver(&client, &server, 0), 1);
    expect(&server, HANDSHAKE_LEVEL_FIRST, 230);
    use_keys();
    write_bytes(&server, HANDSHAKE_LEVEL_FIRST, 120);
    write_bytes(&server, HANDSHAKE_LEVEL_SECOND, 5000);
    ck_assert_uint_eq(deliver(&server, &client, 0), 6);
    expect(&client, HANDSHAKE_LEVEL_FIRST, 120);
    expect(&client, HANDSHAKE_LEVEL_SECOND, 5000);
    handshake_check(&client);
    write_bytes(&client, HANDSHAKE_LEVEL_SECOND, 36);
    handshake_end(&client);
    ck_assert_uint_eq(deliver(&client, &server, 0), 1);
    expect(&server, HANDSHAKE_LEVEL_SECOND, 36);
    handshake_end(&server);
    ck_assert_int_eq(handshake_deadline(&server), NEVER);
    ck_assert_int_ne(handshake_deadline(&client), NEVER); /* it repeats, until it is told */
}

/* What the other side has is not repeated; what it has not is, by the timer. */
TEST(handshake_expire__repeats_what_is_missing)
{
    give_cookie();
    write_bytes(&client, HANDSHAKE_LEVEL_FIRST, 3000);
    for (int i = 0; i < 3; i++) {
        deliver(&client, &server, 3);
        ck_assert_uint_eq(handshake_take(&client, datagram), 0);
        expire(&client);
    }
    ck_assert_uint_eq(deliver(&client, &server, 1), 2); /* the first is lost */
    expect(&server, HANDSHAKE_LEVEL_FIRST, 0);
    expire(&client);
    ck_assert_uint_eq(deliver(&client, &server, 0), 3);
    expect(&server, HANDSHAKE_LEVEL_FIRST, 3000);
    write_bytes(&server, HANDSHAKE_LEVEL_FIRST, 10);
    deliver(&server, &client, 0);
    ck_assert_int_eq(handshake_deadline(&client), NEVER); /* the other side has all */
}

/* After 50 ms, then after twice as long each time, and in the end every 500 ms. */
static void expect_repeats(void)
{
    static const int expected[] = {50, 100, 200, 400, 500, 500};
    for (int i = 0; i < ROWS(expected); i++) {
        ck_assert_int_eq(handshake_deadline(&client) - now, expected[i] * MILLISECOND);
        handshake_expire(&client, handshake_deadline(&client) - 1); /* is too early */
        expire(&client);
    }
}

TEST(handshake_expire__hellos_become_rarer)
{
    expect_repeats();
}

TEST(handshake_expire__fragments_become_rarer)
{
    give_cookie();
    ck_assert_int_eq(handshake_deadline(&client), NEVER); /* there is nothing to repeat */
    write_bytes(&client, HANDSHAKE_LEVEL_FIRST, 10);
    expect_repeats();
    write_bytes(&client, HANDSHAKE_LEVEL_FIRST, 10);
    expect_repeats();
}

/* What was written before the cookie came leaves with it, and again 50 ms later. */
TEST(handshake_on_cookie__begins_to_repeat)
{
    write_bytes(&client, HANDSHAKE_LEVEL_FIRST, 10);
    expire(&client);
    expire(&client);
    give_cookie();
    expect_repeats();
}

/* Both sides, both levels, half of all datagrams lost, repeated or out of order. */
TEST(handshake_hear__any_order, .rows = 20)
{
    enum { HELD = 64 };
    static uint8_t held[HELD][HANDSHAKE_BYTES];
    size_t size[HELD], bytes = 0, more;
    uint64_t state = (uint64_t)_i;
    const uint8_t *read;
    give_cookie();
    use_keys();
    write_bytes(&client, HANDSHAKE_LEVEL_FIRST, 2500);
    write_bytes(&client, HANDSHAKE_LEVEL_SECOND, HANDSHAKE_ROOM);
    for (int round = 0; round < 60 && bytes < HANDSHAKE_ROOM; round++) {
        int count = 0;
        while (count < HELD && (size[count] = handshake_take(&client, held[count])) > 0)
            count++;
        for (int i = 0; i < count; i++) {
            uint64_t at = random_below(&state, (uint64_t)count);
            handshake_hear(&server, now, held[at], size[at]);
        }
        while ((more = handshake_read(&server, HANDSHAKE_LEVEL_SECOND, &read)) > 0)
            for (size_t i = 0; i < more; i++, bytes++)
                ck_assert_uint_eq(read[i], (uint8_t)(bytes * 7 + 1));
        handshake_check(&server);
        expire(&client);
    }
    ck_assert_uint_eq(bytes, HANDSHAKE_ROOM);
}

/* Each bit flipped: what is sealed is dropped; what is not changes no other handshake. */
TEST(handshake_hear__each_bit_counts)
{
    give_cookie();
    use_keys();
    write_bytes(&client, HANDSHAKE_LEVEL_SECOND, 40);
    size_t size = handshake_take(&client, datagram);
    struct handshake before = server;
    for (size_t bit = 0; bit < 8 * size; bit++) {
        datagram[bit / 8] ^= (uint8_t)(1 << bit % 8);
        bool is_level = bit == 8 * (size - 2); /* then it is of the first, which nobody seals */
        if (!is_level) {
            ck_assert(!handshake_hear(&server, now, datagram, size));
            ck_assert_uint_eq(server.dropped, 1);
        }
        server.dropped = server.second_in.forged = server.second_in.replayed = 0;
        if (!is_level)
            ck_assert_mem_eq(&server, &before, sizeof before);
        datagram[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    ck_assert(handshake_hear(&server, now, datagram, size));
    ck_assert(!handshake_hear(&server, now, datagram, size)); /* replayed */
    ck_assert(!handshake_hear(&client, now, datagram, size)); /* back to its sender */
}

TEST(handshake_refuse__is_believed_at_once_if_proven)
{
    give_cookie();
    use_keys();
    write_bytes(&client, HANDSHAKE_LEVEL_FIRST, 40);
    handshake_refuse(&server);
    ck_assert_uint_eq(deliver(&server, &client, 0), 1);
    ck_assert_int_eq(client.phase, HANDSHAKE_REFUSED);
    ck_assert_uint_eq(deliver(&client, &server, 0), 0);
    ck_assert_int_eq(handshake_deadline(&client), NEVER);
}

/* Whoever goes on is told again, and nothing of it is read. */
TEST(handshake_refuse__whenever_it_is_heard)
{
    give_cookie();
    write_bytes(&client, HANDSHAKE_LEVEL_FIRST, 40);
    handshake_refuse(&server);
    for (int i = 0; i < 3; i++) {
        size_t size = handshake_take(&server, datagram);
        ck_assert_uint_eq(size, TRAILER_BYTES);
        ck_assert(!handshake_has_datagram(&server));
        ck_assert_uint_eq(deliver(&client, &server, 0), 1);
        expect(&server, HANDSHAKE_LEVEL_FIRST, 0);
        expire(&client);
    }
}

/* Who waits for nothing else waits for that. */
TEST(handshake_refuse__unproven_counts_later_beside_nothing)
{
    give_cookie();
    handshake_refuse(&server);
    ck_assert_uint_eq(deliver(&server, &client, 0), 1);
    ck_assert_int_gt(handshake_deadline(&client), now);
    expire(&client);
    ck_assert_int_eq(client.phase, HANDSHAKE_REFUSED);
    ck_assert_int_eq(handshake_deadline(&client), NEVER);
}

/* Anybody who reads the path may have said it. */
TEST(handshake_refuse__unproven_counts_later)
{
    give_cookie();
    write_bytes(&client, HANDSHAKE_LEVEL_FIRST, 40);
    struct handshake other = server;
    handshake_refuse(&other);
    ck_assert_uint_eq(deliver(&other, &client, 0), 1);
    ck_assert_int_eq(client.phase, HANDSHAKE_TALKS);
    write_bytes(&server, HANDSHAKE_LEVEL_FIRST, 40);
    ck_assert_uint_eq(deliver(&server, &client, 0), 1);
    ck_assert_int_eq(client.refusal, NEVER); /* the right one has spoken */
    handshake_refuse(&other);
    deliver(&other, &client, 0);
    while (client.phase == HANDSHAKE_TALKS)
        expire(&client);
    ck_assert_int_eq(client.phase, HANDSHAKE_REFUSED);
}

static const struct {
    const char *what;
    size_t at;
    uint8_t value;
} wrong[] = {
    {"session", TAIL_AT + 3, 1},          {"place", 17, 1},
    {"beyond the room", 16, 0x30},        {"flags", TRAILER_BYTES - 2, 8},
    {"version", TRAILER_BYTES - 1, 0x39},
};

TEST(handshake_decode__malformed, .rows = ROWS(wrong))
{
    struct handshake_datagram d = {.tag = TAG, .nonce = NONCE, .cookie = COOKIE}, read;
    size_t bytes;
    handshake_encode(datagram, &d);
    ck_assert_int_eq(handshake_decode(datagram, TRAILER_BYTES, &read, &bytes), VERDICT_OK);
    datagram[wrong[_i].at] = wrong[_i].value;
    memmove(datagram + 1, datagram, TRAILER_BYTES); /* with a byte of content */
    ck_assert_int_ne(handshake_decode(datagram, TRAILER_BYTES + 1, &read, &bytes), VERDICT_OK);
}

/* ---- streams ---- */

/* Bytes [first, last) of a stream. */
static bool write_part(struct handshake *h, enum handshake_level level, size_t first, size_t last)
{
    static uint8_t bytes[HANDSHAKE_ROOM + 1];
    for (size_t i = first; i < last; i++)
        bytes[i] = (uint8_t)(i * 7 + (size_t)level);
    return handshake_write(h, now, level, bytes + first, last - first);
}

TEST(handshake_write__no_more_than_there_is_room_for)
{
    give_cookie();
    ck_assert(write_part(&client, HANDSHAKE_LEVEL_FIRST, 0, HANDSHAKE_ROOM));
    ck_assert(!write_part(&client, HANDSHAKE_LEVEL_FIRST, HANDSHAKE_ROOM, HANDSHAKE_ROOM + 1));
    ck_assert_uint_eq(deliver(&client, &server, 0), HANDSHAKE_PIECES);
    expect(&server, HANDSHAKE_LEVEL_FIRST, HANDSHAKE_ROOM);
}

/* A piece that was sent grows, also where it begins. */
TEST(handshake_write__goes_on_in_a_piece)
{
    static const size_t ends[] = {10, 11, 1000, 1030, 2048, 2050, 5000};
    size_t at = 0;
    give_cookie();
    for (int i = 0; i < ROWS(ends); i++) {
        ck_assert(write_part(&client, HANDSHAKE_LEVEL_FIRST, at, ends[i]));
        ck_assert_uint_gt(deliver(&client, &server, 0), 0);
        handshake_check(&server);
        at = ends[i];
    }
    expect(&server, HANDSHAKE_LEVEL_FIRST, at);
}

/* There is no key (any more): then nothing leaves. */
TEST(handshake_take__without_a_key)
{
    give_cookie();
    use_keys();
    keys[0].forgotten = 1;
    write_bytes(&client, HANDSHAKE_LEVEL_SECOND, 10);
    ck_assert_uint_eq(handshake_take(&client, datagram), 0);
}

/* ---- what is heard ---- */

/* The server says so much, in the clear. */
static bool hear_from_server(struct handshake_datagram d)
{
    d.flags ^= HANDSHAKE_ANSWERS;
    handshake_encode(datagram, &d);
    bool is_heard = handshake_hear(&client, now, datagram, TRAILER_BYTES);
    handshake_check(&client);
    return is_heard;
}

/* In the clear, too, each datagram has to name this handshake, and to come from its other side. */
TEST(handshake_hear__of_another_handshake)
{
    const struct handshake_datagram right = {.tag = TAG, .nonce = NONCE};
    ck_assert(!hear_from_server(right)); /* the client has no cookie */
    give_cookie();
    ck_assert(hear_from_server(right));
    for (int i = 0; i < 3; i++) {
        struct handshake_datagram d = right;
        d.tag += i == 0;
        d.nonce += i == 1;
        d.flags = i == 2 ? HANDSHAKE_ANSWERS : 0;
        ck_assert(!hear_from_server(d));
        ck_assert_uint_eq(client.dropped, (uint64_t)i + 2);
    }
}

/* Too short to name one. */
TEST(handshake_hear__short)
{
    uint8_t bytes[TRAILER_BYTES] = {0};
    give_cookie();
    bytes[TRAILER_BYTES - 1] = datagram_last_byte(DATAGRAM_HANDSHAKE);
    for (size_t size = 1; size < TRAILER_BYTES; size++) {
        ck_assert(!handshake_hear(&client, now, bytes + TRAILER_BYTES - size, size));
        ck_assert_uint_eq(client.dropped, size);
    }
}

/* How long the client waits from its next repeat on. */
static duration interval(void)
{
    expire(&client);
    return handshake_deadline(&client) - now;
}

/* What the other side has is news once; what it cannot have is none. Without news repeats become
 * rarer. */
TEST(handshake_hear__news_of_what_is_there)
{
    struct handshake_datagram d = {.tag = TAG, .nonce = NONCE};
    give_cookie();
    write_bytes(&client, HANDSHAKE_LEVEL_FIRST, 3000);
    ck_assert_int_eq(interval(), 100 * MILLISECOND);
    ck_assert(hear_from_server(d)); /* nothing */
    ck_assert_int_eq(interval(), 200 * MILLISECOND);
    d.have[0] = 1024;
    ck_assert(hear_from_server(d));
    ck_assert_int_eq(interval(), 100 * MILLISECOND);
    ck_assert(hear_from_server(d)); /* the same again */
    ck_assert_int_eq(interval(), 200 * MILLISECOND);
    d.have[0] = 3001;
    ck_assert(hear_from_server(d));
    d.have[0] = 0;
    d.have[1] = 1;
    ck_assert(hear_from_server(d));
    ck_assert_int_eq(interval(), 400 * MILLISECOND);
    ck_assert_uint_eq(deliver(&client, &server, 0), 2); /* from 1024 on */
}

/* An answer without bytes says that there is no room, until there are some. */
TEST(handshake_hear__that_it_is_put_off)
{
    const struct handshake_datagram d = {.tag = TAG, .nonce = NONCE};
    give_cookie();
    write_bytes(&client, HANDSHAKE_LEVEL_FIRST, 100);
    ck_assert(!client.is_put_off);
    ck_assert(hear_from_server(d));
    ck_assert(client.is_put_off);
    ck_assert_int_eq(interval(), 100 * MILLISECOND); /* it asks on */
    ck_assert_uint_eq(deliver(&client, &server, 0), 1);
    ck_assert(!server.is_put_off);
    write_bytes(&server, HANDSHAKE_LEVEL_FIRST, 100);
    ck_assert_uint_eq(deliver(&server, &client, 0), 1);
    ck_assert(!client.is_put_off);
    ck_assert(hear_from_server(d));
    ck_assert(!client.is_put_off);
}

static void end_client(void)
{
    give_cookie();
    use_keys();
    write_bytes(&client, HANDSHAKE_LEVEL_SECOND, 36);
    handshake_end(&client);
}

/* A client with keys knows its server, which would seal a refusal. In the clear it is a stranger's,
 * also if it came before. */
TEST(handshake_refuse__unproven_never_counts_behind_the_end, .rows = 2)
{
    const struct handshake_datagram d = {.tag = TAG, .nonce = NONCE, .flags = HANDSHAKE_REFUSES};
    give_cookie();
    if (_i == 1)
        ck_assert(hear_from_server(d));
    use_keys();
    handshake_end(&client);
    if (_i == 0)
        ck_assert(!hear_from_server(d));
    for (int i = 0; i < 10; i++)
        expire(&client);
    ck_assert_int_eq(client.phase, HANDSHAKE_ENDS);
    handshake_refuse(&server);
    ck_assert_uint_eq(deliver(&server, &client, 0), 1);
    ck_assert_int_eq(client.phase, HANDSHAKE_REFUSED);
}

/* Whoever reads the path may say in the clear that all is there. A client that waits for room would
 * be silent from then on, and lose its place; a server would not repeat what was lost. */
TEST(handshake_hear__unproven_that_all_is_there, .rows = 2)
{
    struct handshake *h = _i == 0 ? &client : &server;
    struct handshake_datagram d = {.tag = TAG, .nonce = NONCE, .have = {0, 36}};
    end_client();
    write_bytes(&server, HANDSHAKE_LEVEL_SECOND, 36);
    ck_assert_uint_gt(handshake_take(h, datagram), 0); /* is lost */
    d.flags = _i == 0 ? HANDSHAKE_ANSWERS : 0;
    handshake_encode(datagram, &d);
    handshake_hear(h, now, datagram, TRAILER_BYTES);
    ck_assert_uint_eq(h->out[HANDSHAKE_LEVEL_SECOND].acknowledged, 0);
    expire(h);
    ck_assert_uint_eq(handshake_take(h, datagram), 36 + SEAL_TAG_BYTES + TRAILER_BYTES);
}

/* What is sealed does say it. */
TEST(handshake_hear__proven_that_all_is_there)
{
    end_client();
    write_bytes(&server, HANDSHAKE_LEVEL_SECOND, 36);
    ck_assert_uint_eq(deliver(&server, &client, 0), 1);
    ck_assert_uint_eq(deliver(&client, &server, 0), 1);
    ck_assert_int_eq(handshake_deadline(&server), NEVER);
}

/* In the clear a client that has ended hears nothing: it would repeat more often, and say that it
 * has bytes that the server did not write. */
TEST(handshake_hear__in_the_clear_behind_the_end)
{
    const struct handshake_datagram d = {.tag = TAG, .nonce = NONCE, .flags = HANDSHAKE_ANSWERS};
    uint8_t bytes[10 + TRAILER_BYTES] = {0};
    end_client();
    expire(&client);
    struct handshake before = client;
    handshake_encode(bytes + 10, &d);
    ck_assert(!handshake_hear(&client, now, bytes, sizeof bytes));
    ck_assert_uint_eq(client.dropped, 1);
    client.dropped = 0;
    ck_assert_mem_eq(&client, &before, sizeof before);
}

/* When it is over for the side that listens, what the other one has sealed still shows that it is
 * there: no copy does, and nothing in the clear. */
TEST(handshake_hear__once_it_is_over)
{
    end_client();
    handshake_end(&server);
    const struct handshake_datagram clear = {.tag = TAG, .nonce = NONCE};
    handshake_encode(datagram, &clear);
    ck_assert(!handshake_hear(&server, now, datagram, TRAILER_BYTES));
    ck_assert_uint_eq(server.proven, 0);
    size_t size = handshake_take(&client, datagram);
    ck_assert(!handshake_hear(&server, now, datagram, size));
    ck_assert_uint_eq(server.proven, 1);
    ck_assert(!handshake_hear(&server, now, datagram, size));
    ck_assert_uint_eq(server.proven, 1);
    expire(&client);
    ck_assert_uint_eq(deliver(&client, &server, 0), 0);
    ck_assert_uint_eq(server.proven, 2);
    ck_assert_uint_eq(server.dropped, 4);
}

/* ---- a listening side that has forgotten it ---- */

/* A cookie of the other side's comes, so much later. Has that one forgotten the handshake? */
static bool doubt_after(duration later, uint64_t nonce)
{
    const struct cookie_answer answer = {.pairing = {.tag = TAG}, .nonce = nonce, .cookie = COOKIE};
    now += later;
    ck_assert(!handshake_on_cookie(&client, now, &answer));
    handshake_check(&client);
    ck_assert_int_eq(client.phase, HANDSHAKE_ENDS);
    return client.is_forgotten;
}

TEST(handshake_on_cookie__twice_means_forgotten)
{
    end_client();
    ck_assert(!doubt_after(0, NONCE));
    ck_assert(!doubt_after(SECOND / 2, NONCE)); /* they left together */
    ck_assert(!doubt_after(SECOND / 2 - 1, NONCE));
    ck_assert(doubt_after(1, NONCE));
}

/* They have nothing to do with each other. */
TEST(handshake_on_cookie__two_that_are_far_apart)
{
    end_client();
    ck_assert(!doubt_after(0, NONCE));
    ck_assert(!doubt_after(6 * SECOND, NONCE));
    ck_assert(!doubt_after(SECOND / 2, NONCE));
    ck_assert(doubt_after(SECOND, NONCE));
}

/* Who cannot read the path does not know the nonce. */
TEST(handshake_on_cookie__of_a_stranger)
{
    end_client();
    for (int i = 0; i < 10; i++)
        ck_assert(!doubt_after(SECOND, NONCE + 1));
    ck_assert_int_eq(client.doubted, NEVER);
    ck_assert_uint_eq(client.dropped, 10);
}

/* While bytes cross both sides are there, and the side that listens has no doubts. */
TEST(handshake_on_cookie__at_other_times)
{
    const struct cookie_answer answer = {.pairing = {.tag = TAG}, .nonce = NONCE, .cookie = COOKIE};
    give_cookie();
    for (int i = 0; i < 2; i++)
        ck_assert(!handshake_on_cookie(&client, now += 2 * SECOND, &answer));
    ck_assert_int_eq(client.doubted, NEVER);
    handshake_end(&server);
    ck_assert(!handshake_on_cookie(&server, now, &answer));
    ck_assert_int_eq(server.doubted, NEVER);
}
