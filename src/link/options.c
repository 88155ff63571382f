#include "options.h"

#include "core/instant.h"
#include "platform/reason.h"
#include "transport/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEBIBYTE = 1 << 20,
    VCI_LEAST = 32, /* of AAL5 */
    VCI_MOST = 4127,
    VPI_OF_LAST = 255, /* whose circuits end earlier, */
    VCI_OF_LAST = 4111,
};

/* ---- ranges ---- */

/* How an option lies in the struct. */
enum width { UNSIGNED_32, UNSIGNED_64, SIGNED_32, SIGNED_64 };

/* What zcrp.h says of an option; 0 is the default, of each. Where any value of its type will do
 * there is no row. */
struct range {
    const char *name;
    size_t at;
    enum width width;
    uint64_t least, most;
};

#define WIDTH(field)                                                                               \
    _Generic(((struct zcrp_options *)NULL)->field, uint32_t                                        \
             : UNSIGNED_32, uint64_t                                                               \
             : UNSIGNED_64, int                                                                    \
             : SIGNED_32, int64_t                                                                  \
             : SIGNED_64)
#define RANGE(field, least, most)                                                                  \
    {                                                                                              \
#field, offsetof(struct zcrp_options, field), WIDTH(field), least, most                    \
    }

static const struct range ranges[] = {
    RANGE(unit_bytes, 64, 65507), /* the most is what UDP over IPv4 carries */
    RANGE(messages, 1, 1 << 20),
    RANGE(silence_ns, 1, INT64_MAX),
    RANGE(linger_ns, 1, INT64_MAX),
    RANGE(spin_ns, 1, INT64_MAX),
    RANGE(congestion, 0, ZCRP_CONGESTION_BBR),
    RANGE(channel, 0, ZCRP_CHANNEL_MEMORY),
    RANGE(connect_ns, 1, INT64_MAX),
    RANGE(progress_ns, 1, INT64_MAX),
    RANGE(keepalive_ns, 1, INT64_MAX),
    RANGE(accept_ns, 1, INT64_MAX),
    RANGE(connections, 1, 1 << 20),
    RANGE(backlog, 1, 1 << 20),
    RANGE(first_messages, 1, 256),
    RANGE(first_bytes, 1, 1 << 30),
    RANGE(mapped_bytes, 0, UINT64_C(1) << 44), /* a process has 2^47 to map */
};

/* Of AAL5, which refuses the others itself: what ZCRP_AAL5 says counts, too (aal5_is_possible). */
static const struct range ranges_of_aal5[] = {
    RANGE(aal5.vpi, 0, VPI_OF_LAST),
    RANGE(aal5.vci, VCI_LEAST, VCI_MOST),
    RANGE(aal5.vci_control, VCI_LEAST, VCI_MOST),
    RANGE(aal5.mtu, CONTROL_BYTES, AAL5_PAYLOAD_MOST),
    RANGE(aal5.faults.loss, 0, AAL5_CERTAIN),
    RANGE(aal5.faults.tagged, 0, AAL5_CERTAIN),
    RANGE(aal5.faults.tagged_loss, 0, AAL5_CERTAIN),
    RANGE(aal5.faults.swapped, 0, AAL5_CERTAIN),
    RANGE(aal5.faults.merged, 0, AAL5_CERTAIN),
    RANGE(aal5.faults.congested, 0, AAL5_CERTAIN),
    RANGE(aal5.faults.discard, AAL5_DISCARD_CELLS, AAL5_DISCARD_EARLY),
};

/* The value of an option. */
struct value {
    bool is_negative;
    uint64_t amount;
};

static struct value signed_value(int64_t n)
{
    return (struct value){n < 0, n < 0 ? 0 - (uint64_t)n : (uint64_t)n};
}

static struct value value_of(const struct range *r, const struct zcrp_options *o)
{
    const char *at = (const char *)o + r->at;

    switch (r->width) {
    case UNSIGNED_32:
        return (struct value){false, *(const uint32_t *)(const void *)at};
    case UNSIGNED_64:
        return (struct value){false, *(const uint64_t *)(const void *)at};
    case SIGNED_32:
        return signed_value(*(const int *)(const void *)at);
    case SIGNED_64:
        break;
    }
    return signed_value(*(const int64_t *)(const void *)at);
}

static int say_range(const struct range *r, struct value v)
{
    char least[32] = "0";

    if (r->least > 1)
        (void)snprintf(least, sizeof(least), "0 or %" PRIu64, r->least);
    return reason_say(ZCRP_ERROR_ARGUMENT,
                      "options.%s is %s%" PRIu64 "; it has to be %s to %" PRIu64, r->name,
                      v.is_negative ? "-" : "", v.amount, least, r->most);
}

/* OK, or ARGUMENT for the first that is out of its range, which is said. */
static int check_ranges(const struct range *rows, size_t count, const struct zcrp_options *o)
{
    for (size_t i = 0; i < count; i++) {
        struct value v = value_of(&rows[i], o);
        bool is_default = !v.is_negative && v.amount == 0;
        bool is_within = !v.is_negative && v.amount >= rows[i].least && v.amount <= rows[i].most;
        if (!is_default && !is_within)
            return say_range(&rows[i], v);
    }
    return ZCRP_OK;
}

static int check_flags(uint32_t flags)
{
    const uint32_t known = ZCRP_NO_SEGMENT | ZCRP_NO_GRO | ZCRP_NO_ECN | ZCRP_NO_MEMORY |
                           ZCRP_ALLOW_PTRACE | ZCRP_ENVIRONMENT_KEYS;

    if ((flags & ~known) == 0)
        return ZCRP_OK;
    if ((flags & known) == 0)
        return reason_say(ZCRP_ERROR_ARGUMENT, "options.flags is %#x, which is unknown", flags);
    return reason_say(ZCRP_ERROR_ARGUMENT, "options.flags is %#x; %#x is unknown", flags,
                      flags & ~known);
}

/* OK, or ARGUMENT for circuits whose numbers are fine one by one, and wrong together. */
static int check_circuits(const struct zcrp_aal5 *a, bool is_half)
{
    uint32_t last = a->vpi == VPI_OF_LAST ? VCI_OF_LAST : VCI_MOST;

    if (a->vci > last || a->vci_control > last)
        return reason_say(
            ZCRP_ERROR_ARGUMENT,
            "options.aal5.vci is %u, and vci_control %u; with a vpi of %u they have to "
            "be 0 or %d to %u",
            a->vci, a->vci_control, a->vpi, VCI_LEAST, last);
    if (is_half && a->vci_control == a->vci)
        return reason_say(ZCRP_ERROR_ARGUMENT,
                          "options.aal5.vci_control is %u, as vci; a connection has to have two "
                          "circuits",
                          a->vci_control);
    if (is_half && a->vci_control == 0 && a->vci == last)
        return reason_say(ZCRP_ERROR_ARGUMENT,
                          "options.aal5.vci is %u, and no circuit comes next; vci_control has to "
                          "name another",
                          a->vci);
    return ZCRP_OK;
}

static int check_first(const struct zcrp_options *o)
{
    if (o->first_messages <= o->messages)
        return ZCRP_OK;
    return reason_say(ZCRP_ERROR_ARGUMENT,
                      "options.first_messages is %u; it has to be at most options.messages, %u",
                      o->first_messages, o->messages);
}

/* What is left if all that the options say can be. */
static int say_environment(void)
{
    const char *variable = secure_getenv("ZCRP_AAL5");
    struct quote text;

    return reason_say(ZCRP_ERROR_ARGUMENT,
                      "ZCRP_AAL5 in the environment is \"%s\"; it has to set mtu or faults within "
                      "their ranges, as in mtu=1500,loss=10",
                      quote(&text, variable != NULL ? variable : ""));
}

int options_refuse_aal5(const struct zcrp_options *o, bool is_half)
{
    int code = check_ranges(ranges_of_aal5, sizeof(ranges_of_aal5) / sizeof(*ranges_of_aal5), o);

    if (code == ZCRP_OK)
        code = check_circuits(&o->aal5, is_half);
    return code == ZCRP_OK ? say_environment() : code;
}

/* ---- completing ---- */

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

static void complete_time(int64_t *time, duration usual)
{
    if (*time == 0)
        *time = usual;
    if (*time > OPTIONS_LONGEST)
        *time = OPTIONS_LONGEST;
}

/* The keys are these options' own then, until options_release. */
static int take_keys(struct zcrp_options *o)
{
    const char *path = secure_getenv("ZCRP_KEYS");

    if (!(o->flags & ZCRP_ENVIRONMENT_KEYS) || o->keys != NULL || path == NULL || path[0] == 0)
        return ZCRP_OK;
    int code = zcrp_keys_read(&o->keys, path);
    if (code == ZCRP_OK)
        o->flags |= OPTIONS_OWN_KEYS;
    return code;
}

void options_release(struct zcrp_options *complete)
{
    int error = errno; /* why it could not */

    if (complete->flags & OPTIONS_OWN_KEYS)
        zcrp_keys_free(complete->keys);
    errno = error;
}

int options_complete(struct zcrp_options *complete, const struct zcrp_options *given, size_t size)
{
    struct zcrp_options o;

    if (!take_over(&o, given, size))
        return reason_say(ZCRP_ERROR_ARGUMENT,
                          "options has something set that this library (%s) does not know",
                          ZCRP_VERSION_TEXT);
    int code = check_ranges(ranges, sizeof(ranges) / sizeof(*ranges), &o);
    if (code == ZCRP_OK)
        code = check_flags(o.flags);
    if (code == ZCRP_OK)
        code = take_keys(&o);
    if (code != ZCRP_OK)
        return code;
    if (o.congestion == ZCRP_CONGESTION_DEFAULT)
        o.congestion = ZCRP_CONGESTION_BBR;
    if (o.messages == 0)
        o.messages = 1024;
    code = check_first(&o);
    if (code != ZCRP_OK) {
        options_release(&o);
        return code;
    }
    if (o.window_bytes == 0)
        o.window_bytes = 32 * MEBIBYTE;
    if (o.connect_ns != 0)
        o.flags |= OPTIONS_CONNECT_SAID;
    complete_time(&o.silence_ns, 30 * SECOND);
    complete_time(&o.linger_ns, 5 * SECOND);
    complete_time(&o.spin_ns, 50 * MICROSECOND);
    complete_time(&o.connect_ns, 5 * SECOND);
    complete_time(&o.progress_ns, 30 * SECOND);
    complete_time(&o.keepalive_ns, 5 * SECOND);
    complete_time(&o.accept_ns, o.silence_ns);
    if (o.send_buffer == 0)
        o.send_buffer = 4 * MEBIBYTE;
    if (o.receive_buffer == 0)
        o.receive_buffer = 4 * MEBIBYTE;
    if (o.connections == 0)
        o.connections = 1024;
    if (o.backlog == 0)
        o.backlog = 128;
    if (o.first_bytes == 0)
        o.first_bytes = 64 << 10;
    if (o.aal5.vci == 0)
        o.aal5.vci = 32;
    if (o.aal5.mtu == 0)
        o.aal5.mtu = 9180;
    *complete = o;
    return ZCRP_OK;
}

/* ---- of a channel ---- */

/* Is AAL5 spoken over this socket? */
static bool wants_aal5(const struct zcrp_options *o, int fd)
{
    return o->channel == ZCRP_CHANNEL_AAL5 ||
           (o->channel == ZCRP_CHANNEL_AUTO && aal5_has_port(fd));
}

static struct aal5_faults faults_of(const struct zcrp_atm_faults *f)
{
    return (struct aal5_faults){
        .loss = f->loss,
        .tagged = f->tagged,
        .tagged_loss = f->tagged_loss,
        .swapped = f->swapped,
        .merged = f->merged,
        .congested = f->congested,
        .discard = (enum aal5_discard)f->discard,
        .seed = f->seed,
    };
}

static struct channel_aal5 aal5_of(const struct zcrp_options *options, bool is_sender, bool is_half,
                                   int fd)
{
    const struct zcrp_aal5 *a = &options->aal5;
    uint32_t usual_control = is_half ? a->vci + 1 : a->vci;
    uint32_t vci_control = a->vci_control != 0 ? a->vci_control : usual_control;
    struct aal5_circuit units = {.vpi = a->vpi, .vci = a->vci};
    struct aal5_circuit control = {.vpi = a->vpi, .vci = vci_control};

    return (struct channel_aal5){
        .is_wanted = wants_aal5(options, fd),
        .out = is_sender ? units : control,
        .in = is_sender ? control : units,
        .also = is_half && !is_sender ? control : (struct aal5_circuit){.vci = 0},
        .mtu = a->mtu,
        .faults = faults_of(&a->faults),
    };
}

/* Units go one way, everything else the other. The sender's control datagrams are few, and GRO
 * would only glue them together. */
struct channel_options options_of_channel(const struct zcrp_options *o, bool is_sender,
                                          bool is_half, int fd)
{
    return (struct channel_options){
        .send_bytes = is_sender ? o->send_buffer : 0,
        .receive_bytes = is_sender ? 0 : o->receive_buffer,
        .use_gso = is_sender && !(o->flags & ZCRP_NO_SEGMENT),
        .use_gro = !is_sender && !(o->flags & ZCRP_NO_GRO),
        .sends_ecn = is_sender && !(o->flags & ZCRP_NO_ECN),
        .reads_ecn = !is_sender && !(o->flags & ZCRP_NO_ECN),
        .aal5 = aal5_of(o, is_sender, is_half, fd),
    };
}
