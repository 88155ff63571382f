#include "meeting.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sodium.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "complain.h"

enum {
    FACT_ROOM = 128,
    PORT_ROOM = 8,
    NAME_ROOM = 64,
    WORDS_MOST = 64, /* of the remote shell, and behind it */
    ARGUMENTS_MOST = 16,
    LINE_MOST = 1 << 12, /* bytes; a longer line counts as several */
    STRANGE_MOST = 65,   /* lines of the remote shell, and the far end's empty one */
    WAITS = 300,         /* of 10 ms: so long may the far end take to end */
    NOT_FOUND = 127,     /* a shell's status for a command that it does not find */
};

void meeting_make(struct meeting *meeting, uint16_t port)
{
    randombytes_buf(meeting->key, MEETING_KEY_BYTES);
    randombytes_buf(meeting->near_proof, MEETING_PROOF_BYTES);
    randombytes_buf(meeting->far_proof, MEETING_PROOF_BYTES);
    meeting->host = meeting_host();
    meeting->port = port;
}

void meeting_forget(struct meeting *meeting)
{
    explicit_bzero(meeting, sizeof(*meeting));
}

/* ---- lines ---- */

static char *put_digits(char *to, const uint8_t *bytes, size_t count)
{
    return sodium_bin2hex(to, 2 * count + 1, bytes, count) + 2 * count;
}

static bool take_digits(const char **from, uint8_t *bytes, size_t count)
{
    size_t length = 0;

    (void)sodium_hex2bin(bytes, count, *from, strnlen(*from, 2 * count), NULL, &length, from);
    return length == count;
}

void meeting_write(const struct meeting *meeting, const struct meeting_program *program,
                   char line[MEETING_ROOM])
{
    int length = snprintf(line, MEETING_ROOM, "%s %d ", program->name, program->version);
    char *to = put_digits(line + length, meeting->key, MEETING_KEY_BYTES);

    if (program->has_proofs) {
        *to++ = ' ';
        to = put_digits(to, meeting->near_proof, MEETING_PROOF_BYTES);
        to = put_digits(to, meeting->far_proof, MEETING_PROOF_BYTES);
    }
    (void)snprintf(to, (size_t)(line + MEETING_ROOM - to), " %016" PRIx64 " %u\n", meeting->host,
                   (unsigned)meeting->port);
}

/* Behind "PROGRAM VERSION ", of this version; NULL: the line does not begin so. */
static const char *skip_name(const struct meeting_program *program, const char *line)
{
    int version = 0, length = 0;

    if (!meeting_is_line(program, line) ||
        sscanf(line + strlen(program->name), " %d %n", &version, &length) != 1 ||
        version != program->version)
        return NULL;
    return line + strlen(program->name) + length;
}

bool meeting_read(struct meeting *meeting, const struct meeting_program *program, const char *line)
{
    unsigned port = 0;

    line = skip_name(program, line);
    if (line == NULL || !take_digits(&line, meeting->key, MEETING_KEY_BYTES) ||
        (program->has_proofs &&
         (*line++ != ' ' || !take_digits(&line, meeting->near_proof, MEETING_PROOF_BYTES) ||
          !take_digits(&line, meeting->far_proof, MEETING_PROOF_BYTES))) ||
        sscanf(line, " %" SCNx64 " %u", &meeting->host, &port) != 2 || port > UINT16_MAX)
        return false;
    meeting->port = (uint16_t)port;
    return true;
}

void meeting_write_port(const struct meeting_program *program, uint16_t port, bool is_one_host,
                        char line[MEETING_ROOM])
{
    (void)snprintf(line, MEETING_ROOM, "%s %d %u %u\n", program->name, program->version,
                   (unsigned)port, is_one_host ? (unsigned)port : 0);
}

bool meeting_read_port(const struct meeting_program *program, const char *line, uint16_t *port,
                       bool *is_one_host)
{
    unsigned first = 0, second = 0;

    line = skip_name(program, line);
    if (line == NULL || sscanf(line, "%u %u", &first, &second) != 2 || first == 0 ||
        first > UINT16_MAX || second > UINT16_MAX)
        return false;
    *port = (uint16_t)first;
    *is_one_host = second != 0;
    return true;
}

bool meeting_is_line(const struct meeting_program *program, const char *line)
{
    size_t length = strlen(program->name);

    return strncmp(line, program->name, length) == 0 && line[length] == ' ';
}

/* ---- one host ---- */

/* Both facts count: network namespaces of two hosts have one number, as a rule. */
static bool read_facts(char facts[2 * FACT_ROOM])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, facts, FACT_ROOM) : -1;

    if (fd >= 0)
        (void)close(fd);
    return length > 0 && readlink("/proc/self/ns/net", facts + FACT_ROOM, FACT_ROOM) > 0;
}

uint64_t meeting_host(void)
{
    char facts[2 * FACT_ROOM] = "";
    uint8_t hash[crypto_generichash_BYTES_MIN];
    uint64_t host;

    if (!read_facts(facts)) {
        randombytes_buf(&host, sizeof(host));
        return host;
    }
    (void)crypto_generichash(hash, sizeof(hash), (const uint8_t *)facts, sizeof(facts), NULL, 0);
    memcpy(&host, hash, sizeof(host));
    return host;
}

/* ---- the far end ---- */

int meeting_hear(struct meeting *meeting, const struct meeting_program *program)
{
    static char name[NAME_ROOM];
    char text[MEETING_ROOM];
    int status = 0;

    (void)snprintf(name, sizeof(name), "%s (far end)", program->name);
    program_invocation_short_name = name;
    if (fgets(text, sizeof(text), stdin) == NULL || !meeting_read(meeting, program, text))
        status = complain("--far is for %s itself, of the same version", program->name);
    explicit_bzero(text, sizeof(text));
    return status;
}

int meeting_answer(const struct meeting *meeting, const struct meeting_program *program,
                   uint16_t port)
{
    char text[MEETING_ROOM];

    meeting_write_port(program, port, meeting->host == meeting_host(), text);
    return putchar('\n') != EOF && fputs(text, stdout) >= 0 && fflush(stdout) == 0
               ? 0
               : complain("cannot answer: %s", strerror(errno));
}

/* ---- secrets ---- */

struct zcrp_keys *meeting_keys(const struct meeting *meeting, const struct meeting_program *program)
{
    struct zcrp_keys *keys = NULL;
    int code = zcrp_keys_psk(&keys, program->name, meeting->key, MEETING_KEY_BYTES);

    if (code != 0)
        (void)complain("cannot make a key: %s", zcrp_explain(code));
    return keys;
}

/* Only a key pair takes pins. */
static bool is_pair(struct zcrp_keys *keys)
{
    static const char any[] = "0000000000000000000000000000000000000000000000000000000000000000";

    return zcrp_keys_pin(keys, any) == ZCRP_OK;
}

struct zcrp_keys *meeting_server_keys(const char *path)
{
    struct zcrp_keys *keys = NULL;
    int code = zcrp_keys_read(&keys, path);

    if (code != 0) {
        (void)complain("%s", zcrp_explain(code));
    } else if (is_pair(keys)) {
        (void)complain(
            "%s is a key pair, but --keys needs a pre-shared key: zcrp-keys generate psk", path);
        zcrp_keys_free(keys);
        keys = NULL;
    }
    return keys;
}

int meeting_listen(struct zcrp_listener **listener, const char *address, uint64_t port,
                   const struct zcrp_options *options)
{
    char text[PORT_ROOM];

    if (options->keys == NULL)
        return -1;
    (void)snprintf(text, sizeof(text), "%u", (unsigned)port);
    int code = zcrp_listen(listener, address, text, options);
    if (code != 0)
        (void)complain("cannot listen on UDP port %s%s%s: %s", text, address != NULL ? " of " : "",
                       address != NULL ? address : "", zcrp_explain(code));
    zcrp_keys_free(options->keys);
    return code == 0 ? 0 : -1;
}

/* ---- starting ---- */

/* The words of the command, in `text`, which it cuts. */
static int cut(char *text, char *words[WORDS_MOST])
{
    int count = 0;

    for (char *word = strtok(text, " \t"); word != NULL; word = strtok(NULL, " \t")) {
        if (count == WORDS_MOST - ARGUMENTS_MOST - 3)
            return complain("--rsh has too many words");
        words[count++] = word;
    }
    return count > 0 ? count : complain("--rsh has no command");
}

/* Runs the words, between the two pipes. 0 or errno. */
static int run(struct remote *remote, char **words, const int in[2], const int out[2])
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t of_its_own;

    sigemptyset(&of_its_own);
    sigaddset(&of_its_own, SIGPIPE);
    sigaddset(&of_its_own, SIGXFSZ);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigdefault(&attributes, &of_its_own);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    int code = posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    if (code == 0)
        code = posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    if (code == 0)
        code = posix_spawnp(&remote->pid, words[0], &actions, &attributes, words, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return code;
}

static int start(struct remote *remote, char **words)
{
    int in[2], out[2];

    if (pipe2(in, O_CLOEXEC) != 0)
        return complain("cannot make a pipe: %s", strerror(errno));
    remote->in = in[1];
    int code = pipe2(out, O_CLOEXEC) == 0 ? 0 : complain("cannot make a pipe: %s", strerror(errno));
    if (code == 0) {
        remote->out = out[0];
        code = run(remote, words, in, out);
        (void)close(out[1]);
    }
    (void)close(in[0]);
    if (code <= 0)
        return code;
    remote->pid = 0;
    if (code == ENOENT && strcmp(words[0], "ssh") == 0)
        return complain("needs ssh: apt install openssh-client");
    return complain("cannot run %s: %s", words[0], strerror(code));
}

const char *remote_shell(void)
{
    const char *shell = getenv("ZCRP_RSH");

    return shell != NULL && shell[0] != '\0' ? shell : "ssh";
}

int remote_start(struct remote *remote, const char *shell, const char *login,
                 const char *far_program, const char *const arguments[])
{
    char *words[WORDS_MOST], *text = strdup(shell);
    int count = text != NULL ? cut(text, words) : complain("no memory");

    *remote = (struct remote){.in = -1, .out = -1, .login = login};
    if (count > 0) {
        words[count] = (char *)login;
        words[count + 1] = (char *)far_program;
        for (int i = 0; i <= ARGUMENTS_MOST; i++) {
            words[count + 2 + i] = i < ARGUMENTS_MOST ? (char *)arguments[i] : NULL;
            if (words[count + 2 + i] == NULL)
                break;
        }
        count = start(remote, words) == 0 ? count : -1;
    }
    free(text);
    return count > 0 ? 0 : -1;
}

/* ---- answering ---- */

/* A line without its newline, cut to the room. Byte by byte: it comes once. False at the end, or
 * after a signal. */
static bool read_line(int fd, char line[MEETING_ROOM])
{
    size_t length = 0, bytes = 0;
    char c;

    for (;;) {
        ssize_t count = read(fd, &c, 1);

        if (count <= 0)
            return false;
        if (c == '\n' || ++bytes == LINE_MOST)
            break;
        if (length < MEETING_ROOM - 1)
            line[length++] = c;
    }
    line[length] = '\0';
    return true;
}

static int complain_of_end(struct remote *remote, const struct meeting_program *program)
{
    int status = 0;

    (void)close(remote->in); /* a far end that waits for it ends, too */
    remote->in = -1;
    if (waitpid(remote->pid, &status, 0) == remote->pid)
        remote->pid = 0;
    if (WIFSIGNALED(status))
        return complain("%s: the remote shell was ended by signal %d", remote->login,
                        WTERMSIG(status));
    if (WEXITSTATUS(status) == NOT_FOUND)
        return complain(
            "%s: the remote shell ended without an answer, with status %d: is %s there? "
            "--far-program says where",
            remote->login, NOT_FOUND, program->name);
    return complain("%s: the remote shell ended without an answer, with status %d", remote->login,
                    WEXITSTATUS(status));
}

int remote_meet(struct remote *remote, const struct meeting *meeting,
                const struct meeting_program *program, uint16_t *port, bool *is_one_host)
{
    char line[MEETING_ROOM];

    meeting_write(meeting, program, line);
    /* If it cannot be written, what can be read says why. */
    (void)!write(remote->in, line, strlen(line));
    explicit_bzero(line, sizeof(line));
    errno = 0;
    for (int i = 0; i < STRANGE_MOST; i++) {
        if (!read_line(remote->out, line))
            return errno == EINTR ? -1 : complain_of_end(remote, program);
        if (meeting_read_port(program, line, port, is_one_host))
            return 0;
        if (meeting_is_line(program, line))
            return complain("%s: the far end is another version of %s", remote->login,
                            program->name);
    }
    /* It goes on, and may do so for ever: remote_end ends it. */
    return complain("%s: the remote shell prints %d lines, and none is the answer of %s",
                    remote->login, STRANGE_MOST, program->name);
}

/* ---- the end ---- */

void remote_end(struct remote *remote)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    int status, code = errno; /* a complaint may follow */

    if (remote->in >= 0)
        (void)close(remote->in);
    remote->in = -1;
    for (int i = 0; remote->pid > 0 && i < WAITS; i++) {
        if (waitpid(remote->pid, &status, WNOHANG) != 0)
            remote->pid = 0;
        else
            (void)nanosleep(&moment, NULL);
    }
    if (remote->pid > 0) {
        (void)kill(remote->pid, SIGTERM);
        (void)waitpid(remote->pid, &status, 0);
        remote->pid = 0;
    }
    if (remote->out >= 0)
        (void)close(remote->out);
    remote->out = -1;
    errno = code;
}
