#include "board.h"

#include "platform/system.h"
#include "platform/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Letters: (m) the mutex. */
static struct mutex mutex;
static struct {
    struct board_file *file;       /* (m) mapped; NULL: there is no board */
    int folder, fd;                /* (m) */
    pid_t pid;                     /* (m) whose it is */
    char name[BOARD_NAME];         /* (m) */
    uint32_t holders;              /* (m) entities, those that were left out among them */
    uint32_t used;                 /* (m) rows that were ever taken: the first ones */
    uint64_t left_out;             /* (m) */
    uint64_t entities;             /* (m) that there were */
    bool is_taken[BOARD_ROWS];     /* (m) */
    uint32_t sequence[BOARD_ROWS]; /* of each row; who has taken it */
} board;
static _Atomic bool is_there; /* the file is: for the end of the process, which takes no lock */

/* ---- the file ---- */

/* A write behind the limit of file sizes would end the process (SIGXFSZ). */
static bool is_allowed(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= sizeof(struct board_file);
}

/* Removes a file that an earlier process of this number has left; true if it did. Anything else
 * that has the name stays. */
static bool remove_stale(void)
{
    struct stat status;
    int fd = board_open(board.folder, board.name, &status);

    if (fd < 0)
        return false;
    bool is_stale = status.st_uid == geteuid() && board_has_magic(fd) && board_holder(fd) == 0;
    (void)close(fd);
    return is_stale && unlinkat(board.folder, board.name, 0) == 0;
}

static int create(void)
{
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(board.folder, board.name, flags, S_IRUSR | S_IWUSR);

    if (fd < 0 && errno == EEXIST && remove_stale())
        fd = openat(board.folder, board.name, flags, S_IRUSR | S_IWUSR);
    return fd;
}

static bool lock(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(fd, F_SETLK, &whole) == 0;
}

static bool write_head(int fd)
{
    struct board_head head = {
        .version = BOARD_VERSION,
        .head_bytes = sizeof(struct board_head),
        .row_bytes = sizeof(struct board_row),
        .rows = BOARD_ROWS,
        .stats = BOARD_STATS,
        .pid = (uint32_t)board.pid,
        .made_ns = clock_now(),
    };

    memcpy(head.magic, BOARD_MAGIC, sizeof(head.magic));
    strncpy(head.program, program_invocation_short_name, sizeof(head.program) - 1);
    return pwrite(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head);
}

/* The mapping is not for children: they have a board of their own. */
static bool map(int fd)
{
    const size_t bytes = sizeof(struct board_file);

    if (ftruncate(fd, (off_t)bytes) != 0)
        return false;
    void *file = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (file == MAP_FAILED)
        return false;
    (void)madvise(file, bytes, MADV_DONTFORK);
    board.file = file;
    return true;
}

static void make(const char *where)
{
    char path[PATH_MAX];

    if (!is_allowed())
        return;
    board.folder = board_folder(where, true, path);
    if (board.folder < 0)
        return;
    board.pid = getpid();
    board_name(board.name, board.pid);
    board.fd = create();
    if (board.fd < 0)
        goto err0;
    if (!lock(board.fd) || !write_head(board.fd) || !map(board.fd))
        goto err1;
    atomic_store(&is_there, true);
    return;

err1:
    (void)unlinkat(board.folder, board.name, 0);
    (void)close(board.fd);
err0:
    (void)close(board.folder);
}

static void forget(void)
{
    atomic_store(&is_there, false);
    (void)close(board.fd);
    (void)close(board.folder);
    board.file = NULL;
    board.used = board.holders = 0;
    board.left_out = board.entities = 0;
    memset(board.is_taken, 0, sizeof(board.is_taken));
    memset(board.sequence, 0, sizeof(board.sequence));
}

static void remove_board(void)
{
    (void)unlinkat(board.folder, board.name, 0);
    (void)munmap(board.file, sizeof(*board.file));
    forget();
}

/* A program may end with entities open. */
__attribute__((destructor)) static void at_end(void)
{
    if (atomic_load(&is_there) && board.pid == getpid())
        (void)unlinkat(board.folder, board.name, 0);
}

/* ---- rows ---- */

/* Gives the file the blocks of the first row that was never used. False if there are none. */
static bool add_row(void)
{
    static const struct board_row empty;
    off_t at = (off_t)(sizeof(board.file->head) + board.used * sizeof(empty));

    if (board.used == BOARD_ROWS || !is_allowed() || /* the limit may be lower by now */
        pwrite(board.fd, &empty, sizeof(empty), at) != sizeof(empty))
        return false;
    board.used++;
    atomic_store_explicit(&board.file->head.used, board.used, memory_order_relaxed);
    return true;
}

static int find_place(void)
{
    uint32_t place = 0;

    while (place < board.used && board.is_taken[place])
        place++;
    if (place < board.used || add_row()) {
        board.is_taken[place] = true;
        return (int)place;
    }
    board.left_out++;
    return BOARD_LEFT_OUT;
}

static void show_left_out(void)
{
    atomic_store_explicit(&board.file->head.left_out, board.left_out, memory_order_relaxed);
}

int board_take(const char *where, uint64_t *entity)
{
    int place = BOARD_NONE;

    mutex_lock(&mutex);
    if (board.file == NULL)
        make(where);
    if (board.file != NULL) {
        board.holders++;
        *entity = ++board.entities;
        place = find_place();
        show_left_out();
    }
    mutex_unlock(&mutex);
    return place;
}

/* A reader that finds the sequence odd, or changed, has not seen a whole row. */
void board_write(int place, const struct board_row *row)
{
    struct board_row *at = &board.file->rows[place];
    const size_t first = offsetof(struct board_row, kind);
    uint32_t sequence = board.sequence[place];

    atomic_store_explicit(&at->sequence, sequence + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    memcpy((char *)at + first, (const char *)row + first, sizeof(*row) - first);
    atomic_store_explicit(&at->sequence, sequence + 2, memory_order_release);
    board.sequence[place] = sequence + 2;
}

void board_give(int place)
{
    static const struct board_row nobody;

    if (place == BOARD_NONE)
        return;
    if (place >= 0)
        board_write(place, &nobody);
    mutex_lock(&mutex);
    if (place >= 0)
        board.is_taken[place] = false;
    else
        board.left_out--;
    show_left_out();
    if (--board.holders == 0)
        remove_board();
    mutex_unlock(&mutex);
}

void board_after_fork(void)
{
    mutex_init(&mutex);
    if (board.file != NULL)
        forget();
}
