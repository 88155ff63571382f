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

/* The middle unit lies in three pieces: they are joined where it is sealed. */
TEST(keyring_seal__scattered)
{
    uint8_t out[DATA];
    write_units(0);
    burst_scatter(&burst);
    burst.iov[2] = (struct iovec){message + DATA, 10};
    burst.iov[3] = (struct iovec){message + DATA + 10, 1};
    burst.iov[4] = (struct iovec){message + DATA + 11, DATA - 11};
    burst.iov[5] = (struct iovec){burst.trailer[1], TRAILER_BYTES};
    burst.iov[6] = (struct iovec){message + 2 * DATA, DATA};
    burst.iov[7] = (struct iovec){burst.trailer[2], TRAILER_BYTES};
    burst.first[2] = 6;
    burst.first[3] = 8;
    ck_assert(keyring_seal(&pair.sender, &burst, staging));
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

/* The body of a probe may fill the largest datagram. */
TEST(keyring_seal__probe)
{
    static uint8_t padding[9000], out[65536];
    struct path_probe probe = {.pairing = pair.sender.pairing, .bytes = 9032}, read;
    size_t size, plain;
    path_probe_encode(burst.control, &probe);
    burst_set_control(&burst, TRAILER_BYTES);
    burst.iov[0] = (struct iovec){padding, sizeof padding};
    burst.segment = burst.bytes = 9032;
    ck_assert(keyring_seal(&pair.sender, &burst, staging));
    const uint8_t *sealed = datagram(0, &size);
    ck_assert_uint_eq(size, 9032 + SEAL_CONTROL_BYTES);
    ck_assert_uint_eq(burst.iov[1].iov_len, TRAILER_BYTES);
    ck_assert_int_eq(keyring_open_control(&pair.receiver, sealed, size, out, &plain), SEALED_GOOD);
    ck_assert_uint_eq(plain, 9032);
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
