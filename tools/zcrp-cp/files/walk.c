#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "place.h"

/* A name to be looked at; its path from the root's directory follows it in memory. */
struct walk_item {
    struct walk_item *next;
    uint32_t root;
    char path[];
};

enum { STATUS_BLOCK = 512 };

/* ---- roots ---- */

/* Cuts `path` into the folder and the name in it, which are the root's: "a/b//" is "b" in "a",
 * "a/." and "a/.." are what is in them. -1: no memory. */
static int cut_path(struct root *root, const char *path)
{
    char *first = strdup(path), *second = strdup(path);

    if (first != NULL && second != NULL) {
        const char *name = basename(first);
        bool is_upwards = strcmp(name, "..") == 0 || strcmp(name, "/") == 0;

        root->name = strdup(is_upwards ? "." : name);
        root->folder = strdup(is_upwards ? path : dirname(second));
    }
    free(second);
    free(first);
    return root->name != NULL && root->folder != NULL ? 0 : -1;
}

/* Its folder, which a root before it may have open; the last one, as a rule. */
static int open_root(const struct walk *walk, struct root *root, int directory)
{
    for (uint32_t i = walk->root_count; i > 0; i--) {
        if (strcmp(walk->roots[i - 1].folder, root->folder) == 0) {
            root->directory = walk->roots[i - 1].directory;
            return 0;
        }
    }
    root->directory = place_open_directory(directory, root->folder);
    root->opened_this = root->directory >= 0;
    return root->opened_this ? 0 : -1;
}

static void free_root(struct root *root)
{
    if (root->opened_this)
        place_close(root->directory);
    free(root->folder);
    free(root->name);
}

int walk_add(struct walk *walk, int directory, const char *path)
{
    struct root *roots = realloc(walk->roots, (walk->root_count + 1) * sizeof(*roots));

    if (roots == NULL)
        return -1;
    walk->roots = roots;
    struct root *root = &roots[walk->root_count];
    *root = (struct root){.directory = -1};
    int code = cut_path(root, path);
    if (code == 0)
        code = open_root(walk, root, directory);
    if (code != 0) {
        int why = errno;

        free_root(root);
        errno = why;
        return -1;
    }
    walk->root_count++;
    walk->folder_count += root->opened_this;
    return 0;
}

void walk_fini(struct walk *walk)
{
    for (struct walk_item *item = walk->stack, *next; item != NULL; item = next) {
        next = item->next;
        free(item);
    }
    for (uint32_t i = 0; i < walk->root_count; i++)
        free_root(&walk->roots[i]);
    free(walk->roots);
    *walk = (struct walk){0};
}

/* ---- the stack ---- */

/* The item of `name` in the folder `path`, or of the root's name itself. */
static struct walk_item *make_item(uint32_t root, const char *path, const char *name)
{
    bool is_top = strcmp(path, ".") == 0;
    size_t room = (is_top ? 0 : strlen(path) + 1) + strlen(name) + 1;
    struct walk_item *item = malloc(sizeof(*item) + room);

    if (item == NULL)
        return NULL;
    item->root = root;
    (void)snprintf(item->path, room, "%s%s%s", is_top ? "" : path, is_top ? "" : "/", name);
    return item;
}

static int is_inside(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Puts what is in a folder on the stack, the first name on top. 0 or an errno. */
static int push_folder(struct walk *walk, uint32_t root, const char *path)
{
    struct dirent **names = NULL;
    int fd = beneath_open(walk->roots[root].directory, path, O_RDONLY | O_DIRECTORY, 0);
    int count = fd >= 0 ? scandirat(fd, ".", &names, is_inside, by_name) : -1;
    int code = count >= 0 ? 0 : errno;

    place_close(fd);
    for (int i = count - 1; i >= 0; i--) {
        struct walk_item *item = code == 0 ? make_item(root, path, names[i]->d_name) : NULL;

        free(names[i]);
        if (item == NULL) {
            code = ENOMEM;
            continue;
        }
        item->next = walk->stack;
        walk->stack = item;
    }
    free(names);
    return code;
}

/* ---- entries ---- */

static enum walk_step fail(struct walk *walk, const char *text)
{
    (void)snprintf(walk->error, sizeof(walk->error), "%s", text);
    return WALK_TROUBLE;
}

static enum walk_step read_link(struct walk *walk, uint32_t root, struct list_entry *entry)
{
    ssize_t length =
        beneath_read_link(walk->roots[root].directory, walk->path, walk->link, PATH_MOST);

    if (length < 0)
        return fail(walk, strerror(errno));
    entry->link = (struct text){walk->link, (size_t)length};
    return WALK_ENTRY;
}

/* The target may have a part file of that name at work, or take this one for what an earlier copy
 * has left. */
static bool is_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return place_is_part(slash != NULL ? slash + 1 : path);
}

static enum walk_step describe(struct walk *walk, uint32_t root, const struct stat *status,
                               struct list_entry *entry)
{
    *entry = (struct list_entry){
        .mode = (uint16_t)(status->st_mode & 07777),
        .time_s = status->st_mtim.tv_sec,
        .time_ns = (uint32_t)status->st_mtim.tv_nsec,
        .path = text_of(walk->path),
        .link = {"", 0},
    };
    if (S_ISLNK(status->st_mode)) {
        entry->type = ENTRY_LINK;
        return read_link(walk, root, entry);
    }
    if (S_ISDIR(status->st_mode)) {
        entry->type = ENTRY_DIRECTORY;
        return WALK_ENTRY;
    }
    if (!S_ISREG(status->st_mode))
        return fail(walk, "it is no file, directory or symbolic link");
    if (is_part(walk->path))
        return fail(walk, "it is a part file, as a copy leaves it that breaks off");
    entry->type = ENTRY_FILE;
    entry->size = (uint64_t)status->st_size;
    entry->is_sparse = (uint64_t)status->st_blocks * STATUS_BLOCK < entry->size;
    return WALK_ENTRY;
}

/* A file system may know of a size, or of a time, that no list has. The target takes whoever lists
 * such for a liar, and ends the copy: here it is trouble of this one alone. */
static enum walk_step check(struct walk *walk, const struct list_entry *entry)
{
    if (entry->size > SIZE_MOST)
        return fail(walk, strerror(EFBIG));
    return record_entry_is_good(entry) ? WALK_ENTRY
                                       : fail(walk, "what the file system says of it cannot be");
}

/* The entry of walk->path. A folder that cannot be read is trouble, and an entry all the same would
 * make an empty one: it is left out. */
static enum walk_step look(struct walk *walk, uint32_t root, struct list_entry *entry)
{
    struct stat status;

    if (beneath_status(walk->roots[root].directory, walk->path, &status) != 0)
        return fail(walk, strerror(errno));
    enum walk_step step = describe(walk, root, &status, entry);
    if (step == WALK_ENTRY)
        step = check(walk, entry);
    if (step != WALK_ENTRY || entry->type != ENTRY_DIRECTORY)
        return step;
    int code = push_folder(walk, root, walk->path);
    return code == 0 ? WALK_ENTRY : code == ENOMEM ? WALK_MEMORY : fail(walk, strerror(code));
}

/* Puts the next root on the stack, or what is in it. */
static enum walk_step push_root(struct walk *walk)
{
    uint32_t root = walk->next_root++;
    const char *name = walk->roots[root].name;

    if (strcmp(name, ".") == 0) {
        int code = push_folder(walk, root, ".");
        (void)snprintf(walk->path, sizeof(walk->path), ".");
        return code == 0 ? WALK_ENTRY : code == ENOMEM ? WALK_MEMORY : fail(walk, strerror(code));
    }
    struct walk_item *item = make_item(root, ".", name);
    if (item == NULL)
        return WALK_MEMORY;
    item->next = NULL;
    walk->stack = item;
    return WALK_ENTRY;
}

enum walk_step walk_next(struct walk *walk, struct list_entry *entry, uint32_t *root)
{
    while (walk->stack == NULL) {
        if (walk->next_root == walk->root_count)
            return WALK_END;
        enum walk_step step = push_root(walk);
        if (step != WALK_ENTRY)
            return step;
    }
    struct walk_item *item = walk->stack;
    walk->stack = item->next;
    *root = item->root;
    bool is_good = record_path_is_good(text_of(item->path));
    (void)snprintf(walk->path, sizeof(walk->path), "%s", item->path);
    free(item);
    return is_good ? look(walk, *root, entry) : fail(walk, strerror(ENAMETOOLONG));
}
