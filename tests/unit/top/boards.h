/* Boards for tests of zcrp-top: a file as a process writes it, with a lock that a child holds. */
#ifndef ZCRP_TESTS_UNIT_TOP_BOARDS_H
#define ZCRP_TESTS_UNIT_TOP_BOARDS_H

#include "../../support/folder.h"
#include "statsfile/board_file.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* The head of a board with so many rows in use, of that process. */
static inline struct board_head board_head_of(pid_t pid, uint32_t used)
{
    struct board_head head = {
        .version = BOARD_VERSION,
        .head_bytes = sizeof(struct board_head),
        .row_bytes = sizeof(struct board_row),
        .rows = BOARD_ROWS,
        .stats = BOARD_STATS,
        .pid = (uint32_t)pid,
        .made_ns = 5,
        .used = used,
        .program = "example",
    };

    memcpy(head.magic, BOARD_MAGIC, sizeof head.magic);
    return head;
}

/* A child that does nothing but hold the file of its own number, once somebody has made that. */
struct holder {
    pid_t pid;
    char name[BOARD_NAME];
    int go, done; /* pipes: it is to lock the file; it has */
};

static inline struct holder holder_start(void)
{
    int go[2], done[2];
    struct holder h;
    char byte;

    if (pipe(go) != 0 || pipe(done) != 0 || (h.pid = fork()) < 0)
        abort();
    if (h.pid == 0) {
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        char name[BOARD_NAME];

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        board_name(name, getpid());
        if (read(go[0], &byte, 1) != 1)
            _exit(0);
        int fd = open(folder_path(name), O_RDWR);
        if (fd < 0 || fcntl(fd, F_SETLK, &whole) != 0 || write(done[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(go[0]);
    close(done[1]);
    h.go = go[1];
    h.done = done[0];
    board_name(h.name, h.pid);
    return h;
}

/* Its file is there: it locks it. */
static inline void holder_lock(const struct holder *h)
{
    char byte;

    if (write(h->go, "", 1) != 1 || read(h->done, &byte, 1) != 1)
        abort();
}

static inline void holder_end(const struct holder *h)
{
    kill(h->pid, SIGKILL);
    waitpid(h->pid, NULL, 0);
    close(h->go);
    close(h->done);
}

#endif
