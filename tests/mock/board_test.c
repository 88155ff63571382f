/* A board that cannot be made, because one call after the other fails; and how often the system is
 * called for one. */
/* wrap: open __open_2 openat mkdir fstat fcntl pwrite ftruncate mmap */
#include "statsfile/board.h"

#include "../support/folder.h"
#include "../support/loopback.h"
#include "../support/mock.h"
#include "zcrp.h"

#include <stdarg.h>
#include <sys/mman.h>

/* The call that fails, from the n-th on, and how. */
static const char *failing;
static int good, error;
static _Atomic int calls; /* of all these */

static bool fails(const char *call)
{
    calls++;
    if (failing == NULL || strcmp(call, failing) != 0 || good-- > 0)
        return false;
    errno = error;
    return true;
}

static void set_fault(const char *call, int good_ones, int with)
{
    failing = call;
    good = good_ones;
    error = with;
}

int __real_open(const char *path, int flags, ...);
int __real_openat(int at, const char *path, int flags, ...);
int __real_mkdir(const char *path, mode_t mode);
int __real_fstat(int fd, struct stat *status);
int __real_fcntl(int fd, int command, ...);
ssize_t __real_pwrite(int fd, const void *bytes, size_t size, off_t at);
int __real_ftruncate(int fd, off_t size);
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);

static mode_t mode_of(int flags, va_list arguments)
{
    return flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;

    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return fails("open") ? -1 : __real_open(path, flags, mode);
}

/* What a call without a mode is where the headers check calls (_FORTIFY_SOURCE). */
int __wrap___open_2(const char *path, int flags);
int __wrap___open_2(const char *path, int flags)
{
    return fails("open") ? -1 : __real_open(path, flags);
}

int __wrap_openat(int at, const char *path, int flags, ...)
{
    va_list arguments;

    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return fails("openat") ? -1 : __real_openat(at, path, flags, mode);
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    return fails("mkdir") ? -1 : __real_mkdir(path, mode);
}

int __wrap_fstat(int fd, struct stat *status)
{
    return fails("fstat") ? -1 : __real_fstat(fd, status);
}

int __wrap_fcntl(int fd, int command, ...)
{
    va_list arguments;

    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return fails("fcntl") ? -1 : __real_fcntl(fd, command, argument);
}

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    if (!fails("pwrite"))
        return __real_pwrite(fd, bytes, size, at);
    return error == 0 ? __real_pwrite(fd, bytes, size / 2, at) : -1; /* 0: half of it fits */
}

int __wrap_ftruncate(int fd, off_t size)
{
    return fails("ftruncate") ? -1 : __real_ftruncate(fd, size);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    return fails("mmap") ? MAP_FAILED : __real_mmap(at, size, protection, flags, fd, offset);
}

static void setup(void)
{
    set_fault(NULL, 0, 0);
    folder_make();
    (void)setenv("XDG_RUNTIME_DIR", folder, 1);
}

FIXTURE(setup, folder_remove)

static const struct {
    const char *call;
    int good, error;
} faults[] = {
    {"mkdir", 0, EACCES},    {"open", 0, EMFILE},  {"fstat", 0, EIO},     {"openat", 0, ENOSPC},
    {"openat", 0, EEXIST},   {"fcntl", 0, ENOLCK}, {"pwrite", 0, ENOSPC}, {"pwrite", 0, 0},
    {"ftruncate", 0, EFBIG}, {"mmap", 0, ENOMEM},
};

TEST(board_take__each_call_fails)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        int before = own_descriptors();
        uint64_t number;

        set_fault(faults[i].call, faults[i].good, faults[i].error);
        assert_int_equal(board_take("1", &number), BOARD_NONE);
        set_fault(NULL, 0, 0);
        assert_int_equal(own_descriptors(), before);
        assert_int_equal(own_count(folder_path("zcrp")), folder_has("zcrp") ? 2 : 0);
    }
}

/* It works afterwards. */
TEST(board_take__later)
{
    uint64_t number;

    set_fault("mmap", 0, ENOMEM);
    assert_int_equal(board_take("1", &number), BOARD_NONE);
    set_fault(NULL, 0, 0);
    int place = board_take("1", &number);
    assert_int_equal(place, 0);
    assert_int_equal(own_count(folder_path("zcrp")), 3);
    board_give(place);
    assert_int_equal(own_count(folder_path("zcrp")), 2);
}

/* A disk that is full has no room for a row; the entity is counted. */
TEST(board_take__no_room_for_a_row)
{
    const struct board_row row = {.kind = BOARD_SENDER};
    uint64_t number;
    int place[3];

    for (int i = 0; i < 2; i++) {
        set_fault("pwrite", 2, i == 0 ? ENOSPC : 0);
        place[0] = board_take("1", &number);
        place[1] = board_take("1", &number);
        assert_int_equal(place[0], 0);
        assert_int_equal(place[1], BOARD_LEFT_OUT);
        board_write(place[0], &row);
        set_fault(NULL, 0, 0);
        place[2] = board_take("1", &number);
        assert_int_equal(place[2], 1);
        for (int j = 0; j < 3; j++)
            board_give(place[j]);
        assert_int_equal(own_count(folder_path("zcrp")), 2);
    }
}

/* ---- what it costs ---- */

enum { MESSAGES = 500, SIZE = 1000 };

/* Sends messages from end to end: the calls while they are opened, and while they are sent. */
static void transfer(const char *where, int *opening, int *sending)
{
    const struct zcrp_options options = {.stats_directory = where};
    struct loopback sockets = loopback_open(LOOPBACK_UDP4, false);
    struct zcrp_msg *out = zcrp_alloc_msg(SIZE), *in = zcrp_alloc_msg(SIZE);
    struct zcrp_entity *sender, *receiver;

    memset(out->buffer, 7, SIZE);
    calls = 0;
    assert_int_equal(zcrp_open_sender(&sender, sockets.sender, &options), ZCRP_OK);
    assert_int_equal(zcrp_open_receiver(&receiver, sockets.receiver, &options), ZCRP_OK);
    *opening = calls;
    for (int i = 0; i < MESSAGES; i++) {
        assert_int_equal(zcrp_submit(receiver, in, SIZE), ZCRP_OK);
        assert_int_equal(zcrp_submit(sender, out, SIZE), ZCRP_OK);
        assert_int_equal(zcrp_wait_for(in, -1), ZCRP_OK);
        assert_int_equal(zcrp_wait_for(out, -1), ZCRP_OK);
    }
    *sending = calls - *opening;
    zcrp_free_msg(in);
    zcrp_free_msg(out);
    assert_int_equal(zcrp_close(sender), ZCRP_OK);
    assert_int_equal(zcrp_close(receiver), ZCRP_OK);
    loopback_close(&sockets);
}

/* A board costs calls when it is made, and none for a message. */
TEST(board__calls)
{
    int opening[2], sending[2];

    for (int i = 0; i < 2; i++)
        transfer(i == 0 ? NULL : folder, &opening[i], &sending[i]);
    assert_true(opening[1] > opening[0]);
    assert_true(sending[0] < MESSAGES / 10);
    assert_true(sending[1] < MESSAGES / 10);
    assert_int_equal(folder_count(), 0);
    transfer("0", &opening[1], &sending[1]);
    assert_int_equal(opening[1], opening[0]);
}
