#include "zcrp-top/sample.h"

#include "../../support/random.h"
#include "../../support/suite.h"
#include "boards.h"
#include "core/instant.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

static struct holder holder;
static struct board_file file;
static struct folders folders;
static struct sample sample;

/* One process, with a sender and a receiver. */
static void setup(void)
{
    folder_make();
    holder = holder_start();
    memset(&file, 0, sizeof file);
    file.head = board_head_of(holder.pid, 2);
    file.rows[0] = (struct board_row){.sequence = 2,
                                      .kind = BOARD_SENDER,
                                      .channel = BOARD_MEMORY,
                                      .flags = BOARD_KEYS,
                                      .opened_ns = 100,
                                      .written_ns = 200,
                                      .entity = 2,
                                      .peer = "127.0.0.1:7000",
                                      .stats = {5, 6, 7}};
    file.rows[1] = file.rows[0];
    file.rows[1].kind = BOARD_RECEIVER;
    file.rows[1].entity = 1;
    folders = (struct folders){.where = {folder}, .count = 1};
}

static void teardown(void)
{
    sample_fini(&sample);
    holder_end(&holder);
    folder_remove();
}

FIXTURE(setup, teardown)

/* Writes so much of the file, and looks at the folder. */
static void look(size_t bytes)
{
    folder_write(holder.name, &file, bytes);
    holder_lock(&holder);
    ck_assert_int_eq(sample_take(&sample, &folders), 0);
}

static void look_again(void)
{
    sample_fini(&sample);
    ck_assert_int_eq(sample_take(&sample, &folders), 0);
}

TEST(sample_take__rows)
{
    look(sizeof file);
    ck_assert_uint_eq(sample.processes, 1);
    ck_assert_uint_eq(sample.count, 2);
    ck_assert_uint_eq(sample.left_out, 0);
    const struct seen *first = &sample.seen[0], *second = &sample.seen[1];
    ck_assert_uint_eq(first->number, 1); /* in their order */
    ck_assert_uint_eq(second->number, 2);
    ck_assert_int_eq(first->kind, BOARD_RECEIVER);
    ck_assert_int_eq(second->kind, BOARD_SENDER);
    ck_assert_int_eq(second->pid, holder.pid);
    ck_assert_int_eq(second->made_ns, 5);
    ck_assert_str_eq(second->program, "example");
    ck_assert_str_eq(second->peer, "127.0.0.1:7000");
    ck_assert_uint_eq(second->channel, BOARD_MEMORY);
    ck_assert_uint_eq(second->flags, BOARD_KEYS);
    ck_assert_int_eq(second->opened_ns, 100);
    ck_assert_int_eq(second->written_ns, 200);
    ck_assert_uint_eq(second->stats[2], 7);
    ck_assert_ptr_eq(sample_find(&sample, second), second);
    ck_assert_int_gt(sample.at_ns, 0);
}

TEST(sample_take__nothing)
{
    folders = (struct folders){.where = {folder_path("none"), folder}, .count = 2};
    look_again();
    ck_assert_uint_eq(sample.count + sample.processes, 0);
    ck_assert_ptr_null(sample_find(&sample, &(struct seen){0}));
}

/* Makes the board as full as it can be, and adds it to these folders so often. */
static void fill_folders(size_t times)
{
    for (uint32_t i = 0; i < BOARD_ROWS; i++) {
        file.rows[i] = file.rows[0];
        file.rows[i].entity = i + 1;
    }
    file.head.used = BOARD_ROWS;
    folder_write(holder.name, &file, sizeof file);
    holder_lock(&holder);
    for (size_t i = 0; i < times; i++)
        folders.where[folders.count++] = folder;
}

/* Folders that would take all places leave the one behind them its share. */
TEST(sample_take__a_folder_behind_full_ones)
{
    enum { TIMES = SAMPLE_ENTITIES_MOST / BOARD_ROWS };
    struct seen wanted = {.folder = TIMES, .pid = holder.pid, .made_ns = 5, .number = 1};
    char behind[512], name[2 * BOARD_NAME];

    folders.count = 0;
    fill_folders(TIMES);
    strcpy(behind, folder_path("behind"));
    snprintf(name, sizeof name, "behind/%s", holder.name);
    ck_assert_int_eq(mkdir(behind, 0700), 0);
    ck_assert_int_eq(link(folder_path(holder.name), folder_path(name)), 0);
    folders.where[folders.count++] = behind;
    look_again();
    ck_assert_uint_eq(sample.processes, TIMES + 1);
    ck_assert_uint_eq(sample.count, SAMPLE_ENTITIES_MOST);
    ck_assert_uint_eq(sample.left_out, BOARD_ROWS);
    ck_assert_ptr_nonnull(sample_find(&sample, &wanted));
    ck_assert_int_eq(unlink(folder_path(name)), 0);
}

/* What folders have no use for is for those behind them. */
TEST(sample_take__a_folder_behind_empty_ones)
{
    enum { TIMES = SAMPLE_ENTITIES_MOST / BOARD_ROWS };
    char none[512];

    strcpy(none, folder_path("none"));
    for (folders.count = 0; folders.count < TIMES; folders.count++)
        folders.where[folders.count] = none;
    fill_folders(TIMES);
    look_again();
    ck_assert_uint_eq(sample.count, SAMPLE_ENTITIES_MOST);
    ck_assert_uint_eq(sample.left_out, 0);
}

/* ---- files that are not what they should be ---- */

#define WRONG(name, change)                                                                        \
    static void name(void)                                                                         \
    {                                                                                              \
        change;                                                                                    \
    }
WRONG(magic, file.head.magic[7] = 'X')
WRONG(version, file.head.version = 2)
WRONG(head_too_short, file.head.head_bytes = sizeof(struct board_head) - 1)
WRONG(head_too_long, file.head.head_bytes = UINT32_MAX)
WRONG(row_too_short, file.head.row_bytes = sizeof(struct board_row) - 1)
WRONG(row_of_nothing, (file.head.row_bytes = 0, file.head.stats = 0))
WRONG(row_too_long, file.head.row_bytes = UINT32_MAX)
WRONG(stats_too_many, file.head.stats = UINT32_MAX)
WRONG(stats_wrap_around, file.head.stats = 1u << 29)
WRONG(rows_beyond_the_end, (file.head.rows = UINT32_MAX, file.head.used = UINT32_MAX))
WRONG(more_used_than_there, file.head.used = BOARD_ROWS + 1)
WRONG(of_another_process, file.head.pid++)

TEST(sample_take__bad_head, .rows = 12)
{
    static void (*const change[])(void) = {magic,
                                           version,
                                           head_too_short,
                                           head_too_long,
                                           row_too_short,
                                           row_of_nothing,
                                           row_too_long,
                                           stats_too_many,
                                           stats_wrap_around,
                                           rows_beyond_the_end,
                                           more_used_than_there,
                                           of_another_process};

    change[_i]();
    look(sizeof file);
    ck_assert_uint_eq(sample.processes, 0);
    ck_assert_uint_eq(sample.count, 0);
    ck_assert(folder_has(holder.name));
}

/* Files that are shorter than they say, down to nothing. */
TEST(sample_take__truncated)
{
    size_t whole = sizeof file.head + 2 * sizeof(struct board_row);

    look(whole);
    ck_assert_uint_eq(sample.count, 2);
    for (size_t size = 0; size < whole; size += size % 100 == 0 ? 7 : 93) {
        ck_assert_int_eq(truncate(folder_path(holder.name), (off_t)size), 0);
        look_again();
        ck_assert_uint_eq(sample.count, 0);
    }
}

/* An old library has fewer statistics, a new one more, and behind the row something else. */
TEST(sample_take__other_libraries)
{
    static unsigned char other[100000];
    struct board_head head = board_head_of(holder.pid, 2);

    for (uint32_t stats = 1; stats < BOARD_STATS + 30; stats += 20) {
        head.stats = stats;
        head.head_bytes = sizeof head + 40;
        head.row_bytes = 104 + stats * 8 + 16;
        memset(other, 0xEE, sizeof other);
        memcpy(other, &head, sizeof head);
        for (uint32_t i = 0; i < 2; i++) {
            unsigned char *at = other + head.head_bytes + i * head.row_bytes;
            memcpy(at, &file.rows[i], 104 + (stats < BOARD_STATS ? stats : BOARD_STATS) * 8);
        }
        folder_write(holder.name, other, sizeof other);
        if (stats == 1)
            holder_lock(&holder);
        look_again();
        ck_assert_uint_eq(sample.count, 2);
        ck_assert_uint_eq(sample.seen[1].stats[0], 5);
        ck_assert_uint_eq(sample.seen[1].stats[1], stats > 1 ? 6 : 0);
        ck_assert_uint_eq(sample.seen[1].stats[BOARD_STATS - 1], 0);
    }
}

/* ---- rows that are not what they should be ---- */

static int64_t thread_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

static int64_t lesser_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

TEST(sample_take__row_of_nobody)
{
    file.rows[0].kind = BOARD_NOBODY;
    file.rows[1].kind = 77;
    look(sizeof file);
    ck_assert_uint_eq(sample.processes, 1);
    ck_assert_uint_eq(sample.count, 0);
}

TEST(sample_take__row_is_being_written)
{
    file.rows[0].sequence = 3;
    look(sizeof file);
    ck_assert_uint_eq(sample.count, 1);
    ck_assert_uint_eq(sample.left_out, 1);
}

/* Writes a board with so many rows of nobody, as short as rows can be; with an odd sequence none of
 * them is whole. */
static int write_rows_of_nobody(uint32_t count, uint32_t sequence)
{
    enum { BYTES = 104 };
    struct board_head head = board_head_of(holder.pid, count);

    head.rows = count;
    head.stats = 0;
    head.row_bytes = BYTES;
    folder_write(holder.name, &head, sizeof head);
    int fd = open(folder_path(holder.name), O_RDWR);
    ck_assert_int_eq(ftruncate(fd, (off_t)sizeof head + (off_t)count * BYTES), 0);
    for (off_t i = 0; i < count; i++)
        ck_assert_int_eq(pwrite(fd, &sequence, sizeof sequence, (off_t)sizeof head + i * BYTES),
                         sizeof sequence);
    return fd;
}

/* One file says that it has a thousand times as many rows as a process writes. */
TEST(sample_take__rows_without_number)
{
    enum { MANY = 1 << 20 };

    close(write_rows_of_nobody(MANY, 1));
    holder_lock(&holder);
    int64_t least = INT64_MAX; /* a host that runs other machines may take some */
    for (int i = 0; i < 3 && least >= 2 * SECOND; i++) {
        int64_t before = thread_ns();
        look_again();
        least = lesser_ns(least, thread_ns() - before);
    }
    ck_assert_int_lt(least, 2 * SECOND);
    ck_assert_uint_eq(sample.count, 0);
    ck_assert_uint_eq(sample.left_out, MANY);
}

/* Thousands of files with as many rows as a process writes. */
TEST(sample_read__files_without_number, .rows = 2)
{
    enum { FILES = 8000 };
    struct seen process = {.pid = holder.pid};
    int fd = write_rows_of_nobody(BOARD_ROWS, (uint32_t)_i);
    struct stat status;

    ck_assert_int_eq(fstat(fd, &status), 0);
    int64_t least = INT64_MAX; /* of an eighth of them, as above */
    for (int i = 0; i < 8; i++) {
        int64_t before = thread_ns();
        for (int j = 0; j < FILES / 8; j++)
            ck_assert_int_eq(sample_read(&sample, fd, status.st_size, &process), 0);
        least = lesser_ns(least, thread_ns() - before);
    }
    ck_assert_int_lt(8 * least, 2 * SECOND);
    ck_assert_uint_le(sample.left_out, FILES * BOARD_ROWS);
    ck_assert_uint_ge(sample.left_out, FILES * BOARD_ROWS / 2);
    close(fd);
}

TEST(sample_take__text_of_anything)
{
    static const char evil[] = "\033[2J\xff\x01\"\\\n\t~ ";

    memset(file.rows[0].peer, 'x', sizeof file.rows[0].peer);
    memcpy(file.rows[1].peer, evil, sizeof evil);
    memset(file.head.program, '\033', sizeof file.head.program);
    look(sizeof file);
    ck_assert_uint_eq(sample.count, 2);
    ck_assert_uint_eq(strlen(sample.seen[1].peer), BOARD_PEER - 1);
    ck_assert_str_eq(sample.seen[0].peer, "?[2J??\"\\??~ ");
    ck_assert_str_eq(sample.seen[0].program, "???????????????");
}

TEST(sample_take__times_of_anything)
{
    file.rows[0].opened_ns = INT64_MAX;
    file.rows[0].written_ns = INT64_MIN;
    file.rows[1].opened_ns = INT64_MIN;
    file.rows[1].written_ns = INT64_MAX;
    look(sizeof file);
    ck_assert_int_eq(sample.seen[1].opened_ns, sample.at_ns);
    ck_assert_int_eq(sample.seen[1].written_ns, sample.at_ns);
    ck_assert_int_eq(sample.seen[0].opened_ns, 0);
    ck_assert_int_eq(sample.seen[0].written_ns, sample.at_ns);
}

TEST(sample_take__left_out)
{
    file.head.left_out = 12;
    look(sizeof file);
    ck_assert_uint_eq(sample.left_out, 12);
    file.head.left_out = UINT64_MAX;
    folder_write(holder.name, &file, sizeof file);
    look_again();
    ck_assert_uint_le(sample.left_out, 1 << 20);
}

/* ---- names, and who holds them ---- */

TEST(sample_pid_of__names)
{
    static const char *const others[] = {"",         ".",           "..",       "1",
                                         "x.stats",  "0.stats",     "-1.stats", "01.stats",
                                         " 1.stats", "1.stats.old", "+1.stats", "99999999999.stats",
                                         "1.STATS",  "1 .stats"};

    ck_assert_int_eq(sample_pid_of("1.stats"), 1);
    ck_assert_int_eq(sample_pid_of("4194303.stats"), 4194303);
    for (int i = 0; i < ROWS(others); i++)
        ck_assert_int_eq(sample_pid_of(others[i]), 0);
}

/* Without a lock a board is left over, and removed. What is no board is somebody's. */
TEST(sample_take__stale)
{
    folder_write(holder.name, &file, sizeof file);
    look_again();
    ck_assert_uint_eq(sample.processes, 0);
    ck_assert(!folder_has(holder.name));
    folder_write(holder.name, "something else", 14);
    look_again();
    ck_assert(folder_has(holder.name));
}

static bool is_root(void)
{
    return geteuid() == 0;
}

/* Files of others are neither shown nor removed, but to root. */
TEST(sample_take__of_another_user, .needs = is_root)
{
    const uid_t nobody = 65534;
    char stale[BOARD_NAME];

    board_name(stale, 1);
    look(sizeof file);
    folder_write(stale, &file, sizeof file);
    ck_assert_int_eq(chmod(folder, 0777), 0);
    ck_assert_int_eq(chmod(folder_path(holder.name), 0644), 0);
    ck_assert_int_eq(chmod(folder_path(stale), 0644), 0);
    ck_assert_int_eq(seteuid(nobody), 0);
    look_again();
    ck_assert_uint_eq(sample.processes, 0);
    ck_assert(folder_has(stale));
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(chown(folder_path(holder.name), nobody, nobody), 0);
    look_again();
    ck_assert_uint_eq(sample.processes, 1);
    ck_assert(!folder_has(stale));
}

/* The one that holds it has another number. */
TEST(sample_take__held_by_another)
{
    char name[BOARD_NAME];

    folder_write(holder.name, &file, sizeof file);
    holder_lock(&holder);
    board_name(name, 1);
    file.head.pid = 1;
    ck_assert_int_eq(link(folder_path(holder.name), folder_path(name)), 0);
    look_again();
    ck_assert_uint_eq(sample.processes, 1);
    ck_assert_int_eq(sample.seen[0].pid, holder.pid);
    ck_assert(folder_has(name));
}

/* Of the lock of an open file description the kernel names no process. Another user could write any
 * number there. */
TEST(sample_take__held_by_no_process, .needs = is_root)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const uid_t nobody = 65534;
    char name[BOARD_NAME];

    board_name(name, 1);
    file.head.pid = 1;
    folder_write(name, &file, sizeof file);
    int fd = open(folder_path(name), O_RDWR);
    ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &whole), 0);
    look_again();
    ck_assert_uint_eq(sample.processes, 1);
    ck_assert_int_eq(fchown(fd, nobody, nobody), 0);
    look_again();
    ck_assert_uint_eq(sample.processes, 0);
    ck_assert(folder_has(name));
    close(fd);
}

/* What is no file is not read, and nothing waits for it. */
TEST(sample_take__not_a_file, .rows = 4)
{
    const char *path = folder_path(holder.name);

    if (_i == 0)
        ck_assert_int_eq(mkfifo(path, 0600), 0);
    else if (_i == 1)
        ck_assert_int_eq(mkdir(path, 0700), 0);
    else if (_i == 2)
        ck_assert_int_eq(symlink("/dev/zero", path), 0);
    else
        ck_assert_int_eq(symlink(holder.name, path), 0);
    look_again();
    ck_assert_uint_eq(sample.processes, 0);
    ck_assert(folder_has(holder.name));
}

TEST(sample_take__garbage, .is_random = true)
{
    uint64_t state = suite_seed(_i);

    folder_write(holder.name, &file, sizeof file);
    holder_lock(&holder);
    for (int round = 0; round < 300; round++) {
        struct board_file bad = file;
        uint64_t changes = random_next(&state) % 20;
        for (uint64_t i = 0; i < changes; i++)
            ((unsigned char *)&bad)[random_next(&state) % (sizeof bad.head + 2000)] =
                (unsigned char)random_next(&state);
        int fd = open(folder_path(holder.name), O_WRONLY);
        ck_assert_int_eq(pwrite(fd, &bad, sizeof bad, 0), sizeof bad);
        close(fd);
        look_again();
        ck_assert_uint_le(sample.count, BOARD_ROWS);
    }
}

/* ---- while it changes ---- */

static _Atomic bool is_over;

static void *grow_and_shrink(void *context)
{
    const char *path = context;
    size_t whole = sizeof file.head + 2 * sizeof(struct board_row);

    for (unsigned i = 0; !is_over; i++)
        if (truncate(path, (off_t)(i % 2 ? 0 : whole)) != 0)
            abort();
    return NULL;
}

/* No SIGBUS, and no row of a file that is gone. */
TEST(sample_take__length_changes)
{
    pthread_t thread;
    static char path[512];

    strcpy(path, folder_path(holder.name));
    look(sizeof file);
    is_over = false;
    ck_assert_int_eq(pthread_create(&thread, NULL, grow_and_shrink, path), 0);
    for (int i = 0; i < 2000; i++)
        look_again();
    is_over = true;
    pthread_join(thread, NULL);
}

/* All statistics of a row are one number, which grows: a reader never sees two. */
static void *write_rows(void *context)
{
    struct board_row *row = context;

    for (uint64_t n = 1; !is_over; n++) {
        uint32_t sequence = atomic_load(&row->sequence);
        atomic_store_explicit(&row->sequence, sequence + 1, memory_order_relaxed);
        atomic_thread_fence(memory_order_release);
        for (int i = 0; i < BOARD_STATS; i++)
            row->stats[i] = n;
        atomic_store_explicit(&row->sequence, sequence + 2, memory_order_release);
        if (n % 8 == 0)
            sched_yield();
    }
    return NULL;
}

TEST(sample_take__rows_are_whole)
{
    pthread_t thread;
    int whole = 0;

    for (int i = 0; i < BOARD_STATS; i++)
        file.rows[0].stats[i] = 0;
    file.head.used = 1;
    look(sizeof file);
    int fd = open(folder_path(holder.name), O_RDWR);
    void *at = mmap(NULL, sizeof file, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(at, MAP_FAILED);
    close(fd);
    is_over = false;
    ck_assert_int_eq(pthread_create(&thread, NULL, write_rows, &((struct board_file *)at)->rows[0]),
                     0);
    for (int i = 0; i < 5000; i++) {
        look_again();
        for (size_t s = 1; s < BOARD_STATS && sample.count == 1; s++)
            ck_assert_uint_eq(sample.seen[0].stats[s], sample.seen[0].stats[0]);
        whole += sample.count == 1;
    }
    is_over = true;
    pthread_join(thread, NULL);
    munmap(at, sizeof file);
    ck_assert_int_gt(whole, 0);
}
