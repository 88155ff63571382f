#include "stock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zcrp-cp/files/place.h"

enum { ROOM_LEAST = 64 };

static void free_opened(struct stock *stock, struct opened *opened)
{
    mapping_fini(&opened->mapping);
    (void)close(opened->fd);
    free(opened);
    stock->open_count--;
}

void stock_fini(struct stock *stock)
{
    for (uint32_t i = 0; i < stock->count; i++) {
        stock_close(stock, &stock->items[i]);
        free(stock->items[i].path);
    }
    stock_tidy(stock);
    free(stock->items);
    *stock = (struct stock){0};
}

static int make_room(struct stock *stock)
{
    if (stock->count < stock->room)
        return 0;
    if (stock->count >= STOCK_MOST)
        return -1;
    size_t room = stock->room > 0 ? 2 * stock->room : ROOM_LEAST;
    struct item *items = realloc(stock->items, room * sizeof(*items));
    if (items == NULL)
        return -1;
    stock->items = items;
    stock->room = room;
    return 0;
}

int stock_add(struct stock *stock, const struct list_entry *entry, uint32_t root)
{
    if (make_room(stock) < 0)
        return -1;
    struct item *item = &stock->items[stock->count];
    *item = (struct item){
        .path = strndup(entry->path.bytes, entry->path.length),
        .root = root,
        .type = entry->type,
        .size = entry->size,
        .time_s = entry->time_s,
        .time_ns = entry->time_ns,
    };
    if (item->path == NULL)
        return -1;
    stock->count++;
    return 0;
}

const char *stock_changed(const struct item *item, int fd)
{
    struct stat status;

    if (fstat(fd, &status) != 0)
        return strerror(errno);
    if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size != item->size ||
        status.st_mtim.tv_sec != item->time_s || (uint32_t)status.st_mtim.tv_nsec != item->time_ns)
        return "it changed while it was copied";
    return NULL;
}

int stock_peek(const struct stock *stock, const struct item *item, const char **error)
{
    int fd = beneath_open(stock->walk->roots[item->root].directory, item->path,
                          O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

    *error = fd < 0 ? strerror(errno) : stock_changed(item, fd);
    if (*error == NULL)
        return fd;
    place_close(fd);
    return -1;
}

const char *stock_open(struct stock *stock, struct item *item)
{
    const char *error;

    if (item->opened != NULL)
        return NULL;
    if (stock->open_count >= STOCK_OPEN_MOST)
        return "the other end opens too many files at once";
    struct opened *opened = calloc(1, sizeof(*opened));
    if (opened == NULL)
        return strerror(ENOMEM);
    opened->fd = stock_peek(stock, item, &error);
    if (opened->fd < 0) {
        free(opened);
        return error;
    }
    if (mapping_init(&opened->mapping, opened->fd, item->size, false) != 0) {
        error = strerror(errno);
        (void)close(opened->fd);
        free(opened);
        return error;
    }
    (void)madvise(opened->mapping.memory, (size_t)item->size, MADV_SEQUENTIAL);
    stock->open_count++;
    item->opened = opened;
    return NULL;
}

void stock_close(struct stock *stock, struct item *item)
{
    struct opened *opened = item->opened;

    item->opened = NULL;
    if (opened == NULL)
        return;
    opened->next = stock->closing;
    stock->closing = opened;
}

void stock_tidy(struct stock *stock)
{
    struct opened **place = &stock->closing;

    while (*place != NULL) {
        struct opened *opened = *place;

        if (opened->in_flight > 0) {
            place = &opened->next;
            continue;
        }
        *place = opened->next;
        free_opened(stock, opened);
    }
}

/* ---- answers ---- */

/* What all copies of this process have. */
static atomic_size_t all_bytes;

static bool is_own(const struct sent_answer *answer)
{
    return answer->opened == NULL && answer->message->message_size == PACK_ROOM;
}

static void forget_bytes(struct answers *answers, size_t bytes)
{
    answers->bytes -= bytes;
    atomic_fetch_sub(&all_bytes, bytes);
}

/* Lets go of the oldest, which has ended. */
static void put_back(struct answers *answers)
{
    struct sent_answer *answer = &answers->ring[answers->first];

    if (answer->opened != NULL)
        answer->opened->in_flight--;
    if (is_own(answer) && answers->spare_count < ANSWERS_SPARE &&
        atomic_load(&all_bytes) <= ANSWERS_BYTES_ALL) {
        answers->spare[answers->spare_count++] = answer->message;
    } else {
        if (is_own(answer))
            forget_bytes(answers, PACK_ROOM);
        zcrp_free_msg(answer->message);
    }
    answers->first = (answers->first + 1) % ANSWERS_MOST;
    answers->count--;
}

void answers_fini(struct answers *answers)
{
    while (answers->count > 0) {
        (void)zcrp_cancel(answers->ring[answers->first].message);
        put_back(answers);
    }
    while (answers->spare_count > 0)
        zcrp_free_msg(answers->spare[--answers->spare_count]);
    forget_bytes(answers, answers->bytes);
}

int answers_reap(struct answers *answers)
{
    while (answers->count > 0) {
        int code = zcrp_error(answers->ring[answers->first].message);

        if (code == ZCRP_ERROR_BUSY)
            return 0;
        if (line_is_over(code))
            return code;
        put_back(answers);
    }
    return 0;
}

static int wait_for_oldest(struct answers *answers)
{
    int code = line_wait(answers->line, answers->ring[answers->first].message, -1);

    return line_is_over(code) ? code : answers_reap(answers);
}

/* Takes the bytes of one more message, if there is room for them. */
static bool take_bytes(struct answers *answers)
{
    size_t own = answers->bytes + PACK_ROOM;
    size_t all = atomic_fetch_add(&all_bytes, PACK_ROOM) + PACK_ROOM;

    if (own <= ANSWERS_BYTES_LEAST || (own <= ANSWERS_BYTES_MOST && all <= ANSWERS_BYTES_ALL)) {
        answers->bytes = own;
        return true;
    }
    atomic_fetch_sub(&all_bytes, PACK_ROOM);
    return false;
}

struct zcrp_msg *answers_take(struct answers *answers, int *code)
{
    *code = answers_reap(answers);
    while (*code == 0 && answers->spare_count == 0) {
        if (take_bytes(answers)) {
            struct zcrp_msg *message = zcrp_alloc_msg(PACK_ROOM);

            *code = message != NULL ? 0 : ZCRP_ERROR_MEMORY;
            return message;
        }
        *code = wait_for_oldest(answers);
    }
    return *code == 0 ? answers->spare[--answers->spare_count] : NULL;
}

int answers_wait(struct answers *answers)
{
    int code = 0;

    while (code == 0 && answers->count > 0)
        code = wait_for_oldest(answers);
    return code;
}

static int submit(struct answers *answers, struct zcrp_msg *message, size_t length,
                  struct opened *opened)
{
    int code = answers->count == ANSWERS_MOST ? wait_for_oldest(answers) : 0;

    if (code == 0)
        code = zcrp_submit(answers->line->sender, message, length);
    if (code != 0) {
        zcrp_free_msg(message);
        return code;
    }
    if (opened != NULL)
        opened->in_flight++;
    answers->ring[(answers->first + answers->count++) % ANSWERS_MOST] =
        (struct sent_answer){message, opened};
    return 0;
}

int answers_send(struct answers *answers, struct zcrp_msg *message, size_t length)
{
    return submit(answers, message, length, NULL);
}

int answers_send_slice(struct answers *answers, struct opened *opened, uint64_t offset,
                       uint32_t length)
{
    struct zcrp_msg *message = zcrp_wrap_msg(opened->mapping.memory + offset, length);

    return message != NULL ? submit(answers, message, length, opened) : ZCRP_ERROR_MEMORY;
}

int answers_send_nothing(struct answers *answers)
{
    struct zcrp_msg *message = zcrp_alloc_msg(0);

    return message != NULL ? submit(answers, message, 0, NULL) : ZCRP_ERROR_MEMORY;
}
