#include "options.h"

#include "core/instant.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
    UNIT_LEAST = 64,
    UNIT_MOST = 65507, /* what UDP over IPv4 carries */
    MESSAGES_MOST = 1 << 20,
    MEBIBYTE = 1 << 20,
};

static bool is_in_range(const struct zcrp_options *o)
{
    const uint32_t known = ZCRP_NO_SEGMENT | ZCRP_NO_GRO | ZCRP_NO_ECN;

    if (o->unit_bytes != 0 && (o->unit_bytes < UNIT_LEAST || o->unit_bytes > UNIT_MOST))
        return false;
    if (o->silence_ns < 0 || o->linger_ns < 0 || o->spin_ns < 0 || o->connect_ns < 0 ||
        o->progress_ns < 0)
        return false;
    if (o->congestion < ZCRP_CONGESTION_DEFAULT || o->congestion > ZCRP_CONGESTION_BBR)
        return false;
    if (o->channel < ZCRP_CHANNEL_AUTO || o->channel > ZCRP_CHANNEL_AAL5)
        return false;
    return o->messages <= MESSAGES_MOST && (o->flags & ~known) == 0;
}

/* What both know; false if the program has set something that only it knows. */
static bool take_over(struct zcrp_options *o, const struct zcrp_options *given, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)given;

    *o = (struct zcrp_options){0};
    if (given == NULL)
        return true;
    memcpy(o, given, size < sizeof(*o) ? size : sizeof(*o));
    for (size_t i = sizeof(*o); i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static void set_default(int64_t *time, duration usual)
{
    if (*time == 0)
        *time = usual;
}

int options_complete(struct zcrp_options *complete, const struct zcrp_options *given, size_t size)
{
    struct zcrp_options o;

    if (!take_over(&o, given, size) || !is_in_range(&o))
        return ZCRP_ERROR_ARGUMENT;
    if (o.congestion == ZCRP_CONGESTION_DEFAULT)
        o.congestion = ZCRP_CONGESTION_BBR;
    if (o.messages == 0)
        o.messages = 1024;
    if (o.window_bytes == 0)
        o.window_bytes = 32 * MEBIBYTE;
    set_default(&o.silence_ns, 30 * SECOND);
    set_default(&o.linger_ns, 5 * SECOND);
    set_default(&o.spin_ns, 50 * MICROSECOND);
    set_default(&o.connect_ns, 5 * SECOND);
    set_default(&o.progress_ns, 30 * SECOND);
    if (o.send_buffer == 0)
        o.send_buffer = 4 * MEBIBYTE;
    if (o.receive_buffer == 0)
        o.receive_buffer = 4 * MEBIBYTE;
    if (o.aal5.vci == 0)
        o.aal5.vci = 32;
    if (o.aal5.vci_control == 0)
        o.aal5.vci_control = o.aal5.vci;
    if (o.aal5.mtu == 0)
        o.aal5.mtu = 9180;
    *complete = o;
    return ZCRP_OK;
}
