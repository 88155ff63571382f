#include "zcrp-bench/control/control.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/complain.h"
#include "zcrp-bench/control/connection.h"

static const char greeting[] = "zcrp-bench 13";
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

static const char *reason_of(int error)
{
    return error == EAGAIN ? "for too long" : strerror(error);
}

static int hear_bytes(const struct control *control, void *bytes, size_t size)
{
    ssize_t got = 0;

    for (char *at = bytes; size > 0; at += got, size -= (size_t)got) {
        do
            got = recv(control->fd, at, size, 0);
        while (got < 0 && errno == EINTR);
        bool has_hung_up = got == 0 || (got < 0 && errno == ECONNRESET); /* or was killed */
        if (has_hung_up)
            return complain("the other end hung up");
        if (got < 0)
            return complain("the other end says nothing: %s", reason_of(errno));
    }
    return 0;
}

/* Byte by byte: what follows the line is not to be taken. */
int control_hear(struct control *control)
{
    for (size_t length = 0; length < sizeof control->line; length++) {
        if (hear_bytes(control, &control->line[length], 1) < 0)
            return -1;
        if (control->line[length] != '\n')
            continue;
        control->line[length] = '\0';
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
    return complain("the other end is gone: %s", reason_of(error));
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

const char *control_expect(struct control *control, const char *verb)
{
    if (control_hear(control) < 0)
        return NULL;
    const char *arguments = control_arguments(control, verb);
    if (arguments == NULL)
        complain("the other end says '%.60s' instead of '%s'", control->line, verb);
    return arguments;
}

int control_say_numbers(struct control *control, const char *verb, const void *numbers, size_t size)
{
    uint8_t bytes[CONTROL_LINE + CONTROL_NUMBERS * WORD_BYTES];
    size_t length = (size_t)snprintf((char *)bytes, CONTROL_LINE, "%s\n", verb);
    uint64_t word;

    assert(size <= CONTROL_NUMBERS * WORD_BYTES);
    for (size_t at = 0; at < size; at += WORD_BYTES) {
        memcpy(&word, (const uint8_t *)numbers + at, WORD_BYTES);
        word_store(&bytes[length + at], word);
    }
    return say_bytes(control, bytes, length + size);
}

int control_hear_numbers(struct control *control, void *numbers, size_t size)
{
    uint8_t bytes[CONTROL_NUMBERS * WORD_BYTES] = {0};

    assert(size <= sizeof bytes);
    if (hear_bytes(control, bytes, size) < 0)
        return -1;
    for (size_t at = 0; at < size; at += WORD_BYTES) {
        uint64_t word = word_load(&bytes[at]);
        memcpy((uint8_t *)numbers + at, &word, WORD_BYTES);
    }
    return 0;
}

int control_expect_numbers(struct control *control, const char *verb, void *numbers, size_t size)
{
    return control_expect(control, verb) != NULL ? control_hear_numbers(control, numbers, size)
                                                 : -1;
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

int settings_say(struct control *control, const struct settings *settings)
{
    if (control_say_numbers(control, "settings", settings, sizeof *settings) < 0)
        return -1;
    return control_expect(control, "settled") != NULL ? 0 : -1;
}

int settings_hear(struct control *control, struct settings *settings)
{
    bool are_sane = control_hear_numbers(control, settings, sizeof *settings) == 0;

#define SETTINGS_CHECK(name, most) are_sane = are_sane && settings->name <= (uint64_t)(most);
    SETTINGS(SETTINGS_CHECK)
#undef SETTINGS_CHECK
    return are_sane && settings->depth > 0 && settings->flows > 0
               ? 0
               : complain("the connecting end says nonsense");
}
