#include "screen.h"

#include "common/clock.h"
#include "common/complain.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

static const int64_t second_ns = 1000000000;

/* The other screen, without a cursor; and back. */
static void take(struct screen *screen)
{
    struct termios silent = screen->before;

    if (screen->has_keys) {
        silent.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &silent);
    }
    fputs("\033[?1049h\033[?25l", stdout);
    (void)fflush(stdout);
}

static void give_back(struct screen *screen)
{
    fputs("\033[?25h\033[?1049l", stdout);
    (void)fflush(stdout);
    if (screen->has_keys)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &screen->before);
}

int screen_open(struct screen *screen, bool is_live)
{
    static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP};
    size_t count = is_live ? sizeof wanted / sizeof *wanted : 3;
    sigset_t set;

    *screen = (struct screen){.is_live = is_live};
    sigemptyset(&set);
    for (size_t i = 0; i < count; i++)
        sigaddset(&set, wanted[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    screen->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (screen->signals < 0)
        return complain("cannot wait for signals: %s", strerror(errno));
    screen->has_keys = is_live && tcgetattr(STDIN_FILENO, &screen->before) == 0;
    if (is_live)
        take(screen);
    return 0;
}

void screen_close(struct screen *screen)
{
    if (screen->is_live)
        give_back(screen);
    (void)close(screen->signals);
}

void screen_size(size_t *columns, size_t *rows)
{
    struct winsize size;
    bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;

    *columns = is_known ? size.ws_col : 80;
    *rows = is_known && size.ws_row > 0 ? size.ws_row : 24;
}

static enum screen_event on_key(struct screen *screen)
{
    char key;

    if (read(STDIN_FILENO, &key, 1) != 1) {
        screen->has_keys = false; /* the terminal is gone */
        return SCREEN_QUIT;
    }
    return key == 'q' || key == 'Q' ? SCREEN_QUIT : key == 'e' ? SCREEN_TOGGLE : SCREEN_REDRAW;
}

static enum screen_event on_signal(struct screen *screen)
{
    struct signalfd_siginfo signal;

    if (read(screen->signals, &signal, sizeof signal) != (ssize_t)sizeof signal)
        return SCREEN_REDRAW;
    if (signal.ssi_signo == SIGWINCH)
        return SCREEN_REDRAW;
    if (signal.ssi_signo != SIGTSTP)
        return SCREEN_QUIT;
    give_back(screen);
    (void)raise(SIGSTOP);
    take(screen);
    return SCREEN_REDRAW;
}

enum screen_event screen_wait(struct screen *screen, int64_t until_ns)
{
    for (;;) {
        struct pollfd set[2] = {{.fd = screen->signals, .events = POLLIN},
                                {.fd = screen->has_keys ? STDIN_FILENO : -1, .events = POLLIN}};
        int64_t left = until_ns - clock_now_ns();
        struct timespec limit = {.tv_sec = left / second_ns, .tv_nsec = left % second_ns};

        if (left <= 0)
            limit = (struct timespec){0};
        int count = ppoll(set, 2, &limit, NULL);
        if (count < 0 && errno != EINTR)
            return SCREEN_QUIT;
        if (count > 0 && set[0].revents != 0)
            return on_signal(screen);
        if (count > 0)
            return on_key(screen);
        if (left <= 0)
            return SCREEN_TIME;
    }
}
