/* Memory that the peer may map: places, limits, seals. */
#include "transport/shm/shared_arena.h"

#include "../../support/suite.h"
#include "platform/system.h"
#include "transport/shm/shared_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 8, BYTES = PAGES * PAGE };

static struct shared_arena *c;

static void setup(void)
{
    c = shared_arena_create(BYTES - 1); /* whole pages */
    ck_assert_ptr_nonnull(c);
}

static void teardown(void)
{
    shared_arena_let_go(c);
}

FIXTURE(setup, teardown)

TEST(shared_arena_take__the_lowest_place_with_room)
{
    uint8_t *a = shared_arena_take(c, 1), *b = shared_arena_take(c, 2 * PAGE),
            *d = shared_arena_take(c, 0);

    ck_assert_ptr_nonnull(a);
    ck_assert_uint_eq(shared_arena_offset(c, a), 0);
    ck_assert_ptr_eq(b, a + PAGE);
    ck_assert_ptr_eq(d, b + 2 * PAGE);
    shared_arena_give(c, b);
    ck_assert_ptr_eq(shared_arena_take(c, 3 * PAGE), d + PAGE);
    ck_assert_ptr_eq(shared_arena_take(c, PAGE + 1), b);
    shared_arena_give(c, a);
    shared_arena_give(c, b);
    shared_arena_give(c, d);
    shared_arena_give(c, d + PAGE);
}

TEST(shared_arena_take__no_room)
{
    uint8_t *all = shared_arena_take(c, BYTES);

    ck_assert_ptr_nonnull(all);
    ck_assert_ptr_null(shared_arena_take(c, 1));
    shared_arena_give(c, all);
    ck_assert_ptr_null(shared_arena_take(c, BYTES + 1));
    ck_assert_ptr_null(shared_arena_take(c, SIZE_MAX));
    ck_assert_ptr_eq(shared_arena_take(c, BYTES), all);
    shared_arena_give(c, all);
}

TEST(shared_arena_create__too_large)
{
    ck_assert_ptr_null(shared_arena_create(SIZE_MAX));
    ck_assert_ptr_null(
        shared_arena_create((uint64_t)1 << 48)); /* also where a size_t has 32 bits */
}

/* A message may be freed after its connection was closed. */
TEST(shared_arena_let_go__before_the_last_piece)
{
    struct shared_arena *other = shared_arena_create(PAGE);
    uint8_t *piece = shared_arena_take(other, PAGE);

    shared_arena_let_go(other);
    memset(piece, 1, PAGE);
    shared_arena_give(other, piece);
    shared_arena_let_go(NULL);
    ck_assert_ptr_null(shared_arena_hold(NULL));
}

/* The exit status says which step was the first that went wrong; 0: none. */
static int live_as_child(uint8_t *piece)
{
    unsigned char there;
    int fd = shared_arena_descriptor(c);

    if (shared_arena_take(c, 1) != NULL)
        return 1;
    shared_arena_let_go(c);
    if (fcntl(fd, F_GETFD) < 0 || piece[0] != 7)
        return 2;
    piece[1] = 8;
    shared_arena_give(c, piece);
    if (fcntl(fd, F_GETFD) >= 0)
        return 3;
    return mincore(piece, PAGE, &there) == 0 || errno != ENOMEM ? 4 : 0;
}

static void on_child(void)
{
}

/* It takes nothing there. What it lets go and gives back leaves its own address space, and no
 * other. */
TEST(shared_arena_let_go__in_a_child)
{
    uint8_t *piece = shared_arena_take(c, PAGE);
    int status;

    forked_watch(on_child);
    piece[0] = 7;
    pid_t child = fork();
    if (child == 0)
        _exit(live_as_child(piece));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    ck_assert_uint_eq(piece[1], 8);
    shared_arena_give(c, piece);
}

TEST(shared_arena_has__all_of_it)
{
    uint8_t *start = shared_arena_take(c, PAGE), outside = 0;

    ck_assert(shared_arena_has(c, start, BYTES));
    ck_assert(shared_arena_has(c, start + BYTES, 0));
    ck_assert(!shared_arena_has(c, start, BYTES + 1));
    ck_assert(!shared_arena_has(c, start + 1, BYTES));
    ck_assert(!shared_arena_has(c, start + BYTES, 1));
    ck_assert(!shared_arena_has(c, start - 1, 1));
    ck_assert(!shared_arena_has(c, start, SIZE_MAX));
    ck_assert(!shared_arena_has(c, &outside, 1));
    ck_assert(!shared_arena_has(NULL, start, 0));
    shared_arena_give(c, start);
}

/* The peer sees what is written, now and later, and writes nothing itself. */
TEST(shared_arena_descriptor__to_read)
{
    uint8_t *piece = shared_arena_take(c, PAGE);
    int fd = shared_arena_descriptor(c);

    ck_assert_uint_eq(shared_arena_bytes(c), BYTES);
    ck_assert(shared_file_is_safe(fd, BYTES));
    const uint8_t *seen = shared_file_map(fd, BYTES, PROT_READ);
    ck_assert_ptr_nonnull(seen);
    memset(piece, 7, PAGE);
    ck_assert_uint_eq(seen[PAGE - 1], 7);
    ck_assert_int_ne(mprotect((void *)(uintptr_t)seen, PAGE, PROT_READ | PROT_WRITE), 0);
    ck_assert_ptr_eq(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    ck_assert_int_lt(write(fd, "x", 1), 0);
    ck_assert_int_ne(ftruncate(fd, 0), 0);
    ck_assert_int_ne(ftruncate(fd, 2L * BYTES), 0);
    ck_assert_int_ne(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE), 0);
    shared_file_unmap(seen, BYTES);
    shared_arena_give(c, piece);
}
