#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* PASSES: of directories that files are found in; that takes the right to search them, no more. */
enum { OWNER_ALL = S_IRWXU, PASSES = O_PATH | O_DIRECTORY, PASSWD_ROOM = 4096 };

/* ---- beneath a directory ---- */

/* ENOSYS: the kernel, or a filter of system calls, does not have it. */
static int open_at_once(int directory, const char *path, int flags, mode_t mode)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)flags,
        .mode = (flags & O_CREAT) != 0 ? mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    int fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));

    if (fd < 0 && errno == EAGAIN) /* something was renamed meanwhile */
        fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
    return fd;
}

/* The next name of the path, and where the one behind it begins; NULL if it was the last. */
static const char *next_name(const char *path, char name[NAME_MOST + 1])
{
    size_t length = strcspn(path, "/");

    memcpy(name, path, length);
    name[length] = '\0';
    return path[length] == '/' ? path + length + 1 : NULL;
}

void place_close(int fd)
{
    int code = errno;

    if (fd >= 0)
        (void)close(fd);
    errno = code;
}

bool place_is_part(const char *name)
{
    enum { HASH = 16, END = HASH + 6 };
    size_t length = strlen(name);

    return name[0] == '.' && length > END && strncmp(name + length - END, ".zcrp-", 6) == 0 &&
           strspn(name + length - HASH, "0123456789abcdef") == HASH;
}

static int open_step_by_step(int directory, const char *path, int flags, mode_t mode)
{
    char name[NAME_MOST + 1];
    int here = directory;

    for (;;) {
        const char *rest = next_name(path, name);
        int next = openat(
            here, name, rest != NULL ? O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC : flags, mode);

        if (here != directory)
            place_close(here);
        if (next < 0 || rest == NULL)
            return next;
        here = next;
        path = rest;
    }
}

int beneath_open(int directory, const char *path, int flags, mode_t mode)
{
    flags |= O_CLOEXEC | O_NOFOLLOW;
    int fd = open_at_once(directory, path, flags, mode);

    if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == E2BIG))
        fd = open_step_by_step(directory, path, flags, mode);
    return fd;
}

int beneath_parent(int directory, const char *path, const char **name)
{
    char parent[PATH_MOST + 1];
    const char *slash = strrchr(path, '/');

    *name = slash != NULL ? slash + 1 : path;
    if (slash == NULL)
        return beneath_open(directory, ".", PASSES, 0);
    memcpy(parent, path, (size_t)(slash - path));
    parent[slash - path] = '\0';
    return beneath_open(directory, parent, PASSES, 0);
}

/* One that an earlier copy made as the source has it may not let its owner write. */
static int open_up(int fd)
{
    struct stat status;

    if (fstat(fd, &status) != 0)
        return -1;
    return (status.st_mode & OWNER_ALL) == OWNER_ALL
               ? 0
               : fchmod(fd, (status.st_mode & 07777) | OWNER_ALL);
}

int beneath_make_directory(int directory, const char *path, mode_t mode)
{
    const char *name;
    int parent = beneath_parent(directory, path, &name);

    if (parent < 0)
        return -1;
    int made = mkdirat(parent, name, mode);
    place_close(parent);
    if (made == 0 || errno != EEXIST)
        return made;
    int fd = beneath_open(directory, path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return -1;
    int code = open_up(fd);
    place_close(fd);
    return code;
}

ssize_t beneath_read_link(int directory, const char *path, char *where, size_t room)
{
    const char *name;
    int parent = beneath_parent(directory, path, &name);
    ssize_t length = parent >= 0 ? readlinkat(parent, name, where, room) : -1;

    place_close(parent);
    return length;
}

int beneath_status(int directory, const char *path, struct stat *status)
{
    const char *name;
    int parent = beneath_parent(directory, path, &name);
    int code = parent >= 0 ? fstatat(parent, name, status, AT_SYMLINK_NOFOLLOW) : -1;

    place_close(parent);
    return code;
}

/* ---- words ---- */

/* The word's end. "/.", also of "a/./": a directory's contents; "/": a directory; "": neither. */
static const char *end_of(const char *word)
{
    size_t length = strlen(word), name = length;

    while (name > 0 && word[name - 1] == '/')
        name--;
    if (name >= 2 && word[name - 1] == '.' && word[name - 2] == '/')
        return "/.";
    return name < length ? "/" : "";
}

/* Below a server's directory: "/a//./b/" is "a/b/". As place_resolve. */
static const char *resolve_below(const char *word, char out[PLACE_ROOM])
{
    const char *end = end_of(word);
    size_t length = 0;

    if (word[0] == '~' && (word[1] == '/' || word[1] == '\0'))
        word++;
    for (size_t count; *word != '\0'; word += count) {
        count = strcspn(word, "/");
        if (count == 2 && memcmp(word, "..", 2) == 0)
            return "a server refuses '..' in a path";
        if (count > NAME_MOST || length + 1 + count > PATH_MOST)
            return strerror(ENAMETOOLONG);
        if (count > 1 || (count == 1 && word[0] != '.')) {
            if (length > 0)
                out[length++] = '/';
            memcpy(out + length, word, count);
            length += count;
        }
        count += word[count] == '/';
    }
    (void)strcpy(out + length, length > 0 ? end : ".");
    return NULL;
}

/* The home directory of a user, or for "" this process's own. False if there is none. */
static bool find_home(const char *user, char home[PATH_MOST + 1])
{
    char text[PASSWD_ROOM];
    struct passwd row, *found = NULL;
    const char *own = user[0] == '\0' ? getenv("HOME") : NULL;

    if (own == NULL || own[0] != '/') {
        if (user[0] != '\0')
            (void)getpwnam_r(user, &row, text, sizeof(text), &found);
        else
            (void)getpwuid_r(geteuid(), &row, text, sizeof(text), &found);
        own = found != NULL ? found->pw_dir : "";
    }
    int length = snprintf(home, PATH_MOST + 1, "%s", own);
    return home[0] == '/' && length <= PATH_MOST;
}

/* With the user's own rights, as a shell reads it: "~nobody-of-that-name" is a name. */
static const char *resolve_anywhere(const char *word, char out[PLACE_ROOM])
{
    char home[PATH_MOST + 1] = "", user[NAME_MOST + 1] = "";
    const char *rest = word;
    size_t first = strcspn(word, "/");

    if (word[0] == '~')
        (void)snprintf(user, sizeof(user), "%.*s", (int)first - 1, word + 1);
    bool is_other = user[0] != '\0' && find_home(user, home);
    if (!is_other && word[0] != '/' && !find_home("", home))
        return strerror(ENOENT);
    if (is_other || (word[0] == '~' && first == 1))
        rest = word + first;
    rest += strspn(rest, "/");
    bool is_home = rest[0] == '\0' && word[0] != '/' && !is_other;
    int length = snprintf(out, PLACE_ROOM, "%s/%s", home, is_home ? "." : rest);
    if (is_other && rest[0] == '\0')
        (void)snprintf(out, PLACE_ROOM, "%s", home);
    return length <= PATH_MOST ? NULL : strerror(ENAMETOOLONG);
}

const char *place_resolve(int directory, const char *word, char out[PLACE_ROOM])
{
    return directory >= 0 ? resolve_below(word, out) : resolve_anywhere(word, out);
}

/* ---- where files go ---- */

int place_open_directory(int directory, const char *path)
{
    return directory < 0 ? open(path, PASSES | O_CLOEXEC)
                         : beneath_open(directory, path, PASSES, 0);
}

/* Opens the directory that `path` is in; *name is its last name. Ends with -1 and errno. */
static int open_parent(int directory, const char *path, const char **name)
{
    char parent[PLACE_ROOM];
    const char *slash = strrchr(path, '/');

    if (directory >= 0)
        return beneath_parent(directory, path, name);
    *name = slash != NULL ? slash + 1 : path;
    (void)snprintf(parent, sizeof(parent), "%.*s", (int)(*name - path), path);
    return place_open_directory(-1, slash != NULL ? parent : ".");
}

/* Why nothing can get this name, or NULL. */
static const char *refuse_name(int folder, const char *name)
{
    struct stat status;

    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return strerror(ENOENT);
    if (strlen(name) > NAME_MOST)
        return strerror(ENAMETOOLONG);
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? NULL : strerror(errno);
    if (S_ISLNK(status.st_mode))
        return "a symbolic link is in the way";
    return S_ISREG(status.st_mode) ? NULL : "it is neither a file nor a directory";
}

/* The user's own link to a file is followed, to the file that is replaced then. A stranger's below
 * a server's directory is not. */
static const char *open_new_name(struct place *place, int directory, const char *path)
{
    char *real = directory < 0 ? realpath(path, NULL) : NULL;
    const char *name;
    int folder = open_parent(directory, real != NULL ? real : path, &name);
    const char *why = folder >= 0 ? refuse_name(folder, name) : strerror(errno);

    if (why == NULL) {
        place->directory = folder;
        (void)snprintf(place->name, sizeof(place->name), "%s", name);
    } else {
        place_close(folder);
    }
    free(real);
    return why;
}

const char *place_open(struct place *place, int directory, const char *path, enum place_kind kind,
                       bool is_dry_run)
{
    char trimmed[PLACE_ROOM];
    size_t length = strlen(path);
    bool has_slash = length > 1 && path[length - 1] == '/';

    *place = (struct place){.directory = -1};
    if (length >= PLACE_ROOM)
        return strerror(ENAMETOOLONG);
    while (length > 1 && path[length - 1] == '/')
        length--;
    (void)snprintf(trimmed, sizeof(trimmed), "%.*s", (int)length, path);
    place->directory = place_open_directory(directory, trimmed);
    if (place->directory >= 0)
        return NULL;
    if (errno == ENOENT && (has_slash || kind == PLACE_CONTENTS)) {
        if (is_dry_run)
            return NULL;
        int made = directory < 0 ? mkdir(trimmed, DIRECTORY_MODE)
                                 : beneath_make_directory(directory, trimmed, DIRECTORY_MODE);
        if (made == 0 || errno == EEXIST)
            place->directory = place_open_directory(directory, trimmed);
    } else if (kind == PLACE_NAME && !has_slash &&
               (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) {
        return open_new_name(place, directory, trimmed);
    }
    return place->directory >= 0 ? NULL : strerror(errno);
}
