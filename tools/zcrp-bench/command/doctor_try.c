/* Two processes, the library between them: does UDP work, and may one read the other's memory? */
#include "zcrp-bench/command/doctor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/environment.h"
#include "zcrp.h"

enum { MESSAGE_BYTES = 1 << 16, STATUS_LINE = 256 };

static const int64_t second_ns = 1000000000;

/* The namespace of processes that the system started with has this number. */
static const ino_t first_pid_namespace = 0xEFFFFFFCu;

struct attempt {
    int code;     /* of the messages */
    int error;    /* errno of a process that could not be started; else 0 */
    uint64_t why; /* enum zcrp_memory_refusal */
    bool was_memory;
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * second_ns + now.tv_nsec;
}

/* ---- the two ends ---- */

/* Receives until it is killed. */
static void receive(int fd, const struct zcrp_options *options)
{
    struct zcrp_msg *message = zcrp_alloc_msg(MESSAGE_BYTES);
    struct zcrp_entity *receiver;
    int code = prctl(PR_SET_PDEATHSIG, SIGKILL);

    if (code == 0 && message != NULL)
        code = zcrp_udp_accept(fd, second_ns);
    if (code == 0)
        code = zcrp_open_receiver(&receiver, (int[]){fd, fd}, options);
    while (code == 0) {
        code = zcrp_submit(receiver, message, MESSAGE_BYTES);
        if (code == 0)
            code = zcrp_wait_for(message, -1);
    }
    _exit(EXIT_FAILURE);
}

/* Sends until it is known how the two ends stand to each other. */
static struct attempt send_some(struct zcrp_entity *sender, struct zcrp_msg *message, bool is_udp)
{
    struct attempt attempt = {.code = 0};
    int64_t began = now_ns();

    while (attempt.code == 0 && now_ns() - began < 3 * second_ns) {
        struct zcrp_stats stats;
        attempt.code = zcrp_submit(sender, message, MESSAGE_BYTES);
        if (attempt.code == 0)
            attempt.code = zcrp_wait_for(message, 2 * second_ns);
        if (zcrp_stats(sender, &stats) == 0) {
            attempt.was_memory = stats.bytes_copied_once > 0;
            attempt.why = stats.memory_refused;
        }
        if (is_udp || attempt.was_memory || attempt.why != ZCRP_MEMORY_FINE)
            break;
    }
    return attempt;
}

static struct attempt send_to(int fd, const struct zcrp_options *options, bool is_udp)
{
    struct zcrp_msg *message = zcrp_alloc_msg(MESSAGE_BYTES);
    struct zcrp_entity *sender = NULL;
    struct attempt attempt = {.code = ZCRP_ERROR_MEMORY};

    if (message != NULL) {
        memset(message->buffer, 1, MESSAGE_BYTES);
        attempt.code = zcrp_open_sender(&sender, (int[]){fd, fd}, options);
    }
    if (attempt.code == 0)
        attempt = send_some(sender, message, is_udp);
    zcrp_close(sender);
    zcrp_free_msg(message);
    return attempt;
}

static struct attempt attempt_between(int out, int in, bool is_udp)
{
    const struct zcrp_options options = {
        .flags = is_udp ? ZCRP_NO_MEMORY : 0, .linger_ns = second_ns / 10, .connect_ns = second_ns};

    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        receive(in, &options);
    if (child < 0)
        return (struct attempt){.code = ZCRP_ERROR_SYSTEM, .error = errno};
    struct attempt attempt = send_to(out, &options, is_udp);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return attempt;
}

/* This process sends, and its child reads: Yama lets a parent read in any case. */
static struct attempt attempt_here(bool is_udp)
{
    char port[16];
    int in = zcrp_udp_listen("127.0.0.1", "0");

    if (in < 0)
        return (struct attempt){.code = in};
    snprintf(port, sizeof port, "%d", zcrp_udp_port(in));
    int out = zcrp_udp_connect("127.0.0.1", port);
    struct attempt attempt = {.code = out};
    if (out >= 0)
        attempt = attempt_between(out, in, is_udp);
    if (out >= 0)
        close(out);
    close(in);
    return attempt;
}

/* ---- findings ---- */

static bool try_udp(void)
{
    struct attempt attempt = attempt_here(true);
    const char *why = attempt.error != 0 ? strerror(attempt.error) : zcrp_explain(attempt.code);

    if (attempt.code == 0) {
        doctor_say(true, "UDP: a message came from one process to another");
        return true;
    }
    doctor_say(false, "UDP: no message came from one process to another: %s", why);
    doctor_advise("ip link set lo up   # and see whether a firewall drops UDP to 127.0.0.1");
    return false;
}

static void advise_on_yama(char scope)
{
    if (scope == '1') {
        doctor_advise("sysctl -w kernel.yama.ptrace_scope=0");
        doctor_advise("# or, for one program, ZCRP_ALLOW_PTRACE in its zcrp_options.flags");
    } else if (scope == '2') {
        doctor_advise("sysctl -w kernel.yama.ptrace_scope=1   # and ZCRP_ALLOW_PTRACE in programs");
    } else if (scope == '3') {
        doctor_advise("the system allows it again only after a restart, with another value");
    }
}

/* Is a process of this user that is no ancestor's forbidden to read by Yama? */
static void check_yama(void)
{
    char scope[DOCTOR_WORD];

    doctor_read_word("/proc/sys/kernel/yama/ptrace_scope", scope);
    bool is_ok = scope[0] == '\0' || scope[0] == '0';
    doctor_say(is_ok || geteuid() == 0, "kernel.yama.ptrace_scope: %s",
               scope[0] == '\0' ? "the kernel has no Yama"
               : is_ok          ? "0, which lets processes of one user read each other's memory"
                                : scope);
    if (!is_ok)
        advise_on_yama(scope[0]);
}

/* The value of a line of /proc/self/status; "" if there is none. */
static void read_status(const char *name, char value[DOCTOR_WORD])
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[STATUS_LINE];
    size_t length = strlen(name);

    value[0] = '\0';
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            snprintf(value, DOCTOR_WORD, "%.*s", (int)strcspn(line + length + 2, "\n"),
                     line + length + 2);
    if (file != NULL)
        fclose(file);
}

static void check_seccomp(void)
{
    char mode[DOCTOR_WORD];

    read_status("Seccomp", mode);
    doctor_say(true, "seccomp: %s",
               strcmp(mode, "2") == 0 ? "a filter is set" : "no filter is set");
}

static void check_pid_namespace(void)
{
    struct stat file;

    if (stat("/proc/self/ns/pid", &file) < 0)
        doctor_say(true, "namespace of processes: not known, /proc is not there");
    else if (file.st_ino == first_pid_namespace)
        doctor_say(true, "namespace of processes: the system's own");
    else
        doctor_say(true, "namespace of processes: another than the system's, as in a container; "
                         "only peers in it are reached by memory");
}

static void advise_on_refusal(uint64_t why)
{
    if (why == ZCRP_MEMORY_FORBIDDEN) {
        doctor_advise(
            "see Yama and seccomp below; for a container: docker run --cap-add SYS_PTRACE");
        doctor_advise("# messages of zcrp_connection_alloc_msg need no right");
    } else if (why == ZCRP_MEMORY_LIMITED) {
        doctor_advise("ulimit -n; ulimit -v; ulimit -f   # which of them is low?");
    }
}

static const char *const reasons[] = {
    [ZCRP_MEMORY_FINE] = "ZCRP_NO_MEMORY is set, or they did not meet",
    [ZCRP_MEMORY_ELSEWHERE] = "they did not find each other",
    [ZCRP_MEMORY_STRANGER] = "the kernel takes them for strangers",
    [ZCRP_MEMORY_FORBIDDEN] = "the kernel forbids it",
    [ZCRP_MEMORY_LIMITED] = "memory or descriptors are missing",
    [ZCRP_MEMORY_FALSE] = "what one handed to the other was wrong",
};

static void try_memory(void)
{
    struct attempt attempt = {.why = ZCRP_MEMORY_FINE};

    if (!environment_is_set("ZCRP_NO_MEMORY"))
        attempt = attempt_here(false);

    if (attempt.was_memory) {
        doctor_say(true, "memory: a process of this user may read another's");
        return;
    }
    doctor_say(false, "memory: no process of this user reads another's: %s", reasons[attempt.why]);
    advise_on_refusal(attempt.why);
}

bool doctor_try(void)
{
    bool is_well = try_udp();

    if (is_well)
        try_memory();
    check_yama();
    check_seccomp();
    check_pid_namespace();
    return is_well;
}
