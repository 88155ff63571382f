#include "strangers.h"

#include <string.h>

enum { KINDS = STRANGERS_KINDS, MOST = 1200 };

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static size_t scatter(uint8_t *to, size_t bytes, uint64_t *random)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)(random_next(random) >> 20);
    return bytes;
}

size_t strangers_hello(uint8_t *to, uint64_t nonce, uint64_t cookie, uint8_t flags)
{
    return wire_hello(to, &(struct wire_hello){.pairing = {0, (uint32_t)nonce | 1},
                                               .nonce = nonce | 1,
                                               .cookie = cookie,
                                               .flags = flags});
}

/* One datagram of each kind that a stranger may think of; some are just what a peer would say
 * first. */
static size_t stray(uint8_t *to, unsigned kind, uint64_t *random)
{
    uint64_t value = random_next(random);
    const struct wire_unit unit = {
        .pairing = {(uint32_t)value, (uint32_t)(value >> 32)}, .length = 64, .flags = WIRE_ANSWER};
    size_t bytes;

    switch (kind) {
    case 0:
        return 0;
    case 1:
        return scatter(to, 1, random);
    case 2:
        return scatter(to, value % MOST, random);
    case 3:
        return strangers_hello(to, value, 0, 0);
    case 4:
        return strangers_hello(to, value, value, 0);
    case 5:
        return strangers_hello(to, value, value, WIRE_CLOSING);
    case 6:
        return wire_unit(to, &unit, NULL);
    case 7: /* another version's hello */
        bytes = scatter(to, 10 + value % 100, random);
        to[bytes - 1] = (uint8_t)((value % 16) << 4 | WIRE_HELLO);
        return bytes;
    case 8: /* any type's last byte */
        bytes = scatter(to, WIRE_TRAILER + value % 100, random);
        to[bytes - 1] = (uint8_t)(WIRE_VERSION << 4 | value % 16);
        return bytes;
    case 9: /* a hello that is too long */
        memset(to, 0, MOST);
        return MOST - WIRE_TRAILER + strangers_hello(to + MOST - WIRE_TRAILER, value, 0, 0);
    case 10:
        return wire_request(to, unit.pairing, value, NULL);
    default:
        return wire_ack(to, unit.pairing, NULL, 0, WIRE_CLOSING);
    }
}

void strangers_open(struct strangers *s, const struct stage *stage)
{
    s->random = 1998;
    watch_open(&s->watch, stage, STAGE_LEFT);
    raw_open(&s->raw, stage, STAGE_LEFT, VICTIM_RECEIVER_PORT);
}

void strangers_say(struct strangers *s, struct raw_end from, unsigned kind)
{
    uint8_t datagram[MOST + WIRE_TRAILER];
    size_t bytes = stray(datagram, kind, &s->random);

    s->said[(from.address - STAGE_STRANGERS) % WATCH_STRANGERS] += (uint32_t)bytes;
    raw_udp(&s->raw, from, attack_receiver(), datagram, bytes);
}

bool strangers_crowd(struct strangers *s, uint64_t count, const struct victim *listener)
{
    for (uint64_t i = 0; i < count && !victim_has_report(listener); i++) {
        struct raw_end from = attack_stranger((uint32_t)(random_next(&s->random) % 1000));
        if (i % 7 == 0)
            from.port = 0;
        strangers_say(s, from, (unsigned)(random_next(&s->random) % KINDS));
        if (i % 1000 == 0)
            (void)watch_count(&s->watch, &s->heard);
    }
    raw_flush(&s->raw);
    (void)watch_count(&s->watch, &s->heard);
    return victim_has_report(listener);
}

unsigned strangers_amplified(const struct strangers *s, uint64_t *bytes, uint64_t *datagrams)
{
    unsigned count = 0;

    *bytes = *datagrams = 0;
    for (unsigned i = 0; i < WATCH_STRANGERS; i++) {
        count += s->heard.bytes[i] > s->said[i];
        *bytes += s->heard.bytes[i];
        *datagrams += s->heard.datagrams[i];
    }
    return count;
}
