#include "sample.h"

#include "common/clock.h"
#include "common/complain.h"

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    TRIES = 16, /* to find a row whole */
    ROW_LEAST = sizeof(struct board_row) - sizeof(((struct board_row *)NULL)->stats),
    BYTES_MOST = 1 << 16, /* of a head, or a row */
    LEFT_OUT_MOST = 1 << 20,
};

/* ---- text and time ---- */

/* A text of a file, which may end nowhere and have anything in it, as one that a terminal takes. */
static void take_text(char *to, const char *from, size_t size)
{
    size_t i = 0;

    for (; i + 1 < size && from[i] != '\0'; i++)
        to[i] = (char)(from[i] >= ' ' && from[i] <= '~' ? from[i] : '?');
    to[i] = '\0';
}

static int64_t within(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* ---- a row ---- */

static struct seen *add_seen(struct sample *sample)
{
    if (sample->count == sample->room) {
        size_t room = sample->room > 0 ? 2 * sample->room : 16;
        struct seen *more = realloc(sample->seen, room * sizeof *more);

        if (more == NULL)
            return NULL;
        sample->seen = more;
        sample->room = room;
    }
    return &sample->seen[sample->count++];
}

static bool read_sequence(int fd, off_t at, uint32_t *sequence)
{
    bool is_there = pread(fd, sequence, sizeof *sequence, at) == (ssize_t)sizeof *sequence;

    atomic_thread_fence(memory_order_acquire);
    return is_there && *sequence % 2 == 0;
}

/* False if it could not be had whole. */
static bool read_row(struct sample *sample, int fd, off_t at, size_t bytes, struct board_row *row)
{
    uint32_t before, after;

    for (int i = 0; i < TRIES && sample->looks < SAMPLE_LOOKS_MOST; i++) {
        sample->looks++;
        memset(row, 0, sizeof *row);
        if (!read_sequence(fd, at, &before))
            continue;
        if (pread(fd, row, bytes, at) != (ssize_t)bytes)
            return false;
        atomic_thread_fence(memory_order_acquire);
        if (read_sequence(fd, at, &after) && before == after)
            return true;
    }
    return false;
}

/* ---- a file ---- */

static bool is_good(const struct board_head *head, off_t size, pid_t pid)
{
    if (memcmp(head->magic, BOARD_MAGIC, sizeof head->magic) != 0 || head->version != BOARD_VERSION)
        return false;
    if (head->head_bytes < sizeof *head || head->head_bytes > BYTES_MOST)
        return false;
    if (head->stats > BYTES_MOST / sizeof(uint64_t) || head->row_bytes > BYTES_MOST ||
        head->row_bytes < ROW_LEAST + head->stats * sizeof(uint64_t))
        return false;
    if (head->used > head->rows || head->pid != (uint32_t)pid)
        return false;
    return (uint64_t)size >= head->head_bytes + (uint64_t)head->used * head->row_bytes;
}

static void take_row(struct seen *seen, const struct board_row *row, int64_t now)
{
    seen->number = row->entity;
    seen->kind = row->kind == BOARD_SENDER ? BOARD_SENDER : BOARD_RECEIVER;
    seen->channel = row->channel;
    seen->flags = row->flags;
    seen->opened_ns = within(row->opened_ns, 0, now);
    seen->written_ns = within(row->written_ns, seen->opened_ns, now);
    take_text(seen->peer, row->peer, sizeof seen->peer);
    memcpy(seen->stats, row->stats, sizeof seen->stats);
}

/* The i-th row of a file. 0 or -1: no memory. */
static int read_place(struct sample *sample, int fd, const struct board_head *head, uint32_t i,
                      const struct seen *process)
{
    uint32_t stats = head->stats < BOARD_STATS ? head->stats : BOARD_STATS;
    off_t at = (off_t)(head->head_bytes + (uint64_t)i * head->row_bytes);
    struct board_row row;

    bool is_whole = read_row(sample, fd, at, ROW_LEAST + stats * sizeof(uint64_t), &row);
    if (is_whole && row.kind != BOARD_SENDER && row.kind != BOARD_RECEIVER)
        return 0;
    if (!is_whole || sample->count >= SAMPLE_ENTITIES_MOST - sample->kept) {
        sample->left_out++;
        return 0;
    }
    struct seen *seen = add_seen(sample);
    if (seen == NULL)
        return complain("no memory for %zu entities", sample->count);
    *seen = *process;
    seen->made_ns = head->made_ns;
    take_text(seen->program, head->program, sizeof seen->program);
    take_row(seen, &row, sample->at_ns);
    return 0;
}

int sample_read(struct sample *sample, int fd, off_t size, const struct seen *process)
{
    struct board_head head;

    if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head ||
        !is_good(&head, size, process->pid))
        return 1;
    uint32_t used = head.used < BOARD_ROWS ? head.used : BOARD_ROWS;
    for (uint32_t i = 0; i < used; i++)
        if (read_place(sample, fd, &head, i, process) < 0)
            return -1;
    uint64_t left_out = head.left_out < LEFT_OUT_MOST ? head.left_out : LEFT_OUT_MOST;
    sample->left_out += left_out + head.used - used;
    sample->processes++;
    return 0;
}

/* ---- a folder ---- */

pid_t sample_pid_of(const char *name)
{
    char *end, again[BOARD_NAME];

    errno = 0;
    long number = strtol(name, &end, 10);
    if (errno != 0 || number <= 0 || number > INT32_MAX)
        return 0;
    board_name(again, (pid_t)number);
    return strcmp(name, again) == 0 ? (pid_t)number : 0;
}

/* Looks at a file. 0 or -1: no memory. */
static int look_at(struct sample *sample, int folder, const char *name, struct seen *process)
{
    struct stat status;
    int result = 0, fd;

    process->pid = sample_pid_of(name);
    if (process->pid == 0)
        return 0;
    fd = board_open(folder, name, &status);
    if (fd < 0)
        return 0;
    bool is_own = status.st_uid == geteuid();
    bool is_board = (is_own || geteuid() == 0) && board_has_magic(fd);
    pid_t holder = is_board ? board_holder(fd) : 0; /* a board is locked before it is one */
    if (holder == process->pid || (holder < 0 && is_own))
        result = sample_read(sample, fd, status.st_size, process);
    else if (is_board && holder == 0)
        (void)unlinkat(folder, name, 0);
    (void)close(fd);
    return result < 0 ? -1 : 0;
}

static int look_through(struct sample *sample, int fd, size_t which)
{
    DIR *folder = fdopendir(fd);
    const struct dirent *entry;
    int result = 0;

    if (folder == NULL) {
        (void)close(fd);
        return 0;
    }
    sample->looks = 0;
    for (int i = 0; result == 0 && i < SAMPLE_FILES_MOST && (entry = readdir(folder)) != NULL; i++)
        result = look_at(sample, fd, entry->d_name, &(struct seen){.folder = which});
    (void)closedir(folder);
    return result;
}

/* ---- all of it ---- */

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int compare(const void *one, const void *other)
{
    const struct seen *a = one, *b = other;

    if (a->folder != b->folder)
        return COMPARE(a->folder, b->folder);
    if (a->pid != b->pid)
        return COMPARE(a->pid, b->pid);
    if (a->made_ns != b->made_ns)
        return COMPARE(a->made_ns, b->made_ns);
    return COMPARE(a->number, b->number);
}

int sample_take(struct sample *sample, const struct folders *folders)
{
    char path[PATH_MAX];

    *sample = (struct sample){.at_ns = clock_now_ns()};
    for (size_t i = 0; i < folders->count; i++) {
        int fd = board_folder(folders->where[i], false, path);

        sample->kept = SAMPLE_ENTITIES_MOST * (folders->count - i - 1) / folders->count;
        if (fd >= 0 && look_through(sample, fd, i) < 0)
            return -1;
    }
    if (sample->count > 0)
        qsort(sample->seen, sample->count, sizeof *sample->seen, compare);
    return 0;
}

void sample_fini(struct sample *sample)
{
    free(sample->seen);
    *sample = (struct sample){0};
}

const struct seen *sample_find(const struct sample *sample, const struct seen *entity)
{
    if (sample->count == 0)
        return NULL;
    return bsearch(entity, sample->seen, sample->count, sizeof *entity, compare);
}
