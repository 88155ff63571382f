#include "channels.h"

#include "codes.h"
#include "options.h"
#include "platform/reason.h"
#include "platform/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the registry ---- */

static struct mutex mutex;
static struct condition changed; /* of those that were changing, one is not any more */
static struct channels *first;

/* Which of the two descriptors the peer's datagrams come from. */
static int index_of_in(const struct channels *c)
{
    return c->is_sender ? 0 : 1;
}

static bool has_socket(const struct channels *c, uint64_t cookie)
{
    return cookie != 0 && (c->cookie[0] == cookie || c->cookie[1] == cookie);
}

static bool share_socket(const struct channels *a, const struct channels *b)
{
    return has_socket(a, b->cookie[0]) || has_socket(a, b->cookie[1]);
}

/* Do both hear this one raw socket? It has the filter of one of them (aal5/aal5_open.c). */
static bool hear_raw_socket(const struct channels *a, const struct channels *b)
{
    return a->hears_raw && b->hears_raw && a->cookie[index_of_in(a)] == b->cookie[index_of_in(b)];
}

/* What is for one whose peer has keys would be taken by any other. */
static bool are_rivals(const struct channels *a, const struct channels *b)
{
    return (a->is_sender == b->is_sender || a->has_keys || b->has_keys || hear_raw_socket(a, b)) &&
           share_socket(a, b);
}

/* Has it a rival? Under the mutex, as all that follows. */
static bool has_rival(const struct channels *c)
{
    const struct channels *other = first;

    while (other != NULL && !are_rivals(c, other))
        other = other->next;
    return other != NULL;
}

/* Do others change options of a socket that these have, too? */
static bool must_wait(const struct channels *c)
{
    const struct channels *other = first;

    while (other != NULL && !(other->is_changing && share_socket(c, other)))
        other = other->next;
    return other != NULL;
}

/* Which of the channels is on this socket; NULL: none. */
static struct channel *channel_on(const struct channels *c, uint64_t cookie)
{
    int in = index_of_in(c);

    if (!has_socket(c, cookie))
        return NULL;
    return c->cookie[in] == cookie ? c->in : c->out;
}

/* What two channels of one socket know of it: its path discovery before the library changed it, and
 * the library's filter. With `leaves` the other one alone keeps them. */
static void share(struct channel *c, struct channel *other, bool leaves)
{
    c->discovery_before = leaves ? -1 : other->discovery_before;
    if (leaves && c->has_filter) {
        c->has_filter = false;
        other->has_filter = true;
    }
}

static void share_sockets(struct channels *c, bool leaves)
{
    for (const struct channels *other = first; other != NULL; other = other->next)
        for (int i = 0; i < 2 && other != c; i++) {
            struct channel *theirs = channel_on(other, c->cookie[i]);
            if (theirs != NULL)
                share(channel_on(c, c->cookie[i]), theirs, leaves);
        }
}

/* They are changing from then on. False if one of the sockets has a rival already. */
static bool registry_add(struct channels *c)
{
    mutex_lock(&mutex);
    bool is_refused = has_rival(c);
    while (!is_refused && must_wait(c)) {
        (void)condition_wait(&changed, &mutex, NEVER);
        is_refused = has_rival(c);
    }
    if (!is_refused) {
        c->is_changing = true;
        c->next = first;
        first = c;
    }
    mutex_unlock(&mutex);
    return !is_refused;
}

/* They have changed, and are open. */
static void registry_on_open(struct channels *c)
{
    mutex_lock(&mutex);
    share_sockets(c, false);
    c->is_changing = false;
    mutex_unlock(&mutex);
    condition_broadcast(&changed);
}

/* They are changing again. */
static void registry_on_close(struct channels *c)
{
    mutex_lock(&mutex);
    while (must_wait(c))
        (void)condition_wait(&changed, &mutex, NEVER);
    c->is_changing = true;
    share_sockets(c, true);
    mutex_unlock(&mutex);
}

static void registry_remove(struct channels *c)
{
    mutex_lock(&mutex);
    struct channels **at = &first;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    mutex_unlock(&mutex);
    condition_broadcast(&changed);
}

void channels_after_fork(void)
{
    mutex_init(&mutex);
    condition_init(&changed);
    first = NULL;
}

/* ---- descriptors ---- */

/* The kernel's cookie for a socket, or 0. */
static uint64_t cookie_of(int fd)
{
    uint64_t cookie = 0;
    socklen_t size = sizeof(cookie);

    return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

static bool is_raw(int fd)
{
    int type = 0;
    socklen_t size = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_RAW;
}

/* The duplicate of a descriptor of the user's, or a code. */
static int duplicate(int descriptor, int *owned)
{
    *owned = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (*owned >= 0)
        return ZCRP_OK;
    if (errno == EBADF)
        return ZCRP_ERROR_DESCRIPTOR;
    return reason_say(ZCRP_ERROR_SYSTEM, "descriptor %d: %s", descriptor, strerror(errno));
}

static void close_duplicates(const struct channels *c)
{
    (void)close(c->owned[0]);
    if (c->owned[1] >= 0 && c->owned[1] != c->owned[0]) /* errno says why there is none */
        (void)close(c->owned[1]);
}

/* Two descriptors of one socket are a duplex channel, as one descriptor twice is. */
static int duplicate_descriptors(struct channels *c, const int descriptors[2])
{
    int code = duplicate(descriptors[0], &c->owned[0]);

    if (code)
        return code;
    for (int i = 0; i < 2; i++) {
        c->given[i] = descriptors[i];
        c->cookie[i] = cookie_of(descriptors[i]);
    }
    c->hears_raw = is_raw(descriptors[index_of_in(c)]);
    bool is_one =
        descriptors[0] == descriptors[1] || (c->cookie[0] != 0 && c->cookie[0] == c->cookie[1]);
    c->owned[1] = c->owned[0];
    code = is_one ? ZCRP_OK : duplicate(descriptors[1], &c->owned[1]);
    if (code == ZCRP_OK && c->has_keys && !is_one) /* a handshake goes both ways */
        code = reason_say(ZCRP_ERROR_ARGUMENT,
                          "options.keys is set; both descriptors have to be one socket");
    else if (code == ZCRP_OK && registry_add(c))
        return ZCRP_OK;
    close_duplicates(c);
    return code == ZCRP_OK ? ZCRP_ERROR_BUSY : code;
}

/* ---- channels ---- */

/* The user's descriptor of one of the channels. */
static int given_of(const struct channels *c, const struct channel *channel)
{
    int in = index_of_in(c);

    return c->given[channel == c->in ? in : 1 - in];
}

/* Shows the user's tap what a channel shows. */
static void show_user(void *context, const struct channel *channel,
                      const struct channel_crossing *crossing)
{
    const struct channels *c = context;

    c->tap(c->tap_context, &(struct zcrp_crossing){
                               .time_ns = crossing->time_ns,
                               .descriptor = given_of(c, channel),
                               .is_outward = crossing->is_outward,
                               .bytes = crossing->bytes,
                               .piece_count = crossing->count,
                               .pieces = crossing->pieces,
                               .is_pdu = crossing->is_pdu,
                               .vpi = (uint8_t)crossing->circuit.vpi,
                               .vci = (uint16_t)crossing->circuit.vci,
                           });
}

static int init_channel(struct channels *c, struct channel *channel, int fd,
                        const struct zcrp_options *options)
{
    struct channel_options o = options_of_channel(options, c->is_sender, c->is_half, fd);

    o.aal5.only_sends = channel != c->in;
    o.tap = (struct channel_tap){.see = c->tap != NULL ? show_user : NULL, .context = c};
    int error = channel_init(channel, fd, &o);
    if (error == -EINVAL)
        return options_refuse_aal5(options, c->is_half);
    return error ? code_of_channel(error) : ZCRP_OK;
}

static int init_channels(struct channels *c, const struct zcrp_options *options)
{
    int in = c->owned[index_of_in(c)], out = c->owned[1 - index_of_in(c)];

    c->in = &c->channel[0];
    c->out = in == out ? c->in : &c->channel[1];
    int code = init_channel(c, c->in, in, options);
    if (code || c->out == c->in)
        return code;
    code = init_channel(c, c->out, out, options);
    if (code)
        channel_fini(c->in);
    return code;
}

int channels_open(struct channels *c, bool is_sender, const int descriptors[2],
                  const struct zcrp_options *options)
{
    *c = (struct channels){.is_sender = is_sender,
                           .has_keys = options->keys != NULL,
                           .tap = options->tap,
                           .tap_context = options->tap_context};
    int code = duplicate_descriptors(c, descriptors);
    if (code)
        return code;
    code = init_channels(c, options);
    if (code == ZCRP_OK) {
        registry_on_open(c);
        return ZCRP_OK;
    }
    registry_remove(c);
    close_duplicates(c);
    return code;
}

int channels_open_half(struct channels *c, bool is_sender, int fd,
                       const struct zcrp_options *options)
{
    *c = (struct channels){.is_sender = is_sender,
                           .is_half = true,
                           .given = {fd, fd},
                           .owned = {fd, fd},
                           .tap = options->tap,
                           .tap_context = options->tap_context};
    return init_channels(c, options);
}

void channels_close(struct channels *c)
{
    if (!c->is_half)
        registry_on_close(c);
    if (c->out != c->in)
        channel_fini(c->out);
    channel_fini(c->in);
    if (c->is_half)
        return;
    registry_remove(c);
    close_duplicates(c);
}

void channels_abandon(struct channels *c)
{
    channel_abandon(c->in);
    if (c->out != c->in)
        channel_abandon(c->out);
    if (!c->is_half)
        close_duplicates(c);
}

struct channel *channels_of_units(struct channels *c)
{
    return c->is_sender ? c->out : c->in;
}

uint64_t channels_count(const struct channels *c, enum channel_counter which)
{
    uint64_t count = channel_count(c->out, which);

    return c->in != c->out ? count + channel_count(c->in, which) : count;
}

static void add_channel(const struct channel *c, struct zcrp_stats *stats)
{
    stats->system_calls += channel_count(c, CHANNEL_CALLS_OUT) + channel_count(c, CHANNEL_CALLS_IN);
    stats->drop_truncated += channel_count(c, CHANNEL_TRUNCATIONS);
    stats->drop_damaged += channel_count(c, CHANNEL_DAMAGES);
    stats->drop_incomplete += channel_count(c, CHANNEL_INCOMPLETE);
    stats->drop_circuit += channel_count(c, CHANNEL_STRANGERS);
    stats->bytes_staged += channel_count(c, CHANNEL_STAGED);
    stats->cells_lost += channel_count(c, CHANNEL_CELLS_LOST);
    stats->drop_socket += channel_count(c, CHANNEL_DROPS);
    stats->channel_refused += channel_count(c, CHANNEL_REFUSALS);
    stats->channel_full += channel_count(c, CHANNEL_BLOCKS) + channel_count(c, CHANNEL_CROWDS);
    stats->offload_fallbacks += channel_count(c, CHANNEL_FALLBACKS);
    stats->drop_leftover += channel_count(c, CHANNEL_LEFTOVERS);
    stats->path_hints += channel_count(c, CHANNEL_TOO_BIGS);
    stats->faults += channel_count(c, CHANNEL_FAULTS);
}

void channels_add_stats(const struct channels *c, struct zcrp_stats *stats)
{
    add_channel(c->in, stats);
    if (c->out != c->in)
        add_channel(c->out, stats);
}
