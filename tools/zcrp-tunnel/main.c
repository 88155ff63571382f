/* zcrp-tunnel: carries TCP streams between two machines. See docs/zcrp-tunnel.1; control.h says
 * what the two ends tell each other. */
#include <stddef.h>
#include <string.h>

#include "common/arguments.h"
#include "common/complain.h"
#include "tunnel.h"

#define AT(field) offsetof(struct options, field)
/* A value that is an address, or several. */
#define PLACES(word, letter, where, shown, text, reader)                                           \
    ARGUMENT(word, letter, OTHER, where, 0, 0, shown, text, .read = (reader), .wanted = (shown))

static int add_forward(struct options *options, const char *text, struct forward forward)
{
    if ((forward.is_socks ? spec_address(&forward.bind, text, 0) : spec_forward(&forward, text)) !=
        0)
        return -1;
    if (options->forward_count == FORWARDS_MOST) {
        (void)complain("too many forwards");
        return ARGUMENT_COMPLAINED;
    }
    options->forwards[options->forward_count++] = forward;
    return 0;
}

static int read_local(void *place, const char *text)
{
    return add_forward(place, text, (struct forward){.is_socks = false});
}

static int read_remote(void *place, const char *text)
{
    return add_forward(place, text, (struct forward){.is_reverse = true});
}

static int read_socks(void *place, const char *text)
{
    return add_forward(place, text, (struct forward){.is_socks = true});
}

static int read_rule(void *place, const char *text)
{
    struct rules *rules = place;

    if (rules->count < RULES_MOST)
        return spec_rule(&rules->of[rules->count++], text);
    (void)complain("too many of --allow, or of --allow-listen");
    return ARGUMENT_COMPLAINED;
}

/* Where a far end listens: port 0 is any free one. */
static int read_serve(void *place, const char *text)
{
    return spec_address(place, text, PORT_OF_SERVERS);
}

static int read_far(void *place, const char *text)
{
    return spec_peer(place, text, PORT_OF_SERVERS);
}

static const struct argument_row rows[] = {
    PLACES("local", 'L', 0, "[ADDRESS:]PORT:HOST:PORT",
           "listen here; the far end connects to HOST:PORT", read_local),
    PLACES("remote", 'R', 0, "[ADDRESS:]PORT:HOST:PORT",
           "the far end listens; this end connects to HOST:PORT", read_remote),
    PLACES("socks", 'D', 0, "[ADDRESS:]PORT",
           "listen here for SOCKS5 clients, which say where they want to go", read_socks),
    PLACES("stdio", 'W', AT(stdio), "HOST[:PORT]",
           "one stream, from standard input and to standard output, through a standing far end",
           read_far),
    ARGUMENT_HEADING("The far end:"),
    ARGUMENT("keys", 'k', TEXT, AT(keys), 0, 0, "FILE",
             "the key of a standing far end, made by zcrp-keys; without it, ssh starts one"),
    PLACES("serve", 0, AT(serve), "ADDRESS[:PORT]",
           "be a standing far end (UDP port 6637); '*' is any address", read_serve),
    ARGUMENT("allow", 0, OTHER, AT(allowed), 0, 0, "HOST:PORT",
             "with --serve: clients may go there; either may be *", .read = read_rule,
             .wanted = "HOST:PORT, where either may be *"),
    ARGUMENT("allow-listen", 0, OTHER, AT(listened), 0, 0, "ADDRESS:PORT",
             "with --serve: clients may listen there with -R; either may be *", .read = read_rule,
             .wanted = "ADDRESS:PORT, where either may be *"),
    ARGUMENT("rsh", 'e', TEXT, AT(rsh), 0, 0, "COMMAND",
             "start the far end by COMMAND (ZCRP_RSH in the environment, or ssh)"),
    ARGUMENT("far-program", 0, TEXT, AT(far_program), 0, 0, "PATH",
             "where zcrp-tunnel is at the far end (zcrp-tunnel)"),
    ARGUMENT("address", 0, TEXT, AT(address), 0, 0, "ADDRESS",
             "connect to ADDRESS, not to the host's name"),
    ARGUMENT("port", 0, NUMBER, AT(port), 1, 65535, "PORT",
             "the far end that ssh starts listens on UDP port PORT (any)"),
    ARGUMENT_TRUE("far", 0, AT(is_far), "be the far end of one tunnel, as zcrp-tunnel starts it"),
    ARGUMENT_HEADING("Others:"),
    ARGUMENT("warm", 0, NUMBER, AT(warm), 0, 1024, "COUNT",
             "keep COUNT connections ready for new streams (8)"),
    ARGUMENT("window", 0, NUMBER, AT(streams.window), CREDIT_LEAST *STREAM_BYTES, 1 << 30, "BYTES",
             "most bytes in flight of one stream, each way (3M)"),
    ARGUMENT("memory", 0, NUMBER, AT(streams.memory), 0, UINT64_MAX, "BYTES",
             "most bytes of buffers of all busy streams (256M)"),
    ARGUMENT("silence", 0, SECONDS, AT(streams.silence_ns), 1000, 86400000, "SECONDS",
             "give up an end that has sent nothing for SECONDS (30)"),
    ARGUMENT_TRUE("verbose", 'v', AT(streams.is_verbose), "print each stream that begins or ends"),
    ARGUMENT_USUAL,
};

static const struct argument_table table = {
    .rows = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .usage = "[USER@]HOST -L [ADDRESS:]PORT:HOST:PORT...\n"
             "--keys FILE HOST[:PORT] -L [ADDRESS:]PORT:HOST:PORT...\n"
             "--keys FILE --stdio HOST[:PORT] HOST:PORT\n"
             "--keys FILE --serve ADDRESS[:PORT] --allow HOST:PORT...",
    .about = "Carries TCP streams between two machines by ZCRP, which bears delay and loss, "
             "encrypted.\v"
             "SIGUSR1 prints what was counted. Exit status: 0 fine; 1 --stdio: the stream was "
             "refused or reset; 2 the command line is wrong; 3 no connection to the far end, or no "
             "address to listen at; 128 and its number: ended by a signal.",
};

/* Options may stand behind the word, too. *word: NULL if there is none. */
static int read_options(struct options *options, int argc, char **argv, const char **word)
{
    *word = NULL;
    for (;;) {
        int next = argc;
        int status = arguments_read(&table, options, argc, argv, &next);

        if (status != 0 || next >= argc)
            return status;
        if (*word != NULL)
            return complain("unexpected argument '%s'", argv[next]);
        *word = argv[next];
        argc -= next;
        argv += next;
    }
}

static int check(const struct options *options, const char *word)
{
    bool serves = options->serve.host[0] != '\0', is_stdio = options->stdio.host[0] != '\0';
    bool is_near = !serves && !options->is_far, has_forwards = options->forward_count > 0;
    bool starts = options->rsh != NULL || options->far_program != NULL || options->port != 0;
    const struct {
        bool is_broken;
        const char *text;
    } rules[] = {
        {serves && options->keys == NULL, "--serve needs --keys"},
        {serves && (word != NULL || has_forwards), "a standing far end has no forwards of its own"},
        {!serves && (options->allowed.count > 0 || options->listened.count > 0),
         "--allow and --allow-listen are for --serve"},
        {options->keys != NULL && starts,
         "--rsh, --far-program and --port are for a far end that a remote shell starts"},
        {serves && options->address != NULL, "--address is for the near end"},
        {is_stdio && (has_forwards || options->keys == NULL),
         "--stdio needs --keys, and has no forwards"},
        {options->is_far && (word != NULL || has_forwards || serves),
         "--far is for zcrp-tunnel itself"},
        {is_near && word == NULL, is_stdio ? "what is the target?" : "which host has the far end?"},
        {is_near && !has_forwards && !is_stdio, "nothing to do: no -L, -R or --socks"},
    };

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (rules[i].is_broken)
            return complain("%s", rules[i].text);
    return 0;
}

int main(int argc, char **argv)
{
    static struct options options = {
        .streams = {.window = 3 << 20, .memory = 256 << 20, .silence_ns = 30000000000},
        .warm = 8,
    };
    const char *word;

    int status = read_options(&options, argc, argv, &word);
    if (status != 0)
        return arguments_status(status);
    if (check(&options, word) != 0)
        return arguments_status(-1);
    if (options.rsh == NULL)
        options.rsh = remote_shell();
    if (options.far_program == NULL)
        options.far_program = tunnel_program.name;
    if (options.is_far)
        return far_run(&options);
    if (options.serve.host[0] != '\0')
        return far_serve(&options);
    if (options.stdio.host[0] != '\0')
        return stdio_run(&options, word);
    return near_run(&options, word);
}
