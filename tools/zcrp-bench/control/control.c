#include "zcrp-bench/control/control.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/complain.h"
#include "zcrp-bench/control/connection.h"

static const char greeting[] = "zcrp-bench 10";
static const char failure[] = "failed";

/* A host that vanished is noticed although it says nothing. */
static void keep_alive(int fd)
{
    int one = 1;
    int seconds = 5;

    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static int hear_greeting(struct control *control)
{
    if (control_hear(control) < 0)
        return -1;
    if (strcmp(control->line, greeting) == 0)
        return 0;
    if (control_arguments(control, "zcrp-bench") == NULL)
        return complain("the other end is no zcrp-bench: it says '%.60s'", control->line);
    return complain("the other end is another version of zcrp-bench: it speaks '%.60s', not '%s'",
                    control->line, greeting);
}

int control_init(struct control *control, int fd, int64_t limit_ns)
{
    *control = (struct control){.fd = fd};
    keep_alive(fd);
    connection_limit(fd, limit_ns);
    if (control_say(control, "%s", greeting) < 0 || hear_greeting(control) < 0) {
        control_fini(control);
        return -1;
    }
    connection_limit(fd, 0);
    return 0;
}

void control_fini(struct control *control)
{
    close(control->fd);
    control->fd = -1;
}

static int hear_bytes(struct control *control, void *bytes, size_t size)
{
    char *at = bytes;

    while (size > 0) {
        ssize_t got = recv(control->fd, at, size, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return complain("the other end says nothing: %s", strerror(errno));
        if (got == 0)
            return complain("the other end hung up");
        at += got;
        size -= (size_t)got;
    }
    return 0;
}

/* How many bytes that have come are of the line: what follows it is not to be taken. At least 1: a
 * read waits, or tells what is wrong. */
static size_t look_ahead(const struct control *control, size_t room)
{
    char bytes[CONTROL_LINE];
    ssize_t got = recv(control->fd, bytes, room, MSG_PEEK);
    const char *end = got > 0 ? memchr(bytes, '\n', (size_t)got) : NULL;

    if (end != NULL)
        return (size_t)(end - bytes) + 1;
    return got > 0 ? (size_t)got : 1;
}

int control_hear(struct control *control)
{
    size_t length = 0;

    while (length < sizeof control->line) {
        size_t more = look_ahead(control, sizeof control->line - length);
        if (hear_bytes(control, control->line + length, more) < 0)
            return -1;
        length += more;
        if (control->line[length - 1] != '\n')
            continue;
        control->line[length - 1] = '\0';
        const char *reason = control_arguments(control, failure);
        return reason == NULL ? 0 : complain("the other end failed: %s", reason);
    }
    return complain("the other end is no zcrp-bench");
}

/* Nothing can be said any more; the other end may have left its reason. */
static int explain_silence(struct control *control, int error)
{
    bool has_hung_up = error == EPIPE || error == ECONNRESET;

    if (has_hung_up && control_hear(control) < 0)
        return -1;
    return complain("the other end is gone: %s", strerror(error));
}

static int say_bytes(struct control *control, const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size > 0) {
        ssize_t sent = send(control->fd, at, size, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return explain_silence(control, errno);
        at += sent;
        size -= (size_t)sent;
    }
    return 0;
}

int control_say(struct control *control, const char *format, ...)
{
    char line[CONTROL_LINE];
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (length < 0 || length >= (int)sizeof line - 1)
        length = (int)sizeof line - 2;
    line[length] = '\n';
    return say_bytes(control, line, (size_t)length + 1);
}

const char *control_arguments(const struct control *control, const char *verb)
{
    size_t length = strlen(verb);

    if (strncmp(control->line, verb, length) != 0)
        return NULL;
    if (control->line[length] == '\0')
        return &control->line[length];
    return control->line[length] == ' ' ? &control->line[length + 1] : NULL;
}

int control_figures(const char *arguments, uint64_t *figures, size_t count)
{
    char *end;

    for (size_t i = 0; i < count; i++) {
        figures[i] = strtoull(arguments, &end, 10);
        if (end == arguments)
            return -1;
        arguments = end;
    }
    return *arguments == '\0' ? 0 : -1;
}

const char *control_expect(struct control *control, const char *verb)
{
    if (control_hear(control) < 0)
        return NULL;
    const char *arguments = control_arguments(control, verb);
    if (arguments == NULL)
        complain("the other end says '%.60s' instead of '%s'", control->line, verb);
    return arguments;
}

int control_expect_figures(struct control *control, const char *verb, uint64_t *figures,
                           size_t count)
{
    const char *arguments = control_expect(control, verb);

    if (arguments == NULL)
        return -1;
    if (control_figures(arguments, figures, count) < 0)
        return complain("the other end says nonsense: '%.80s'", control->line);
    return 0;
}

int control_say_numbers(struct control *control, const uint64_t *numbers, size_t count)
{
    uint8_t bytes[CONTROL_NUMBERS * WORD_BYTES];

    assert(count <= CONTROL_NUMBERS);
    for (size_t i = 0; i < count; i++)
        word_store(&bytes[i * WORD_BYTES], numbers[i]);
    return say_bytes(control, bytes, count * WORD_BYTES);
}

int control_hear_numbers(struct control *control, uint64_t *numbers, size_t count)
{
    uint8_t bytes[CONTROL_NUMBERS * WORD_BYTES] = {0};

    assert(count <= CONTROL_NUMBERS);
    if (hear_bytes(control, bytes, count * WORD_BYTES) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        numbers[i] = word_load(&bytes[i * WORD_BYTES]);
    return 0;
}

bool control_is_broken(const struct control *control)
{
    char first;
    ssize_t got = recv(control->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);

    if (got < 0)
        return errno != EAGAIN && errno != EINTR;
    return got == 0 || first == failure[0];
}

bool control_has_news(const struct control *control)
{
    struct pollfd waiting = {.fd = control->fd, .events = POLLIN};

    return poll(&waiting, 1, 0) > 0;
}

/* ---- settings ---- */

/* A struct of numbers is an array of them. */
enum { SETTINGS_COUNT = sizeof(struct settings) / sizeof(uint64_t) };

int settings_say(struct control *control, const struct settings *settings)
{
    uint64_t values[SETTINGS_COUNT];
    char line[CONTROL_LINE] = "";
    size_t length = 0;

    memcpy(values, settings, sizeof values);
    for (size_t i = 0; i < SETTINGS_COUNT; i++)
        length += (size_t)snprintf(&line[length], sizeof line - length, " %" PRIu64, values[i]);
    if (control_say(control, "settings%s", line) < 0)
        return -1;
    return control_expect(control, "settled") != NULL ? 0 : -1;
}

int settings_read(const char *arguments, struct settings *settings)
{
    static const uint64_t most[SETTINGS_COUNT] = {
#define SETTINGS_MOST(name, most) most,
        SETTINGS(SETTINGS_MOST)
#undef SETTINGS_MOST
    };
    uint64_t values[SETTINGS_COUNT];

    if (control_figures(arguments, values, SETTINGS_COUNT) < 0)
        return -1;
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        if (values[i] > most[i])
            return -1;
    }
    memcpy(settings, values, sizeof values);
    return settings->depth > 0 ? 0 : -1;
}
