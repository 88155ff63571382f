/* A listening socket over AAL5, and what strangers send to it: a hello is a PDU of one packet, on
 * the circuit of units. Anything else is dropped, without an answer. */
/* wrap: recvmsg sendmsg */
#include "accept/listen.h"

#include "../../support/mock.h"
#include "core/wire/aal5.h"
#include "core/wire/control.h"
#include "platform/system.h"
#include "transport/keyed_hash.h"

#include <netinet/in.h>
#include <string.h>

enum { FD = 5, IN = 40, OUT = 41, ROOM = 4096 };

static uint8_t packet[ROOM], answer[ROOM];
static size_t packet_bytes, answer_bytes; /* 0: there is none */
static const struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = 0x1234};

ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    size_t room = message->msg_iov[0].iov_len;

    assert_int_equal(fd, FD);
    assert_int_equal(flags, MSG_DONTWAIT | MSG_TRUNC);
    if (packet_bytes == 0) {
        errno = EAGAIN;
        return -1;
    }
    memcpy(message->msg_iov[0].iov_base, packet, packet_bytes < room ? packet_bytes : room);
    memcpy(message->msg_name, &from, sizeof(from));
    message->msg_namelen = sizeof(from);
    message->msg_controllen = 0;
    return (ssize_t)packet_bytes;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    (void)flags;
    assert_int_equal(fd, FD);
    assert_int_equal(message->msg_iovlen, 1);
    assert_memory_equal(message->msg_name, &from, sizeof(from));
    answer_bytes = message->msg_iov[0].iov_len;
    memcpy(answer, message->msg_iov[0].iov_base, answer_bytes);
    return (ssize_t)answer_bytes;
}

static struct listen_socket listening;
static struct caller caller;
static struct datagram_copy hello; /* with a good cookie; of 0 bytes: there was none */

static void setup(void)
{
    listening = (struct listen_socket){.fd = FD, .label_in = IN, .label_out = OUT};
    caller = (struct caller){.from_size = 0};
    packet_bytes = answer_bytes = 0;
}

static size_t wrap(uint32_t label, const uint8_t *payload, size_t bytes)
{
    return aal5_packet_encode(packet, &(struct aal5_packet){label, payload, (uint32_t)bytes},
                              crc32_add);
}

/* Puts a hello with this cookie into a packet. */
static void say_hello(uint32_t label, uint64_t cookie)
{
    const struct hello said = {.pairing = {.tag = 5}, .nonce = 6, .cookie = cookie};
    uint8_t datagram[TRAILER_BYTES];

    packet_bytes = wrap(label, datagram, hello_encode(datagram, sizeof(datagram), &said));
}

static void hear_datagram(void *context, const struct caller *by, const uint8_t *datagram,
                          size_t size)
{
    const struct cookie_jar jar = keyed_hash_jar();
    uint8_t said[TRAILER_BYTES];
    size_t bytes = 0;
    enum listening what =
        listening_hear(&jar, address_number(&by->from), clock_now(), datagram, size, said, &bytes);

    (void)context;
    caller = *by;
    if (what == LISTENING_ANSWERS)
        listen_tell(&listening, by, said, bytes);
    else if (what == LISTENING_ACCEPTS)
        datagram_copy_set(&hello, datagram, size);
}

/* Does a hello with a good cookie come? What else comes is answered if that is due. */
static bool hear(void)
{
    answer_bytes = 0;
    hello.size = 0;
    assert_int_equal(listen_receive(&listening, hear_datagram, NULL), 0);
    return hello.size > 0;
}

static void expect_silence(void)
{
    assert_false(hear());
    assert_int_equal(answer_bytes, 0);
}

/* The cookie in the answer. */
static uint64_t read_cookie(void)
{
    struct cookie_answer cookie;
    struct aal5_packet found;

    assert_true(aal5_packet_decode(answer, answer_bytes, crc32_add, &found));
    assert_int_equal(found.label, OUT);
    assert_int_equal(cookie_answer_decode(found.payload, found.payload_bytes, &cookie), VERDICT_OK);
    return cookie.cookie;
}

FIXTURE(setup, NULL)

TEST(hello__on_one_circuit_answered_on_the_other)
{
    say_hello(IN, 0);
    assert_false(hear());
    assert_int_equal(answer_bytes, packet_bytes); /* no more than came */
    uint64_t cookie = read_cookie();
    say_hello(IN, cookie);
    assert_true(hear());
    assert_int_equal(answer_bytes, 0);
    assert_int_equal(hello.size, TRAILER_BYTES);
    assert_memory_equal(hello.bytes, packet + AAL5_HEAD, TRAILER_BYTES); /* the cells are gone */
    assert_memory_equal(&caller.from, &from, sizeof(from));
}

TEST(hello__of_another_version)
{
    say_hello(IN, 0);
    packet[AAL5_HEAD + TRAILER_BYTES - 1] += 0x10;
    uint8_t other[TRAILER_BYTES];
    memcpy(other, packet + AAL5_HEAD, sizeof(other));
    packet_bytes = wrap(IN, other, sizeof(other));
    assert_false(hear());
    struct aal5_packet found;
    assert_true(aal5_packet_decode(answer, answer_bytes, crc32_add, &found));
    assert_int_equal(found.payload_bytes, VERSION_ANSWER_BYTES);
    assert_true(answer_bytes <= packet_bytes);
}

TEST(hello__on_another_circuit)
{
    static const uint32_t labels[] = {16, IN - 1, OUT, AAL5_LABEL_MOST};

    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        say_hello(labels[i], 0);
        expect_silence();
    }
}

TEST(hello__that_is_no_pdu)
{
    const struct hello said = {.pairing = {.tag = 5}, .nonce = 6};

    packet_bytes = hello_encode(packet, sizeof(packet), &said);
    expect_silence();
}

/* Whatever is missing, or more than there should be. A datagram of nothing, too. */
TEST(hello__truncated_or_damaged)
{
    say_hello(IN, 0);
    size_t whole = packet_bytes;
    for (packet_bytes = 1; packet_bytes < whole + 2 * AAL5_CELL; packet_bytes++)
        if (packet_bytes != whole)
            expect_silence();
    for (size_t i = 0; i < AAL5_CELL; i++) {
        say_hello(IN, 0);
        packet[AAL5_HEAD + i] ^= 0x40;
        expect_silence();
    }
}

/* The first piece of a PDU of several is not waited for, and neither is the last. */
TEST(hello__in_two_pieces)
{
    uint8_t pdu[AAL5_HEAD + 2 * AAL5_CELL];
    struct aal5_head head = {.label = IN, .number = 1};

    say_hello(IN, 0);
    memcpy(pdu, packet, packet_bytes);
    memset(packet + AAL5_HEAD, 0, AAL5_CELL);
    aal5_head_encode(packet, &head);
    expect_silence();
    head.number = 2;
    head.is_end = true;
    memcpy(packet, pdu, packet_bytes);
    aal5_head_encode(packet, &head);
    packet[AAL5_HEAD + AAL5_CELL - AAL5_TRAILER + 3] = AAL5_CELL + TRAILER_BYTES;
    expect_silence();
    expect_silence();
}

/* A packet that is larger than any hello's is not looked into. */
TEST(hello__behind_much_data)
{
    static uint8_t large[2048];
    const struct hello asked = {.pairing = {.tag = 5}, .nonce = 6};

    (void)hello_encode(large + sizeof(large) - TRAILER_BYTES, TRAILER_BYTES, &asked);
    packet_bytes = wrap(IN, large, sizeof(large));
    expect_silence();
}

/* Junk of all sizes, with a good head and without. */
TEST(junk)
{
    const struct aal5_head head = {.label = IN, .is_end = true};
    uint32_t random = 1998;

    for (int i = 0; i < 20000; i++) {
        for (size_t b = 0; b < 256; b++)
            packet[b] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
        if (i % 2 == 0)
            aal5_head_encode(packet, &head);
        packet_bytes = 1 + (random >> 8) % (i % 4 < 2 ? 256 : 2200);
        if (i % 8 == 0)
            packet_bytes = AAL5_HEAD + AAL5_CELL * (1 + (size_t)i % 5);
        expect_silence();
    }
}
