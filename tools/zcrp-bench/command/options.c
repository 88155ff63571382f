#include "zcrp-bench/command/options.h"

#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/arguments.h"
#include "common/complain.h"
#include "common/environment.h"
#include "common/quantity.h"
#include "zcrp-bench/transports/carrier.h"

enum {
    SECOND_NS = 1000000000,
    MANY_MESSAGES = 400000,
    SECONDS_OF_PATIENCE = 10,
    DAY_MS = 86400000
};

/* A mark of rows: the connecting end decides this, so it means nothing to --listen. */
enum { OF_CONNECTING = 1 };

static const char default_transports[] = "zcrp,tcp";
static const char default_sizes[] = "64,1K,16K,64K,1M,64M";
static const char default_ping_size[] = "64";
static const uint64_t many_bytes = 1u << 30;

static const struct options defaults = {
    .repeat = 5,
    .memory_bytes = 64u << 20,
    .tcp_cc = MANNER_BEST,
    .cores = {PIN_NONE, PIN_NONE},
    .settings = {.flows = 1, .depth = 1024, .limit_ns = SECONDS_OF_PATIENCE * UINT64_C(1000000000)},
};

/* In the order of enum zcrp_congestion; 0 is the default there, and has no name here. */
static const char *const congestion_names[] = {"", "none", "reno", "cubic", "bbr", NULL};

/* ---- values that are lists or have a form of their own. Each function reads one into the struct
 * options at `place`, instead of what an earlier option of the name or the default has set. ---- */

/* Calls `add` for each entry of a comma-separated list. */
static int read_list(struct options *options, const char *text,
                     int (*add)(struct options *options, const char *entry))
{
    char entry[CONTENDER_NAME];

    for (;;) {
        size_t length = strcspn(text, ",");

        snprintf(entry, sizeof entry, "%.*s",
                 (int)(length < sizeof entry - 1 ? length : sizeof entry - 1), text);
        if (add(options, entry) < 0)
            return -1;
        if (text[length] == '\0')
            return 0;
        text += length + 1;
    }
}

/* "zcrp", "tcp", "tcp:cubic" */
static int read_choice(const char *name, struct choice *choice)
{
    char kind[CONTENDER_NAME];
    size_t length = strcspn(name, ":");
    bool has_variant = name[length] == ':';

    snprintf(choice->name, sizeof choice->name, "%s", name);
    snprintf(kind, sizeof kind, "%.*s", (int)length, choice->name);
    choice->kind = strlen(name) < sizeof choice->name ? transport_find(kind) : NULL;
    choice->variant = has_variant ? &choice->name[length + 1] : MANNER_BEST;
    if (choice->kind == NULL)
        return complain("--transport: '%s' is none of zcrp, tcp, udp-limit, unix, pipe, srt, quic, "
                        "tls, ktls",
                        name);
    if (has_variant && (!choice->kind->has_manners || *choice->variant == '\0' ||
                        strlen(choice->variant) >= MANNER_NAME))
        return complain("--transport: '%s': only tcp, tls and ktls have others, as in tcp:cubic",
                        name);
    return 0;
}

/* A peer that is not built in, or that this machine cannot have, is named, and left out. */
static int add_one(struct options *options, const char *name)
{
    const struct peer *peer = peers_find(name);

    if (peer != NULL && peer->kind == NULL) {
        peers_complain(peer);
        return 0;
    }
    if (peer != NULL && peer->kind->check != NULL && peer->kind->check() < 0)
        return 0;
    for (size_t i = 0; i < options->transport_count; i++) {
        if (strcmp(options->transports[i].name, name) == 0)
            return complain("--transport: '%s' is there twice", name);
    }
    if (options->transport_count == OPTIONS_MAX_TRANSPORTS)
        return complain("--transport: more than %d", OPTIONS_MAX_TRANSPORTS);
    return read_choice(name, &options->transports[options->transport_count++]);
}

static int add_transport(struct options *options, const char *name)
{
    if (strcmp(name, "peers") != 0)
        return add_one(options, name);
    for (size_t i = 0; i < PEERS; i++) {
        if (add_one(options, peers[i].name) < 0)
            return -1;
    }
    return 0;
}

static int add_size(struct options *options, uint64_t size)
{
    if (options->size_count == OPTIONS_MAX_SIZES)
        return complain("--size: more than %d sizes", OPTIONS_MAX_SIZES);
    options->sizes[options->size_count++] = size;
    return 0;
}

/* "64..64M*4"; without a factor, 2. `dots` is where the dots are. */
static int add_sweep(struct options *options, const char *text, const char *dots)
{
    char end[CONTENDER_NAME];
    char start[CONTENDER_NAME];
    size_t length = strcspn(dots + 2, "*");
    uint64_t factor = 2;
    uint64_t first;
    uint64_t last;

    snprintf(start, sizeof start, "%.*s", (int)(dots - text), text);
    snprintf(end, sizeof end, "%.*s", (int)length, dots + 2);
    if (quantity_parse(start, &first) < 0 || quantity_parse(end, &last) < 0 || last < first ||
        last > INT64_MAX ||
        (dots[2 + length] == '*' && (quantity_parse(&dots[3 + length], &factor) < 0 || factor < 2)))
        return complain("--size: '%s' is no sweep, as in 64..64M*4", text);
    for (uint64_t size = first; size <= last; size *= factor) {
        if (add_size(options, size) < 0)
            return -1;
        if (size > last / factor)
            break;
    }
    return 0;
}

static int add_sizes(struct options *options, const char *text)
{
    const char *dots = strstr(text, "..");
    uint64_t size;

    if (dots != NULL)
        return add_sweep(options, text, dots);
    if (quantity_parse(text, &size) < 0 || size > INT64_MAX)
        return complain("--size: '%s' is not a number of bytes, as 64, 16K or 1M", text);
    return add_size(options, size);
}

static int values_transport(void *place, const char *text)
{
    struct options *options = place;

    options->transport_count = 0;
    if (read_list(options, text, add_transport) < 0)
        return -1;
    return options->transport_count > 0 ? 0
                                        : complain("--transport: nothing is left of '%s'", text);
}

static int values_size(void *place, const char *text)
{
    struct options *options = place;

    options->size_count = 0;
    return read_list(options, text, add_sizes);
}

static int add_core(struct options *options, const char *text)
{
    char *end;
    long core = strtol(text, &end, 10);

    if (options->core_count == 2)
        return complain("--pin: there are two ends only");
    if (end == text || *end != '\0' || core < 0 || core >= CPU_SETSIZE)
        return complain("--pin: '%s' is not the number of a core", text);
    options->cores[options->core_count++] = (int)core;
    return 0;
}

static int values_pin(void *place, const char *text)
{
    struct options *options = place;

    options->core_count = 0;
    return read_list(options, text, add_core);
}

static int set_end(struct options *options, const char *text, enum options_mode mode)
{
    if (options->mode != OPTIONS_ALONE)
        return complain("--listen and --connect are one end each: give one of them, once");
    options->mode = mode;
    if (address_parse(text, &options->address) < 0)
        return complain("'%s' is not HOST:PORT", text);
    if (mode == OPTIONS_CONNECT &&
        strspn(options->address.port, "0") == strlen(options->address.port))
        return complain("'%s': nobody listens at port 0", text);
    return 0;
}

static int values_listen(void *place, const char *text)
{
    return set_end(place, text != NULL ? text : "", OPTIONS_LISTEN);
}

static int values_connect(void *place, const char *text)
{
    return set_end(place, text, OPTIONS_CONNECT);
}

/* ---- the table ---- */

#define AT(field) offsetof(struct options, field)
#define SETTING(field) offsetof(struct options, settings.field)
#define DECIDES .marks = OF_CONNECTING

static const struct argument_row rows[] = {
    ARGUMENT_HEADING("What is measured. BYTES and N may end in K, M or G, for powers of 1024:"),
    ARGUMENT(
        "transport", 't', OTHER, 0, 0, 0, "LIST",
        "transports that take turns: zcrp, tcp (the best one), tcp:default, tcp:NAME, "
        "tcp:NAME+128K (writes of that size), tcp:NAME+whole (one write a message), "
        "tcp:NAME+joined (the kernel joins small writes), "
        "udp-limit (the bare channel), unix and pipe (both ends here), srt, quic, tls, ktls, peers "
        "(the last four) (zcrp,tcp)",
        .read = values_transport, DECIDES),
    ARGUMENT("size", 's', OTHER, 0, 0, 0, "LIST",
             "bytes of a message; 64..64M*4 is 64, 256, and so on to 64M (64,1K,16K,64K,1M,64M; "
             "with --ping 64)",
             .read = values_size, DECIDES),
    ARGUMENT("count", 'n', NUMBER, AT(count), 1, INT64_MAX, "N", "messages in a measurement",
             DECIDES),
    ARGUMENT("bytes", 'b', NUMBER, AT(bytes), 1, INT64_MAX, "BYTES",
             "bytes in a measurement, instead of N messages (1G, but at most 400000 messages)",
             DECIDES),
    ARGUMENT("duration", 'd', SECONDS, AT(duration_ns), 1, DAY_MS, "SECONDS",
             "time of a measurement, instead of N or BYTES", DECIDES),
    ARGUMENT("rate", 0, RATE, AT(bits_per_s), 1, 0, "BITS",
             "send at most BITS of messages a second: 64k, 155M, 2.5G (no limit)", DECIDES),
    ARGUMENT_TRUE("reverse", 'R', AT(is_reverse),
                  "the listening end sends; with both ends here the ends swap", DECIDES),
    ARGUMENT("parallel", 'P', NUMBER, SETTING(flows), 1, FLOWS_MAX, "N",
             "use N flows at once, each with channels of its own (1)", DECIDES),
    ARGUMENT(
        "peers", 0, NUMBER, AT(peers), 1, OPTIONS_MAX_PEERS, "N",
        "measure N connections between two processes here, all busy at once, each process with "
        "one thread; zcrp with a completion queue, tcp with epoll and small writes joined",
        DECIDES),
    ARGUMENT("repeat", 'r', NUMBER, AT(repeat), 1, 10000, "N",
             "measurements of each size and transport (5)", DECIDES),
    ARGUMENT("memory", 'm', NUMBER, AT(memory_bytes), 1, INT64_MAX, "BYTES",
             "memory that messages cycle through, at least two messages (64M)", DECIDES),
    ARGUMENT("depth", 0, NUMBER, SETTING(depth), 1, 1 << 20, "N",
             "most messages under way at once (1024)", DECIDES),
    ARGUMENT_TRUE(
        "ping", 'p', AT(is_ping),
        "measure round trips: one message there, one back, nothing else under way; with --rate, "
        "messages leave on schedule, and each round trip counts from when it was due",
        DECIDES),
    ARGUMENT_TRUE("verify", 'v', AT(is_verified), "send pseudo-random bytes and verify each",
                  DECIDES),

    ARGUMENT_HEADING("Where. Without --listen and --connect both ends run here, over loopback:"),
    ARGUMENT("listen", 'l', OTHER, 0, 0, 0, "HOST:PORT",
             "be the listening end: serves one run after the other until a signal ends it (any "
             "address, port 7000)",
             .read = values_listen, .is_optional = true),
    ARGUMENT_TRUE("once", '1', AT(is_once), "as the listening end, serve one run and end"),
    ARGUMENT("connect", 'c', OTHER, 0, 0, 0, "HOST:PORT",
             "be the connecting end, which decides and reports (port 7000)",
             .read = values_connect),
    ARGUMENT("timeout", 0, SECONDS, SETTING(limit_ns), 1, DAY_MS, "SECONDS",
             "fail after SECONDS without progress (10)"),
    ARGUMENT_TRUE("netns", 0, AT(is_netns),
                  "run over a virtual ethernet link between two network namespaces (root)",
                  DECIDES),
    ARGUMENT("mtu", 0, NUMBER, AT(mtu), 576, 65535, "BYTES",
             "the MTU of the link that --netns lays (1500)", DECIDES),
    ARGUMENT("loss", 0, SHARE, AT(loss), 0, 0, "PERCENT%",
             "lose packets at random at both ends' sockets, as in 1%, 90% at most (0%)", DECIDES),
    ARGUMENT(
        "pin", 0, OTHER, 0, 0, 0, "A,B",
        "cores of the sending and the receiving end; with --listen or --connect this end's core "
        "(any)",
        .read = values_pin),

    ARGUMENT_HEADING("How messages are sent:"),
    ARGUMENT("unit", 'u', NUMBER, SETTING(unit_bytes), 64, 65507, "BYTES",
             "ZCRP's largest datagram, trailer included (what the path carries)", DECIDES),
    ARGUMENT("window", 'w', NUMBER, SETTING(window_bytes), 1, INT64_MAX, "BYTES",
             "most that ZCRP sends unacknowledged (32M)", DECIDES),
    ARGUMENT("buffers", 0, NUMBER, SETTING(buffer_bytes), 1, INT32_MAX, "BYTES",
             "socket buffers to ask for, except TCP's (4M; of unix 128K, of pipe 512K)", DECIDES),
    ARGUMENT_TRUE(
        "no-spin", 0, AT(is_spinless),
        "a thread that waits for a message of ZCRP sleeps at once; it does not spin first",
        DECIDES),
    ARGUMENT("channel", 0, NAME, SETTING(channel), 0, 0, "NAME",
             "ZCRP's channel: auto (memory on one host, else udp), udp, memory, mapped (memory "
             "that both ends map, with --peers), aal5 (a raw socket: CAP_NET_RAW), aal5-udp "
             "(auto; with --loss udp)",
             .names = carrier_names, DECIDES),
    ARGUMENT_TRUE("keys", 0, AT(has_keys),
                  "ZCRP uses connections with a pre-shared key, so all data are encrypted and "
                  "authenticated",
                  DECIDES),
    ARGUMENT("congestion", 0, NAME, SETTING(congestion), 0, 0, "NAME",
             "ZCRP's congestion control: bbr, cubic, reno, none (bbr)", .names = congestion_names,
             .wanted = "none, reno, cubic or bbr", DECIDES),
    ARGUMENT("tcp-cc", 0, TEXT, AT(tcp_cc), 0, 0, "NAME",
             "congestion control of plain tcp, tls and ktls; default: the machine's (the best)",
             DECIDES),

    ARGUMENT_HEADING("What comes out:"),
    ARGUMENT("interval", 'i', SECONDS, AT(interval_ns), 1, DAY_MS, "SECONDS",
             "print a line every SECONDS during a measurement", DECIDES),
    ARGUMENT_TRUE("stats", 'S', AT(wants_stats), "print both ends' counters after each measurement",
                  DECIDES),
    ARGUMENT("json", 'j', TEXT, AT(json), 0, 0, "FILE",
             "write all results to FILE as JSON; without FILE to standard output, instead of the "
             "table",
             .is_optional = true, DECIDES),
    ARGUMENT("key-log", 0, TEXT, AT(key_log), 0, 0, "FILE",
             "with --keys, append the secrets of ZCRP's connections at this end to FILE, so that "
             "captures can be decrypted"),
    ARGUMENT("trace", 0, TEXT, AT(trace), 0, 0, "FILE",
             "write the life of ZCRP's transfers to FILE as JSON lines, for zcrp-plot", DECIDES),
    ARGUMENT_TRUE("quiet", 'q', AT(is_quiet), "print no table and no progress"),
    ARGUMENT_USUAL,
};

static void note_row(void *place, const struct argument_row *row)
{
    struct options *options = place;

    options->given |= UINT64_C(1) << (row - rows);
}

static const struct argument_table table = {
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .usage = "\n--listen [HOST:PORT]\n--connect HOST:PORT\ndoctor [HOST:PORT]",
    .about =
        "zcrp-bench measures how fast messages move over ZCRP and over TCP, and what that costs "
        "in processor time. `zcrp-bench doctor` says what on this machine limits ZCRP.\v"
        "Exit status: 0 done; 1 something failed or arrived wrong; 2 the command line is wrong.",
    .seen = note_row,
};

enum { MOST_OTHERS = 8 };

/* Options that do not go together. */
static const struct rule {
    const char *option;
    const char *needs;                /* NULL: nothing */
    const char *without[MOST_OTHERS]; /* goes with none of these */
} rules[] = {
    {"once", "listen", {NULL}},
    {"connect", NULL, {"netns"}},
    {"mtu", "netns", {NULL}},
    {"count", NULL, {"bytes"}},
    {"duration", NULL, {"count", "bytes"}},
    {"ping", NULL, {"verify", "bytes", "interval", "parallel", "reverse"}},
    {"reverse", NULL, {"interval", "trace"}},
    {"keys", NULL, {"loss", "trace"}},
    {"peers",
     NULL,
     {"connect", "parallel", "ping", "loss", "no-spin", "verify", "trace", "interval"}},
};

static bool has(const struct options *options, const char *name)
{
    const struct argument_row *row = rows;

    while (row->name == NULL || strcmp(row->name, name) != 0)
        row++;
    return (options->given >> (row - rows) & 1) != 0;
}

static int check_rule(const struct options *options, const struct rule *rule)
{
    if (!has(options, rule->option))
        return 0;
    if (rule->needs != NULL && !has(options, rule->needs))
        return complain("--%s needs --%s", rule->option, rule->needs);
    for (size_t i = 0; i < MOST_OTHERS && rule->without[i] != NULL; i++) {
        if (has(options, rule->without[i]))
            return complain("--%s has no --%s", rule->option, rule->without[i]);
    }
    return 0;
}

static int check_rules(const struct options *options)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (check_rule(options, &rules[i]) < 0)
            return -1;
    }
    for (size_t i = 0; options->mode == OPTIONS_LISTEN && i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].marks == OF_CONNECTING && (options->given >> i & 1) != 0)
            return complain("--%s is for the connecting end to say", rows[i].name);
    }
    return 0;
}

/* Transports that cannot do what is asked of them. */
static int check_transport(const struct options *options, const struct choice *choice)
{
    const struct transport_kind *kind = choice->kind;

    if (options->is_ping && kind->put == NULL)
        return complain("--ping: %s only goes one way", choice->name);
    if (options->is_ping && options->bits_per_s != 0 && kind->takes_turns)
        return complain("--ping with --rate: %s does not send while it receives", choice->name);
    if (options->is_reverse && kind->is_one_way)
        return complain("--reverse: %s only goes one way", choice->name);
    if (options->peers > 0 && kind->crowd == NULL)
        return complain("--peers: zcrp and tcp only, not %s", choice->name);
    if (options->settings.loss > 0 && (kind == &transport_limit || kind->is_local))
        return complain("--loss: %s does not repeat what is lost", choice->name);
    if (kind->is_local && (options->mode == OPTIONS_CONNECT || options->is_netns))
        return complain("--%s: %s is for two ends on one host, which zcrp-bench starts itself",
                        options->is_netns ? "netns" : "connect", choice->name);
    return 0;
}

static bool has_zcrp(const struct options *options)
{
    bool has = options->transport_count == 0; /* by default */

    for (size_t i = 0; i < options->transport_count; i++)
        has = has || options->transports[i].kind == &transport_zcrp;
    return has;
}

/* Options that contradict each other, or have no effect. Keys are of connections, which have
 * sockets of their own; most of what goes by memory passes sockets by. */
static int check(const struct options *options)
{
    const struct settings *settings = &options->settings;
    bool is_alone = options->mode == OPTIONS_ALONE, is_listening = options->mode == OPTIONS_LISTEN;
    bool is_raw = settings->channel == CARRIER_AAL5;
    bool is_memory = carrier_is_memory(settings->channel);
    bool is_unpinned = options->core_count == 0;
    const struct {
        bool is_wrong;
        const char *text;
    } checks[] = {
        {options->trace != NULL && !has_zcrp(options),
         "--trace is of ZCRP: there is none in --transport"},
        {options->has_keys && !has_zcrp(options),
         "--keys is of ZCRP: there is none in --transport"},
        {is_raw && settings->flows > 1, "--channel aal5 has circuits for one flow: no --parallel"},
        {is_raw && options->peers > 0,
         "--peers has connections, which carry AAL5 over UDP only: --channel aal5-udp"},
        {is_raw && options->has_keys,
         "--keys is of connections, which carry AAL5 over UDP only: --channel aal5-udp"},
        {settings->channel == CARRIER_MAPPED && options->peers == 0,
         "--channel mapped has messages of connections: it needs --peers"},
        {options->loss > 0.9, "--loss is 90% at most"},
        {is_memory && settings->loss != 0, "--loss is of sockets: no --channel memory"},
        {is_memory && options->is_netns, "--channel memory is for ends of one host: no --netns"},
        {options->key_log != NULL && !options->has_keys && !is_listening, "--key-log needs --keys"},
        {options->is_ping && options->duration_ns != 0 && options->bits_per_s == 0,
         "--ping with --duration needs --rate"},
        {is_alone && !is_unpinned && options->core_count != 2,
         "--pin needs a core for each end, as in --pin 0,1"},
        {!is_alone && !is_unpinned && options->core_count != 1, "--pin needs one core: this end's"},
    };

    if (check_rules(options) < 0)
        return -1;
    for (size_t i = 0; i < options->transport_count; i++) {
        if (check_transport(options, &options->transports[i]) < 0)
            return -1;
    }
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (checks[i].is_wrong)
            return complain("%s", checks[i].text);
    }
    return 0;
}

/* Raw sockets hear every run between two machines that uses their circuits, so runs take different
 * ones: four from VCI 32 on. */
static void choose_circuit(struct settings *settings)
{
    if (settings->channel == CARRIER_AAL5)
        settings->vci = 32 + 4 * ((uint64_t)getpid() % 255);
}

/* Messages go both ways in round trips, and keys are of connections. The others are of sockets. */
static bool is_connected(const struct options *options)
{
    bool is_of_socket = options->settings.loss != 0 || options->trace != NULL ||
                        carrier_is_aal5(options->settings.channel);

    return options->has_keys || (options->is_ping && !is_of_socket);
}

static int set_defaults(struct options *options)
{
    if ((options->has_keys || options->settings.loss != 0) &&
        options->settings.channel == CARRIER_AUTO)
        options->settings.channel = CARRIER_UDP;
    options->settings.is_connected = is_connected(options);
    if (options->peers > 0 && options->count == 0 && options->bytes == 0 &&
        options->duration_ns == 0)
        options->duration_ns = 2 * SECOND_NS;
    choose_circuit(&options->settings);
    if (options->transport_count == 0 && values_transport(options, default_transports) < 0)
        return -1;
    for (size_t i = 0; i < options->transport_count; i++) {
        struct choice *choice = &options->transports[i];

        if (choice->kind->has_manners && strchr(choice->name, ':') == NULL)
            choice->variant = options->tcp_cc;
    }
    return options->size_count > 0
               ? 0
               : values_size(options, options->is_ping ? default_ping_size : default_sizes);
}

int options_parse(struct options *options, int argc, char **argv)
{
    int status;

    *options = defaults;
    options->command = argv;
    status = arguments_read_all(&table, options, argc, argv);
    if (status != 0)
        return status;
    if (has(options, "json") && options->json == NULL)
        options->json = "-";
    options->settings.loss = (uint64_t)(options->loss * LOSS_WHOLE);
    options->settings.is_spinless = options->is_spinless;
    options->settings.has_keys = options->has_keys;
    options->settings.peers = options->peers;
    if (check(options) < 0)
        return -1;
    return set_defaults(options);
}

bool options_have_output(const struct options *options)
{
    return !options->is_quiet && (options->json == NULL || strcmp(options->json, "-") != 0);
}

uint64_t options_count(const struct options *options, uint64_t size)
{
    uint64_t bytes = options->bytes != 0 ? options->bytes : many_bytes;
    uint64_t count = bytes / size;

    if (options->count != 0)
        return options->count;
    if (options->bytes == 0 && count > MANY_MESSAGES)
        return MANY_MESSAGES;
    return count > 0 ? count : 1;
}

uint64_t options_slots(const struct options *options, uint64_t size, uint64_t count)
{
    uint64_t slots = options->memory_bytes / size;

    if (slots < 2)
        slots = 2;
    if (options->duration_ns != 0)
        return slots;
    return slots > count ? count : slots;
}
