#include "log.h"

#include "chain.h"
#include "key_file.h"
#include "platform/reason.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIGITS_ROOM = 2 * LOG_BYTES_MOST + 1, LINE_ROOM = LOG_LABEL_MOST + 2 * DIGITS_ROOM + 2 };

struct log {
    int fd;                 /* (c) */
    _Atomic bool is_broken; /* a line was cut short */
};

static int check_file(int fd, const char *path)
{
    struct stat status;
    struct quote q;

    if (fstat(fd, &status) != 0)
        return key_file_say_system(path);
    if (!S_ISREG(status.st_mode))
        return reason_say(ZCRP_ERROR_ARGUMENT, "%s is no regular file", quote(&q, path));
    if (status.st_uid != geteuid())
        return reason_say(ZCRP_ERROR_EXPOSED, "%s belongs to another user", quote(&q, path));
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return key_file_say_exposed(path, status.st_mode);
    return ZCRP_OK;
}

/* O_NONBLOCK is for files that turn out to be none: opening a FIFO must not wait. */
int log_open(struct log **log, const char *path)
{
    int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    int code = ZCRP_ERROR_MEMORY;

    *log = NULL;
    int fd = open(path, flags, S_IRUSR | S_IWUSR);
    if (fd < 0)
        return key_file_say_system(path);
    struct log *made = calloc(1, sizeof(*made));
    if (made != NULL)
        code = check_file(fd, path);
    if (code == ZCRP_OK) {
        made->fd = fd;
        *log = made;
        return ZCRP_OK;
    }
    free(made);
    (void)close(fd);
    return code;
}

static bool write_digits(char digits[DIGITS_ROOM], const gnutls_datum_t *bytes)
{
    size_t room = DIGITS_ROOM;

    return bytes->size <= LOG_BYTES_MOST && gnutls_hex_encode(bytes, digits, &room) == 0;
}

/* A write behind the limit of file sizes would end the process (SIGXFSZ). */
static bool is_below_limit(int fd)
{
    struct rlimit limit;
    struct stat status;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && fstat(fd, &status) == 0 &&
           (!S_ISREG(status.st_mode) || (rlim_t)status.st_size < limit.rlim_cur);
}

void log_write(struct log *log, const char *label, const gnutls_datum_t *random,
               const gnutls_datum_t *secret)
{
    char line[LINE_ROOM], digits[2][DIGITS_ROOM];

    if (atomic_load(&log->is_broken) || strlen(label) > LOG_LABEL_MOST ||
        !write_digits(digits[0], random) || !write_digits(digits[1], secret))
        return;
    int length = snprintf(line, sizeof(line), "%s %s %s\n", label, digits[0], digits[1]);
    if (!is_below_limit(log->fd) || write(log->fd, line, (size_t)length) != length)
        atomic_store(&log->is_broken, true);
    explicit_bzero(line, sizeof(line));
    explicit_bzero(digits, sizeof(digits));
}

void log_close(struct log *log)
{
    if (log == NULL)
        return;
    (void)close(log->fd);
    free(log);
}
