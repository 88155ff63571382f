#include "stage.h"

#include "place.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const address[STAGE_SIDES] = {"198.18.0.1", "198.18.0.2"};

uint32_t stage_address(enum stage_side side)
{
    return 0xC6120000u + (side == STAGE_LEFT ? 1 : 2);
}

/* ---- rights ---- */

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    ssize_t written = write(fd, text, strlen(text));
    (void)written;
    close(fd);
}

/* This user is root there, and nobody else is anybody. */
static bool enter_user_namespace(void)
{
    char map[32];
    unsigned user = getuid(), group = getgid();

    if (unshare(CLONE_NEWUSER) != 0)
        return false;
    write_file("/proc/self/setgroups", "deny");
    snprintf(map, sizeof(map), "0 %u 1", user);
    write_file("/proc/self/uid_map", map);
    snprintf(map, sizeof(map), "0 %u 1", group);
    write_file("/proc/self/gid_map", map);
    return true;
}

static bool enter_new_namespace(void)
{
    if (unshare(CLONE_NEWNET) == 0)
        return true;
    return errno == EPERM && enter_user_namespace() && unshare(CLONE_NEWNET) == 0;
}

/* ---- commands of iproute2 ---- */

static _Noreturn void become(int namespace, const char *program, int input)
{
    char *const arguments[] = {(char *)program, "-batch", "-", NULL};

    if (setns(namespace, CLONE_NEWNET) == 0 && dup2(input, STDIN_FILENO) >= 0)
        execvp(program, arguments);
    _exit(EXIT_FAILURE);
}

/* Gives the commands to `ip` or `tc` in that namespace; true if it took all of them. */
static bool run(int namespace, const char *program, const char *commands)
{
    int input[2], status = 0;

    if (pipe2(input, O_CLOEXEC) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0)
        become(namespace, program, input[0]);
    close(input[0]);
    ssize_t written = write(input[1], commands, strlen(commands));
    close(input[1]);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 && written > 0;
}

static bool lay_cable(const struct stage *stage, unsigned mtu)
{
    char commands[300];

    /* This process is on the right side. */
    snprintf(commands, sizeof(commands),
             "link add zcrp0 address 02:00:5a:00:00:01 arp off mtu %u type veth "
             "peer name zcrp0 address 02:00:5a:00:00:01 arp off mtu %u netns %d\n",
             mtu, mtu, (int)getpid());
    return run(stage->namespace[STAGE_LEFT], "ip", commands);
}

static bool set_up(const struct stage *stage, enum stage_side side)
{
    char commands[300], text[INET6_ADDRSTRLEN];

    snprintf(commands, sizeof(commands),
             "link set lo up\n"
             "address add %s/32 dev zcrp0\n"
             "link set zcrp0 up\n"
             "route add default dev zcrp0 src %s\n",
             address[side], address[side]);
    if (!run(stage->namespace[side], "ip", commands))
        return false;
    if (!place_is_ipv6())
        return true;
    place_text(stage_address(side), text);
    snprintf(commands, sizeof(commands),
             "address add %s/128 dev zcrp0 nodad\n"
             "route add ::/0 dev zcrp0 src %s\n",
             text, text);
    return run(stage->namespace[side], "ip", commands);
}

/* What the host has set for itself is not for here; where it cannot be changed, the tests say so
 * themselves. */
static void set_habits(const struct stage *stage, enum stage_side side)
{
    stage_enter(stage, side);
    write_file("/proc/sys/net/ipv4/ip_forward", "0");
    write_file("/proc/sys/net/ipv4/conf/all/rp_filter", "0");
    write_file("/proc/sys/net/ipv4/conf/zcrp0/rp_filter", "0");
}

/* The kernel begins to use a new link some time after it was set up, up to a second, and drops what
 * is sent before. */
static bool becomes_used(const struct stage *stage, enum stage_side side)
{
    struct ifreq request = {.ifr_name = "zcrp0"};
    int fd, looks = 0;

    stage_enter(stage, side);
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    while (ioctl(fd, SIOCGIFFLAGS, &request) == 0 && !(request.ifr_flags & IFF_RUNNING) &&
           looks++ < 5000)
        usleep(1000);
    close(fd);
    return request.ifr_flags & IFF_RUNNING;
}

/* ---- stages ---- */

static bool open_all(struct stage *stage, unsigned mtu)
{
    for (int side = 0; side < STAGE_SIDES; side++) {
        if (!enter_new_namespace())
            return false;
        stage->namespace[side] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
        if (stage->namespace[side] < 0)
            return false;
    }
    return lay_cable(stage, mtu) && set_up(stage, STAGE_LEFT) && set_up(stage, STAGE_RIGHT);
}

static void open_for(struct stage *stage, unsigned mtu, int family)
{
    place_family = family;
    ck_assert(open_all(stage, mtu));
    ck_assert(becomes_used(stage, STAGE_LEFT) && becomes_used(stage, STAGE_RIGHT));
    set_habits(stage, STAGE_RIGHT);
    set_habits(stage, STAGE_LEFT);
}

void stage_open(struct stage *stage, unsigned mtu)
{
    open_for(stage, mtu, AF_INET);
}

void stage_open_ipv6(struct stage *stage, unsigned mtu)
{
    open_for(stage, mtu, AF_INET6);
}

void stage_enter(const struct stage *stage, enum stage_side side)
{
    ck_assert_int_eq(setns(stage->namespace[side], CLONE_NEWNET), 0);
}

bool stage_limit(const struct stage *stage, enum stage_side side, unsigned megabits)
{
    char command[100];

    snprintf(command, sizeof(command),
             "qdisc add dev zcrp0 root tbf rate %umbit burst 20kb latency 50ms\n", megabits);
    return run(stage->namespace[side], "tc", command);
}

bool stage_is_permitted(void)
{
    struct stage stage;
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        _exit(open_all(&stage, 1500) ? EXIT_SUCCESS : EXIT_FAILURE);
    if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
        return true;
    puts("no right to make network namespaces, or no veth, or no iproute2");
    return false;
}
