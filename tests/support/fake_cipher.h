/* A cipher that is none, for tests of what the core does with one: it adds a stream of bytes that
 * key, epoch and number give, and a tag that depends on everything. It counts what is opened, and
 * can log every number that was sealed. */
#ifndef ZCRP_TESTS_SUPPORT_FAKE_CIPHER_H
#define ZCRP_TESTS_SUPPORT_FAKE_CIPHER_H

#include "core/adt/random.h"
#include "core/keys/seal.h"

#include <string.h>

/* The keys of one stream, at both ends. */
struct fake_keys {
    uint64_t secret;
    uint64_t forgotten;                                          /* epochs below */
    uint64_t opened;                                             /* texts that were good */
    void (*log)(void *context, uint64_t epoch, uint64_t number); /* of what is sealed; NULL: none */
    void *context;
};

static inline uint64_t fake_mix(uint64_t state, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        state = (state ^ bytes[i]) * UINT64_C(0x100000001b3);
    return state;
}

static inline void fake_tag(const struct fake_keys *k, const struct seal_text *t,
                            const uint8_t *sealed, uint8_t tag[SEAL_TAG_BYTES])
{
    uint64_t state = k->secret ^ t->epoch * 0x9e3779b97f4a7c15 ^ t->number << 1;
    state = fake_mix(fake_mix(state, t->bound, t->bound_bytes), sealed, t->bytes);
    for (int i = 0; i < 2; i++)
        wire_put_u64(tag + 8 * i, random_next(&state));
}

static inline void fake_stream(const struct fake_keys *k, const struct seal_text *t)
{
    uint8_t first = (uint8_t)(k->secret + t->epoch * 31 + t->number * 7);
    for (size_t i = 0; i < t->bytes; i++)
        t->out[i] = (uint8_t)(t->in[i] ^ (uint8_t)(first + i));
}

static inline bool fake_seal(void *keys, const struct seal_text *t)
{
    struct fake_keys *k = keys;
    if (t->epoch < k->forgotten)
        return false;
    if (k->log != NULL)
        k->log(k->context, t->epoch, t->number);
    fake_stream(k, t);
    fake_tag(k, t, t->out, t->out + t->bytes);
    return true;
}

/* Writes also what turns out to be forged, as a real one does. */
static inline bool fake_open(void *keys, const struct seal_text *t)
{
    struct fake_keys *k = keys;
    uint8_t tag[SEAL_TAG_BYTES];
    if (t->epoch < k->forgotten)
        return false;
    fake_tag(k, t, t->in, tag);
    bool is_good = memcmp(tag, t->in + t->bytes, sizeof tag) == 0;
    fake_stream(k, t);
    k->opened += is_good;
    return is_good;
}

static inline void fake_forget(void *keys, uint64_t epoch)
{
    struct fake_keys *k = keys;
    k->forgotten = epoch;
}

/* Its keys of all epochs are there. */
static inline void fake_reach(void *keys, uint64_t epoch)
{
    (void)keys;
    (void)epoch;
}

static const struct cipher fake_cipher = {fake_seal, fake_open, fake_forget, fake_reach};

/* The four streams of one direction of data, with keys for both ends of each. */
struct fake_pair {
    struct fake_keys keys[6];
    struct keyring sender, receiver;
};

static inline void fake_pair_init(struct fake_pair *p, uint64_t secret, uint32_t epoch_bits)
{
    *p = (struct fake_pair){.sender.pairing = {.session = 7, .tag = 9}};
    for (int i = 0; i < 6; i++)
        p->keys[i].secret = secret + (uint64_t)(i / 2) * 1001;
    struct sealer sealer = {.cipher = &fake_cipher, .epoch_bits = epoch_bits};
    struct opener opener = {.cipher = &fake_cipher, .epoch_bits = epoch_bits};
    p->receiver.pairing = p->sender.pairing;
    p->sender.units_out = p->sender.control_out = p->receiver.control_out = sealer;
    p->receiver.units_in = p->receiver.control_in = p->sender.control_in = opener;
    p->sender.units_out.keys = &p->keys[0];
    p->receiver.units_in.keys = &p->keys[1];
    p->sender.control_out.keys = &p->keys[2];
    p->receiver.control_in.keys = &p->keys[3];
    p->receiver.control_out.keys = &p->keys[4];
    p->sender.control_in.keys = &p->keys[5];
}

#endif
