#include "wire.h"

#include <string.h>

enum { IS_TAGGED = 1, HAS_DATA = 2 };

static const uint8_t magic[4] = {'z', 'f', 'i', '1'};

static void put(uint8_t *bytes, int count, uint64_t value)
{
    for (int i = 0; i < count; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *bytes, int count)
{
    uint64_t value = 0;

    for (int i = 0; i < count; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

void greeting_encode(const struct greeting *g, uint8_t bytes[GREETING_BYTES])
{
    memcpy(bytes, magic, sizeof(magic));
    bytes[4] = (uint8_t)g->channel;
    bytes[5] = g->address.is_ip6 ? 6 : 4;
    put(bytes + 6, 2, g->address.port);
    memcpy(bytes + 8, g->address.bytes, sizeof(g->address.bytes));
    put(bytes + 24, 8, g->nonce);
}

bool greeting_decode(struct greeting *g, const uint8_t *bytes, uint64_t size)
{
    static const uint8_t zeros[12];

    if (size != GREETING_BYTES || memcmp(bytes, magic, sizeof(magic)) != 0)
        return false;
    if (bytes[4] != CHANNEL_CONTROL && bytes[4] != CHANNEL_BULK)
        return false;
    if (bytes[5] != 4 && bytes[5] != 6)
        return false;
    if (bytes[5] == 4 && memcmp(bytes + 12, zeros, sizeof(zeros)) != 0)
        return false;
    *g = (struct greeting){
        .channel = bytes[4] == CHANNEL_CONTROL ? CHANNEL_CONTROL : CHANNEL_BULK,
        .address = {.is_ip6 = bytes[5] == 6, .port = (uint16_t)get(bytes + 6, 2)},
        .nonce = get(bytes + 24, 8),
    };
    memcpy(g->address.bytes, bytes + 8, sizeof(g->address.bytes));
    return g->address.port != 0;
}

void envelope_encode(const struct envelope *e, uint8_t bytes[ENVELOPE_BYTES])
{
    bytes[0] = (uint8_t)e->kind;
    bytes[1] = (uint8_t)((e->is_tagged ? IS_TAGGED : 0) | (e->has_data ? HAS_DATA : 0));
    put(bytes + 2, 2, 0);
    put(bytes + 4, 4, e->id);
    put(bytes + 8, 8, e->tag);
    put(bytes + 16, 8, e->data);
    put(bytes + 24, 8, e->length);
}

static bool is_sound(const struct envelope *e, uint64_t size)
{
    if ((!e->is_tagged && e->tag != 0) || (!e->has_data && e->data != 0))
        return false;
    switch (e->kind) {
    case ENVELOPE_EAGER:
        return e->id == 0 && size - ENVELOPE_BYTES == e->length;
    case ENVELOPE_RTS:
        return size == ENVELOPE_BYTES;
    case ENVELOPE_CTS:
        return size <= CTS_BYTES_MOST && (size - ENVELOPE_BYTES) % GRANT_BYTES == 0 &&
               !e->is_tagged && !e->has_data;
    }
    return false;
}

bool envelope_decode(struct envelope *e, const uint8_t *bytes, uint64_t size)
{
    if (size < ENVELOPE_BYTES || bytes[0] < ENVELOPE_EAGER || bytes[0] > ENVELOPE_CTS ||
        bytes[1] > (IS_TAGGED | HAS_DATA) || get(bytes + 2, 2) != 0)
        return false;
    *e = (struct envelope){
        .kind = (enum envelope_kind)bytes[0],
        .is_tagged = bytes[1] & IS_TAGGED,
        .has_data = bytes[1] & HAS_DATA,
        .id = (uint32_t)get(bytes + 4, 4),
        .tag = get(bytes + 8, 8),
        .data = get(bytes + 16, 8),
        .length = get(bytes + 24, 8),
    };
    return is_sound(e, size);
}

size_t cts_encode(const struct grant *grants, int count, uint8_t bytes[CTS_BYTES_MOST])
{
    const struct envelope first = {
        .kind = ENVELOPE_CTS, .id = grants[0].id, .length = grants[0].length};
    uint8_t *at = bytes + ENVELOPE_BYTES;

    envelope_encode(&first, bytes);
    for (int i = 1; i < count; i++, at += GRANT_BYTES) {
        put(at, 4, grants[i].id);
        put(at + 4, 8, grants[i].length);
    }
    return (size_t)(at - bytes);
}

int cts_decode(struct grant grants[GRANTS_MOST], const uint8_t *bytes, uint64_t size)
{
    int count = 1;

    grants[0] = (struct grant){.id = (uint32_t)get(bytes + 4, 4), .length = get(bytes + 24, 8)};
    for (uint64_t at = ENVELOPE_BYTES; at < size; at += GRANT_BYTES)
        grants[count++] =
            (struct grant){.id = (uint32_t)get(bytes + at, 4), .length = get(bytes + at + 4, 8)};
    return count;
}
