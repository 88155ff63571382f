#include "stock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zcrp-cp/files/beneath.h"

enum { ROOM_LEAST = 64 };

void stock_init(struct stock *stock, const struct walk *walk)
{
    *stock = (struct stock){.walk = walk};
}

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
    if (fd >= 0)
        (void)close(fd);
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

void stock_hold(struct opened *opened)
{
    opened->in_flight++;
}

void stock_release(struct opened *opened)
{
    opened->in_flight--;
}
