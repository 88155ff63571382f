#include "core/keys/seal.h"

#include "../../support/fake_cipher.h"
#include "../../support/suite.h"
#include "core/wire/control.h"

#include <stdlib.h>

enum { UNITS = 3, DATA = 64 };

static struct fake_pair pair;
static struct burst burst;
static uint8_t staging[SEAL_STAGING];
static uint8_t message[UNITS * DATA];

static void set_up(void)
{
    fake_pair_init(&pair, 5, 4);
    for (size_t i = 0; i < sizeof message; i++)
        message[i] = (uint8_t)(i * 3);
}

FIXTURE(set_up, NULL)

/* Units with numbers from `first` on. */
static void write_units(uint32_t first)
{
    burst = (struct burst){.datagrams = UNITS, .segment = DATA + TRAILER_BYTES};
    burst.bytes = UNITS * burst.segment;
    for (uint32_t i = 0; i < UNITS; i++) {
        struct unit_trailer t = {.seq = first + i,
                                 .unit = i * DATA / GRAIN,
                                 .length = DATA,
                                 .pairing = pair.sender.pairing};
        unit_trailer_encode(burst.trailer[i], &t);
        burst.iov[2 * i] = (struct iovec){message + i * DATA, DATA};
        burst.iov[2 * i + 1] = (struct iovec){burst.trailer[i], TRAILER_BYTES};
    }
}

static void write_hello(uint32_t requested)
{
    struct hello hello = {.pairing = pair.sender.pairing, .requested = requested};
    burst_set_control(&burst, hello_encode(burst.control, sizeof burst.control, &hello));
}

/* Where datagram i of the burst lies, and how long it is. */
static const uint8_t *datagram(uint32_t i, size_t *size)
{
    const struct iovec *pieces = &burst.iov[2 * i];
    *size = pieces[0].iov_len + pieces[1].iov_len;
    return pieces[0].iov_len > 0 ? pieces[0].iov_base : pieces[1].iov_base;
}

static bool open_unit(uint32_t i, uint8_t out[DATA])
{
    struct sealed_unit unit;
    size_t size;
    const uint8_t *sealed = datagram(i, &size);
    return keyring_look_at_unit(&pair.receiver, sealed + size - TRAILER_BYTES, &unit) ==
               SEALED_GOOD &&
           keyring_open_unit(&pair.receiver, &unit, sealed, DATA, out);
}

TEST(keyring_seal__units_come_back)
{
    uint8_t out[DATA];
    write_units(0);
    ck_assert(keyring_seal(&pair.sender, &burst, staging));
    ck_assert_uint_eq(burst.segment, DATA + SEAL_TAG_BYTES + TRAILER_BYTES);
    ck_assert_uint_eq(burst.bytes, UNITS * burst.segment);
    ck_assert(burst.is_flat);
    for (uint32_t i = 0; i < UNITS; i++) {
        ck_assert_ptr_eq(burst.iov[2 * i].iov_base, staging + i * burst.segment);
        ck_assert_mem_ne(staging + i * burst.segment, message + i * DATA, DATA);
        ck_assert(open_unit(i, out));
        ck_assert_mem_eq(out, message + i * DATA, DATA);
    }
}

/* The middle unit lies in three pieces, and the last in two: they are joined where it is sealed. */
TEST(keyring_seal__scattered)
{
    uint8_t out[DATA];
    write_units(0);
    burst_scatter(&burst);
    uint8_t apart[] = {0, message[DATA + 10], 0}; /* beside the others in memory */
    burst.iov[2] = (struct iovec){message + DATA, 10};
    burst.iov[3] = (struct iovec){apart + 1, 1};
    burst.iov[4] = (struct iovec){message + DATA + 11, DATA - 11};
    burst.iov[5] = (struct iovec){burst.trailer[1], TRAILER_BYTES};
    uint8_t rest[DATA - 7];
    memcpy(rest, message + 2 * DATA + 7, sizeof rest);
    burst.iov[6] = (struct iovec){message + 2 * DATA, 7};
    burst.iov[7] = (struct iovec){rest, sizeof rest};
    burst.iov[8] = (struct iovec){burst.trailer[2], TRAILER_BYTES};
    burst.first[2] = 6;
    burst.first[3] = 9;
    message[DATA + 10] ^= 0xFF;
    message[2 * DATA + 8] ^= 0xFF;
    ck_assert(keyring_seal(&pair.sender, &burst, staging));
    message[DATA + 10] ^= 0xFF;
    message[2 * DATA + 8] ^= 0xFF;
    ck_assert(burst.is_flat && !burst.is_scattered);
    for (uint32_t i = 0; i < UNITS; i++) {
        ck_assert_ptr_eq(burst.iov[2 * i].iov_base, staging + i * burst.segment);
        ck_assert(open_unit(i, out));
        ck_assert_mem_eq(out, message + i * DATA, DATA);
    }
}

TEST(keyring_seal__a_number_is_burnt, .signal = SIGABRT)
{
    write_units(0);
    ck_assert(keyring_seal(&pair.sender, &burst, staging));
    write_units(UNITS - 1);
    keyring_seal(&pair.sender, &burst, staging);
}

TEST(keyring_open_unit__once)
{
    uint8_t out[DATA];
    write_units(0);
    ck_assert(keyring_seal(&pair.sender, &burst, staging));
    ck_assert(open_unit(1, out));
    memset(out, 1, sizeof out);
    ck_assert(!open_unit(1, out));
    ck_assert_uint_eq(out[0], 1); /* a replayed one writes nothing */
    ck_assert(open_unit(0, out)); /* an older one may come late */
    ck_assert_uint_eq(pair.receiver.units_in.replayed, 1);
}

/* With the first number of an epoch the keys of the epochs before go. */
TEST(sealer_seal__forgets_old_epochs)
{
    for (uint32_t i = 0; i < 40; i++) {
        write_hello(i);
        ck_assert(keyring_seal(&pair.sender, &burst, staging));
        ck_assert_uint_eq(pair.keys[2].forgotten, i / 16);
    }
    for (uint32_t first = 0; first < 48; first += UNITS) {
        write_units(first);
        ck_assert(keyring_seal(&pair.sender, &burst, staging));
        ck_assert_uint_eq(pair.keys[0].forgotten, (first + UNITS - 1) / 16);
    }
}

/* Whether the numbers that are burnt already end with an epoch or before. */
TEST(sealer_skip__forgets_old_epochs, .rows = 2)
{
    sealer_skip(&pair.sender.units_out, _i == 0 ? 47 : 48);
    sealer_skip(&pair.sender.units_out, 49);
    ck_assert_uint_eq(pair.keys[0].forgotten, 3);
}

TEST(sealer_skip__forgets_behind_what_was_sealed)
{
    for (uint32_t first = 0; first < 48; first += UNITS) {
        write_units(first);
        ck_assert(keyring_seal(&pair.sender, &burst, staging));
    }
    sealer_skip(&pair.sender.units_out, 49);
    ck_assert_uint_eq(pair.keys[0].forgotten, 3);
}

/* Units crossed through memory meanwhile: many more than a stranger may leap over. */
TEST(sealer_skip__both_ends_go_on)
{
    enum { NEXT = 100000 };
    uint8_t out[DATA];
    write_units(0);
    ck_assert(keyring_seal(&pair.sender, &burst, staging));
    ck_assert(open_unit(0, out));
    opener_skip(&pair.receiver.units_in, NEXT);
    ck_assert(!open_unit(0, out));
    sealer_skip(&pair.sender.units_out, NEXT);
    sealer_skip(&pair.sender.units_out, NEXT - 1); /* nothing is given back */
    opener_skip(&pair.receiver.units_in, NEXT - 1);
    write_units(NEXT);
    ck_assert(keyring_seal(&pair.sender, &burst, staging));
    for (uint32_t i = 0; i < UNITS; i++) {
        ck_assert(open_unit(i, out));
        ck_assert_mem_eq(out, message + i * DATA, DATA);
        ck_assert(!open_unit(i, out));
    }
}

TEST(sealer_skip__a_skipped_number_is_burnt, .signal = SIGABRT)
{
    sealer_skip(&pair.sender.units_out, 1);
    write_units(0);
    (void)keyring_seal(&pair.sender, &burst, staging);
}

/* Each bit of a unit flipped: dropped, and no state changed but a counter. */
TEST(keyring_open_unit__each_bit_counts)
{
    uint8_t out[DATA];
    size_t size;
    write_units(0);
    ck_assert(keyring_seal(&pair.sender, &burst, staging));
    uint8_t *sealed = (uint8_t *)datagram(0, &size);
    struct keyring before = pair.receiver;
    for (size_t bit = 0; bit < 8 * size; bit++) {
        sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        bool is_version_or_type = bit / 8 == size - 1; /* which the caller has looked at */
        memset(out, 1, sizeof out);
        if (!is_version_or_type)
            ck_assert(!open_unit(0, out));
        ck_assert(out[0] == 0 || out[0] == 1);
        pair.receiver.units_in.forged = pair.receiver.units_in.replayed = 0;
        ck_assert_mem_eq(&pair.receiver, &before, sizeof before);
        sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    ck_assert(open_unit(0, out));
}

TEST(keyring_open_control__comes_back)
{
    uint8_t out[CONTROL_BYTES];
    struct hello hello;
    size_t size, plain;
    for (uint32_t i = 0; i < 40; i++) { /* across epochs of 16 numbers */
        write_hello(i);
        ck_assert(keyring_seal(&pair.sender, &burst, staging));
        ck_assert_uint_eq(burst.bytes, TRAILER_BYTES + SEAL_CONTROL_BYTES);
        const uint8_t *sealed = datagram(0, &size);
        ck_assert_int_eq(keyring_open_control(&pair.receiver, sealed, size, out, &plain),
                         SEALED_GOOD);
        ck_assert_uint_eq(plain, TRAILER_BYTES);
        ck_assert_int_eq(hello_decode(out, plain, &hello), VERDICT_OK);
        ck_assert_uint_eq(hello.requested, i);
        ck_assert_int_eq(keyring_open_control(&pair.receiver, sealed, size, out, &plain),
                         SEALED_FORGED);
    }
    ck_assert_uint_eq(pair.receiver.control_in.replayed, 40);
}

TEST(keyring_open_control__each_bit_counts)
{
    uint8_t out[CONTROL_BYTES];
    size_t size, plain;
    write_hello(3);
    ck_assert(keyring_seal(&pair.sender, &burst, staging));
    uint8_t *sealed = (uint8_t *)datagram(0, &size);
    struct keyring before = pair.receiver;
    for (size_t bit = 0; bit < 8 * size; bit++) {
        sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_int_ne(keyring_open_control(&pair.receiver, sealed, size, out, &plain),
                         SEALED_GOOD);
        pair.receiver.control_in.forged = pair.receiver.control_in.replayed = 0;
        ck_assert_mem_eq(&pair.receiver, &before, sizeof before);
        sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t bytes = 0; bytes < size; bytes++)
        ck_assert_int_ne(keyring_open_control(&pair.receiver, sealed, bytes, out, &plain),
                         SEALED_GOOD);
}

/* What is verified can still be opened: it was remembered nowhere. */
TEST(keyring_verify__remembers_nothing)
{
    uint8_t out[CONTROL_BYTES], data[DATA];
    struct sealed_stray stray;
    size_t size, plain;
    write_hello(7);
    ck_assert(keyring_seal(&pair.sender, &burst, staging));
    const uint8_t *sealed = datagram(0, &size);
    struct keyring before = pair.receiver;
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(keyring_verify(&pair.receiver, sealed, size, out, &stray), SEALED_GOOD);
        ck_assert(!stray.is_unit);
        ck_assert_uint_eq(stray.plain_bytes, TRAILER_BYTES);
        ck_assert_uint_eq(stray.number, 0);
        ck_assert_uint_eq(stray.end, 0);
    }
    ck_assert_mem_eq(&pair.receiver, &before, sizeof before);
    ck_assert_int_eq(keyring_open_control(&pair.receiver, sealed, size, out, &plain), SEALED_GOOD);
    ck_assert_int_eq(keyring_verify(&pair.receiver, sealed, size, out, &stray), SEALED_FORGED);
    ck_assert_uint_eq(pair.receiver.control_in.replayed, 1);
    write_units(3);
    ck_assert(keyring_seal(&pair.sender, &burst, staging));
    sealed = datagram(2, &size);
    ck_assert_int_eq(keyring_verify(&pair.receiver, sealed, size, data, &stray), SEALED_GOOD);
    ck_assert(stray.is_unit);
    ck_assert_uint_eq(stray.number, 5);
    ck_assert(open_unit(2, data));
    ck_assert_int_eq(keyring_verify(&pair.receiver, sealed, size, data, &stray), SEALED_FORGED);
}

TEST(keyring_verify__each_bit_counts, .rows = 2)
{
    uint8_t out[sizeof message + 1024];
    struct sealed_stray stray;
    size_t size;
    if (_i == 0)
        write_hello(3);
    else
        write_units(0);
    ck_assert(keyring_seal(&pair.sender, &burst, staging));
    uint8_t *sealed = (uint8_t *)datagram(0, &size);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (bit / 8 != size - 1) /* version and type, which the caller has looked at */
            ck_assert_int_ne(keyring_verify(&pair.receiver, sealed, size, out, &stray),
                             SEALED_GOOD);
        sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t bytes = 0; bytes < size; bytes++)
        ck_assert_int_ne(keyring_verify(&pair.receiver, sealed, bytes, out, &stray), SEALED_GOOD);
}

/* The body of a probe may fill the largest datagram; it may be a byte. */
TEST(keyring_seal__probe, .rows = 2)
{
    static uint8_t padding[9000], out[65536];
    size_t size, plain, body = _i == 0 ? sizeof padding : 1;
    uint32_t bytes = (uint32_t)body + TRAILER_BYTES;
    struct path_probe probe = {.pairing = pair.sender.pairing, .bytes = bytes}, read;
    for (size_t i = 0; i < body; i++)
        padding[i] = (uint8_t)(i * 5 + 3);
    path_probe_encode(burst.control, &probe);
    burst_set_control(&burst, TRAILER_BYTES);
    burst.iov[0] = (struct iovec){padding, body};
    burst.segment = burst.bytes = bytes;
    ck_assert(keyring_seal(&pair.sender, &burst, staging));
    const uint8_t *sealed = datagram(0, &size);
    ck_assert_uint_eq(size, bytes + SEAL_CONTROL_BYTES);
    ck_assert_uint_eq(burst.iov[1].iov_len, TRAILER_BYTES);
    ck_assert_int_eq(keyring_open_control(&pair.receiver, sealed, size, out, &plain), SEALED_GOOD);
    ck_assert_uint_eq(plain, bytes);
    ck_assert_mem_eq(out, padding, body);
    ck_assert_int_eq(path_probe_decode(out + plain - TRAILER_BYTES, plain, &read), VERDICT_OK);
}

/* ---- windows and epochs ---- */

static struct opener opener;

static bool take(uint64_t number)
{
    struct fake_keys theirs = {.secret = 3};
    uint8_t tag[SEAL_TAG_BYTES];
    struct seal_text text = {.epoch = number >> opener.epoch_bits, .number = number, .out = tag};
    ck_assert(fake_seal(&theirs, &text));
    text.in = tag;
    return opener_open(&opener, &text);
}

static const struct {
    uint64_t newest, number;
    bool is_taken;
} window[] = {
    {100, 101, true},
    {100, 100, false},
    {100, 99, true},
    {SEAL_WINDOW + 100, 101, true},
    {SEAL_WINDOW + 100, 100, false},
    {100, 100 + 3 * SEAL_WINDOW, true},
    {(1 << 22) - 10, 1 << 22, true},        /* the next epoch */
    {(1 << 22) - 10, (1 << 23) - 1, true},  /* its last number */
    {(1 << 22) - 10, 1 << 23, false},       /* the one after it: no key is made for a stranger */
    {(1 << 22) + 10, (1 << 22) - 10, true}, /* the one before */
    {(UINT64_C(1) << 32) - 10, (UINT64_C(1) << 32) + 10, true},
};

TEST(opener_open__window, .rows = ROWS(window))
{
    struct fake_keys keys = {.secret = 3};
    opener = (struct opener){.cipher = &fake_cipher, .keys = &keys, .epoch_bits = SEAL_EPOCH_BITS};
    opener.end = window[_i].newest; /* as if all before had come and gone */
    ck_assert(take(window[_i].newest));
    ck_assert_int_eq(take(window[_i].number), window[_i].is_taken);
    ck_assert(!take(window[_i].number));
}

TEST(opener_open__forgets_what_fell_out)
{
    struct fake_keys keys = {.secret = 3};
    opener = (struct opener){.cipher = &fake_cipher, .keys = &keys, .epoch_bits = 30};
    for (uint64_t n = 0; n < 3 * SEAL_WINDOW; n += 2)
        ck_assert(take(n));
    for (uint64_t n = 3 * SEAL_WINDOW - 3; n > 2 * SEAL_WINDOW; n -= 2)
        ck_assert(take(n));
    for (uint64_t n = 0; n < 3 * SEAL_WINDOW - 1; n += 97)
        ck_assert_int_eq(take(n), n % 2 == 1 && n >= 2 * SEAL_WINDOW - 1 && n < 2 * SEAL_WINDOW);
}

/* Numbers come in any order, however far the window has moved. */
TEST(opener_open__late_ones, .rows = 2)
{
    struct fake_keys keys = {.secret = 3};
    opener = (struct opener){.cipher = &fake_cipher, .keys = &keys, .epoch_bits = 30};
    for (uint64_t n = 0; n < 3 * SEAL_WINDOW; n += 2) {
        ck_assert(take(n + 1));
        ck_assert(take(n));
    }
    uint64_t next = (_i == 0 ? 4 : 9) * SEAL_WINDOW; /* all that is in the window is new */
    ck_assert(take(next));
    for (uint64_t n = next - SEAL_WINDOW + 1; n < next; n++)
        ck_assert(take(n));
    for (uint64_t n = next - SEAL_WINDOW; n <= next; n += 31)
        ck_assert(!take(n));
}

/* Of the epoch before the newest, and of the next, but no other. */
TEST(opener_admits__epochs)
{
    enum { BITS = 4, EPOCH = 1 << BITS };
    struct fake_keys keys = {.secret = 3};
    opener = (struct opener){.cipher = &fake_cipher, .keys = &keys, .epoch_bits = BITS};
    ck_assert(opener_admits(&opener, 2 * EPOCH - 1));
    ck_assert(!opener_admits(&opener, 2 * EPOCH));
    ck_assert(take(EPOCH - 1)); /* the last of its epoch */
    ck_assert(opener_admits(&opener, 2 * EPOCH - 1));
    ck_assert(!opener_admits(&opener, 2 * EPOCH));
    ck_assert_uint_eq(keys.forgotten, 0);
    ck_assert(take(EPOCH));
    ck_assert(opener_admits(&opener, 0));
    ck_assert(opener_admits(&opener, 3 * EPOCH - 1));
    ck_assert(take(2 * EPOCH));
    ck_assert(!opener_admits(&opener, EPOCH - 2));
    ck_assert(opener_admits(&opener, EPOCH + 1));
    ck_assert_uint_eq(keys.forgotten, 1); /* the epoch before is of use yet */
}

/* ---- keys of epochs ---- */

enum { BITS = 4 };

static uint64_t reached; /* the epoch whose keys were made last; 0: none */

static void note_reach(void *keys, uint64_t epoch)
{
    (void)keys;
    reached = epoch;
}

static const struct cipher reaching = {fake_seal, fake_open, fake_forget, note_reach};

/* Keys are forgotten with the first number that needs others, whether numbers follow on each other
 * or are left out. */
TEST(sealer_seal__forgets_the_epochs_before, .rows = 3)
{
    static const uint32_t steps[] = {UNITS, UNITS + 2, 3 << BITS};
    for (uint32_t n = 0; n < 20 << BITS; n += steps[_i]) {
        write_units(n);
        ck_assert(keyring_seal(&pair.sender, &burst, staging));
        ck_assert_uint_eq(pair.keys[0].forgotten, (n + UNITS - 1) >> BITS);
    }
}

TEST(sealer_seal__forgets_the_epochs_before_of_control)
{
    for (uint32_t n = 0; n < 3 << BITS; n++) {
        write_hello(n);
        ck_assert(keyring_seal(&pair.sender, &burst, staging));
        ck_assert_uint_eq(pair.keys[2].forgotten, n >> BITS);
    }
}

/* Up to the last number of an epoch, and then further. */
TEST(sealer_skip__forgets_the_epochs_before)
{
    struct sealer *s = &pair.sender.units_out;
    write_units((1 << BITS) - UNITS);
    ck_assert(keyring_seal(&pair.sender, &burst, staging));
    ck_assert_uint_eq(pair.keys[0].forgotten, 0);
    sealer_skip(s, (1 << BITS) + 1);
    ck_assert_uint_eq(pair.keys[0].forgotten, 1);
    sealer_skip(s, 2 << BITS);
    write_units(2 << BITS);
    ck_assert(keyring_seal(&pair.sender, &burst, staging));
    ck_assert_uint_eq(pair.keys[0].forgotten, 2);
}

/* However far the next number is, the keys are made for it, and once. */
TEST(sealer_skip__makes_keys)
{
    struct sealer *s = &pair.sender.units_out;
    struct opener *o = &pair.receiver.units_in;
    s->cipher = o->cipher = &reaching;
    reached = 0;
    sealer_skip(s, (1 << BITS) - 1);
    opener_skip(o, (1 << BITS) - 1);
    ck_assert_uint_eq(reached, 0); /* it is the same epoch */
    ck_assert_uint_eq(s->next, (1 << BITS) - 1);
    sealer_skip(s, 5);
    ck_assert_uint_eq(s->next, (1 << BITS) - 1);
    sealer_skip(s, 7 << BITS);
    ck_assert_uint_eq(reached, 7);
    ck_assert_uint_eq(s->next, 7 << BITS);
    ck_assert_uint_eq(pair.keys[0].forgotten, 7);
    reached = 0;
    opener_skip(o, 7 << BITS); /* the newest is of epoch 6 */
    ck_assert_uint_eq(reached, 6);
    ck_assert_uint_eq(pair.keys[1].forgotten, 5);
}

/* ---- whose it is ---- */

/* Either of the two numbers says that it is another's, before a key is tried. */
TEST(keyring_open_control__of_another_pairing)
{
    uint8_t out[CONTROL_BYTES];
    size_t size, plain;
    write_hello(3);
    ck_assert(keyring_seal(&pair.sender, &burst, staging));
    uint8_t *sealed = (uint8_t *)datagram(0, &size);
    for (size_t bit = 0; bit < 64; bit++) {
        uint8_t *at = sealed + size - TAIL_BYTES + bit / 8;
        *at ^= (uint8_t)(1 << bit % 8);
        ck_assert_int_eq(keyring_open_control(&pair.receiver, sealed, size, out, &plain),
                         SEALED_FOREIGN);
        *at ^= (uint8_t)(1 << bit % 8);
    }
    ck_assert_uint_eq(pair.receiver.control_in.forged, 0);
    struct pairing pairing = pair.receiver.pairing;
    memset(sealed + size - TAIL_BYTES, 0, 8);
    pair.receiver.pairing = (struct pairing){0, 0}; /* there are no keys yet */
    ck_assert_int_eq(keyring_open_control(&pair.receiver, sealed, size, out, &plain),
                     SEALED_FOREIGN);
    pair.receiver.pairing = pairing;
}

/* A unit without data has a tag, and no more. */
TEST(keyring_verify__an_empty_unit)
{
    uint8_t out[DATA];
    struct sealed_stray stray;
    size_t size;
    write_units(0);
    burst.datagrams = 1;
    burst.bytes = burst.segment = TRAILER_BYTES;
    burst.iov[0] = (struct iovec){message, 0};
    ck_assert(keyring_seal(&pair.sender, &burst, staging));
    const uint8_t *sealed = datagram(0, &size);
    ck_assert_uint_eq(size, TRAILER_BYTES + SEAL_UNIT_BYTES);
    ck_assert_int_eq(keyring_verify(&pair.receiver, sealed, size, out, &stray), SEALED_GOOD);
    ck_assert_int_eq(keyring_verify(&pair.receiver, sealed + 1, size - 1, out, &stray),
                     SEALED_SHORT);
}
