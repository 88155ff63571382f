#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/complain.h"

static int map(struct input *input, int fd, const char *path)
{
    struct stat status;
    void *bytes;

    if (fstat(fd, &status) < 0)
        return complain("cannot look at '%s': %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return complain("'%s' is not a regular file", path);
    if (status.st_size == 0)
        return complain("'%s' is empty", path);
    /* Private and writable: nobody writes, but a message's buffer is not const. */
    bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return complain("cannot map '%s': %s", path, strerror(errno));
    madvise(bytes, (size_t)status.st_size, MADV_POPULATE_READ);
    *input = (struct input){bytes, (size_t)status.st_size};
    return 0;
}

int input_open(struct input *input, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int status;

    *input = (struct input){0};
    if (fd < 0)
        return complain("cannot read '%s': %s", path, strerror(errno));
    status = map(input, fd, path);
    close(fd);
    return status;
}

void input_close(struct input *input)
{
    if (input->bytes != NULL)
        munmap(input->bytes, input->size);
    *input = (struct input){0};
}
