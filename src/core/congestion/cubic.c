#include "cubic.h"

enum {
    BETA_PARTS = 10,
    BETA = 7, /* of ten: what a reduction leaves (4.6) */
    C_PARTS = 5,
    C = 2, /* of five: units a second^3 (5.1) */
    /* Reno with this reduction is as fast with 9/17 of a unit a round trip (4.3). */
    ALPHA_PARTS = 17,
    ALPHA = 9,
};

#define TIME_MOST ((duration)200000) /* ms from K that are looked at; then all numbers fit */

void cubic_init(struct cubic *cubic)
{
    *cubic = (struct cubic){.epoch = NEVER, .idle = NEVER};
}

uint64_t cubic_reduce(struct cubic *cubic, uint64_t window)
{
    bool is_below = window < cubic->most;
    cubic->prior = window;
    cubic->most = is_below ? window / (2 * BETA_PARTS) * (BETA_PARTS + BETA) : window;
    cubic->epoch = NEVER;
    return window / BETA_PARTS * BETA;
}

/* The largest number whose cube is not above n. */
static uint64_t cube_root(uint64_t n)
{
    uint64_t root = 0;
    for (int shift = 63; shift >= 0; shift -= 3) {
        root <<= 1;
        uint64_t step = 3 * root * (root + 1) + 1;
        if (n >> shift >= step) {
            n -= step << shift;
            root++;
        }
    }
    return root;
}

/* ms until the curve climbs by so many bytes: (bytes / unit / C)^(1/3) s (4.2). */
static duration climb_ms(uint64_t bytes, uint64_t unit)
{
    const uint64_t most = UINT64_MAX / 1000000;
    uint64_t thousandths =
        bytes / unit * 1000 * C_PARTS / C + bytes % unit * 1000 * C_PARTS / C / unit;
    return (duration)cube_root((thousandths < most ? thousandths : most) * 1000000);
}

/* Bytes that the curve climbs in so many ms from its flat part. */
static uint64_t climb(duration ms, uint64_t unit)
{
    uint64_t t = (uint64_t)(ms < TIME_MOST ? ms : TIME_MOST);
    return t * t * t / 1000 * unit / 1000000 * C / C_PARTS;
}

static uint64_t curve(const struct cubic *cubic, duration since, uint64_t unit)
{
    if (since >= cubic->k)
        return cubic->most + climb((since - cubic->k) / MILLISECOND, unit);
    uint64_t below = climb((cubic->k - since) / MILLISECOND, unit);
    return below < cubic->most ? cubic->most - below : 0;
}

static void begin_epoch(struct cubic *cubic, instant now, uint64_t window, uint64_t unit)
{
    cubic->epoch = now;
    cubic->friendly = window;
    if (window >= cubic->most) {
        cubic->most = window;
        cubic->k = 0;
    } else {
        cubic->k = climb_ms(cubic->most - window, unit) * MILLISECOND;
    }
}

static void grow_friendly(struct cubic *cubic, uint64_t window, uint64_t unit, uint64_t bytes)
{
    uint64_t growth = unit * bytes / window;
    cubic->friendly += cubic->friendly < cubic->prior ? growth * ALPHA / ALPHA_PARTS : growth;
}

static void end_rest(struct cubic *cubic, instant now)
{
    if (cubic->idle != NEVER && cubic->epoch != NEVER)
        cubic->epoch += now - cubic->idle;
    cubic->idle = NEVER;
}

uint64_t cubic_grow(struct cubic *cubic, instant now, uint64_t window, uint64_t unit,
                    uint64_t bytes, duration round_trip)
{
    end_rest(cubic, now);
    if (cubic->epoch == NEVER)
        begin_epoch(cubic, now, window, unit);
    grow_friendly(cubic, window, unit, bytes);
    uint64_t target = curve(cubic, now - cubic->epoch + round_trip, unit);
    if (target > window + window / 2)
        target = window + window / 2;
    if (bytes > window)
        bytes = window;
    uint64_t grown = target > window ? window + (target - window) * bytes / window : window;
    return grown > cubic->friendly ? grown : cubic->friendly;
}

void cubic_begin_anew(struct cubic *cubic)
{
    cubic->epoch = NEVER;
}

void cubic_rest(struct cubic *cubic, instant now)
{
    if (cubic->idle == NEVER)
        cubic->idle = now;
}
