#include "hostile.h"

#include "common/clock.h"

#include <check.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ASK_EVERY = 20, SESSION = 0x5E551041, COOKIE = 0xC00C1E };

static int64_t now_ms(void)
{
    return clock_now_ns() / 1000000;
}

void hostile_open(struct hostile *h, const struct stage *stage, enum stage_side side,
                  struct raw_end own)
{
    socklen_t size;
    union place_address address = place_address_of(own, &size);
    int bytes = 4 << 20;

    *h = (struct hostile){.pairing.session = SESSION};
    stage_enter(stage, side);
    h->fd = socket(place_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(h->fd, 0);
    (void)setsockopt(h->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    ck_assert_int_eq(bind(h->fd, &address.any, size), 0);
}

void hostile_close(struct hostile *h)
{
    close(h->fd);
}

bool hostile_hear(struct hostile *h, int milliseconds)
{
    int64_t deadline = now_ms() + milliseconds;
    union place_address from;

    for (;;) {
        struct pollfd set = {.fd = h->fd, .events = POLLIN};
        int64_t left = deadline - now_ms();
        if (poll(&set, 1, left < 0 ? 0 : (int)left) <= 0)
            return false;
        socklen_t size = sizeof(from);
        ssize_t bytes =
            recvfrom(h->fd, h->datagram, sizeof(h->datagram), MSG_DONTWAIT, &from.any, &size);
        if (bytes < 0)
            continue; /* a router's complaint */
        h->bytes = (size_t)bytes;
        h->peer = place_end_of(&from);
        if (wire_read(h->datagram, h->bytes, &h->heard))
            return true;
    }
}

void hostile_say(struct hostile *h, size_t bytes)
{
    socklen_t size;
    union place_address to = place_address_of(h->peer, &size);

    (void)sendto(h->fd, h->out, bytes, 0, &to.any, size);
}

/* ---- as a receiver ---- */

static void answer_question(struct hostile *h, const struct wire_run *run)
{
    const struct wire_heard *asked = &h->heard;

    if (asked->nonce == 0)
        return;
    h->pairing.tag = asked->pairing.tag;
    h->nonce = asked->nonce;
    if (asked->cookie != COOKIE)
        hostile_say(
            h, wire_cookie(h->out, (struct wire_pairing){0, h->pairing.tag}, h->nonce, COOKIE));
    else
        hostile_say(h, wire_request(h->out, h->pairing, h->nonce, run));
}

bool hostile_be_receiver(struct hostile *h, const struct wire_run *run, int milliseconds)
{
    int64_t deadline = now_ms() + milliseconds;

    while (hostile_hear(h, (int)(deadline - now_ms()))) {
        if (h->heard.type == WIRE_UNIT)
            return true;
        if (h->heard.type == WIRE_HELLO)
            answer_question(h, run);
        if (!run && h->heard.type == WIRE_HELLO && h->heard.cookie == COOKIE)
            return true;
    }
    return false;
}

void hostile_acknowledge(struct hostile *h, uint32_t first, uint32_t last)
{
    hostile_say(h, wire_ack(h->out, h->pairing, (const uint32_t[]){first, last}, 1, 0));
}

/* ---- as a sender ---- */

bool hostile_be_sender(struct hostile *h, struct raw_end peer, uint32_t tag, int milliseconds)
{
    struct wire_hello ask = {.pairing.tag = tag, .nonce = (uint64_t)tag << 32 | 1};
    int64_t deadline = now_ms() + milliseconds;

    do {
        h->peer = peer;
        hostile_say(h, wire_hello(h->out, &ask));
        if (!hostile_hear(h, ASK_EVERY) || h->heard.nonce != ask.nonce)
            continue;
        if (h->heard.type == WIRE_COOKIE) {
            ask.cookie = h->heard.cookie;
            ask.pairing.session = h->heard.pairing.session;
        } else if (h->heard.type == WIRE_REQUEST) {
            h->pairing = h->heard.pairing;
            return true;
        }
    } while (now_ms() < deadline);
    return false;
}

void hostile_send(struct hostile *h, uint32_t message, uint32_t seq, const uint8_t *data,
                  uint16_t bytes)
{
    const struct wire_unit unit = {.pairing = h->pairing,
                                   .message = message,
                                   .seq = seq,
                                   .length = bytes,
                                   .flags = WIRE_IS_LAST | WIRE_ANSWER};
    hostile_say(h, wire_unit(h->out, &unit, data));
}
