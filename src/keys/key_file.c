#include "key_file.h"

#include "platform/reason.h"
#include "zcrp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECRET_MOST = 1 << 16, PUBLIC_MOST = 1 << 24 };

int key_file_say_system(const char *path)
{
    struct quote q;

    return reason_say(ZCRP_ERROR_SYSTEM, "%s: %s", quote(&q, path), strerror(errno));
}

int key_file_say_exposed(const char *path, mode_t mode)
{
    struct quote q;

    return reason_say(ZCRP_ERROR_EXPOSED,
                      "%s is open to users other than its owner: its mode is %04o, not 0600",
                      quote(&q, path), mode & 07777);
}

/* A device keeps its mode, which others need, so nobody is told to change it. A read of a directory
 * says what it is. */
static int check_mode(int fd, const char *path)
{
    struct stat status;
    struct quote q;

    if (fstat(fd, &status) != 0)
        return key_file_say_system(path);
    if (S_ISDIR(status.st_mode) || (status.st_mode & (S_IRWXG | S_IRWXO)) == 0)
        return ZCRP_OK;
    return S_ISREG(status.st_mode)
               ? key_file_say_exposed(path, status.st_mode)
               : reason_say(ZCRP_ERROR_ARGUMENT, "%s is no regular file", quote(&q, path));
}

static int read_all(struct key_file *file, int fd, const char *path, size_t most)
{
    struct quote q;
    ssize_t got = 1;

    while (got > 0 && file->bytes < most) {
        got = read(fd, file->text + file->bytes, most - file->bytes);
        if (got < 0 && errno != EINTR)
            return key_file_say_system(path);
        if (got < 0)
            got = 1; /* a signal: again */
        else
            file->bytes += (size_t)got;
    }
    file->text[file->bytes] = '\0';
    return file->bytes < most
               ? ZCRP_OK
               : reason_say(ZCRP_ERROR_ARGUMENT, "%s has %zu bytes or more", quote(&q, path), most);
}

int key_file_read(struct key_file *file, const char *path, bool is_secret)
{
    size_t most = is_secret ? SECRET_MOST : PUBLIC_MOST;

    *file = (struct key_file){.text = malloc(most + 1)};
    if (file->text == NULL)
        return ZCRP_ERROR_MEMORY;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    int code = fd < 0 ? key_file_say_system(path) : ZCRP_OK;
    if (code == ZCRP_OK && is_secret)
        code = check_mode(fd, path);
    if (code == ZCRP_OK)
        code = read_all(file, fd, path, most);
    int error = errno;
    if (fd >= 0)
        (void)close(fd);
    errno = error;
    if (code != ZCRP_OK)
        key_file_fini(file);
    return code;
}

void key_file_fini(struct key_file *file)
{
    int error = errno;

    explicit_bzero(file->text, file->bytes);
    free(file->text);
    errno = error;
}
