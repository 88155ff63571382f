/* A fuzzer without a fuzzer: `x_replay PATH...` runs each file, and each file of each folder, once.
 * So the corpus is a test wherever there is a C compiler. The name of the file under way is printed
 * when it ends the process. */
#include "script.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MOST = 1 << 20, PATH_MOST = 4096 };

static char current[PATH_MOST];
static unsigned long replayed;

static void on_abort(int number)
{
    ssize_t ignored = write(STDERR_FILENO, current, strlen(current));
    (void)ignored;
    (void)number;
}

/* The input lies in memory of exactly its size, so that a sanitizer sees a step beyond it. */
static void replay_bytes(const uint8_t *bytes, size_t size)
{
    uint8_t *exact = malloc(size == 0 ? 1 : size);
    if (exact == NULL)
        abort();
    memcpy(exact, bytes, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    replayed++;
}

static bool replay_file(const char *path)
{
    static uint8_t bytes[FILE_MOST];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return false;
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    snprintf(current, sizeof current, "replay: %s\n", path);
    replay_bytes(bytes, size);
    return true;
}

static bool replay_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        perror(path);
        return false;
    }
    bool is_right = true;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char file[PATH_MOST];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        is_right &= replay_file(file);
    }
    closedir(folder);
    return is_right;
}

int main(int argc, char **argv)
{
    bool is_right = true;
    signal(SIGABRT, on_abort);
    for (int i = 1; i < argc; i++) {
        struct stat status;
        bool is_folder = stat(argv[i], &status) == 0 && S_ISDIR(status.st_mode);
        is_right &= is_folder ? replay_folder(argv[i]) : replay_file(argv[i]);
    }
    printf("%lu inputs\n", replayed);
    return is_right && replayed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
