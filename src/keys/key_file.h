/* A file of the user's that has keys or certificates, as a whole in memory.
 *
 * The library reads such files itself, and hands GnuTLS their text: GnuTLS reads files, too, but
 * does not tell what the system says of one that it cannot read. */
#ifndef ZCRP_KEYS_KEY_FILE_H
#define ZCRP_KEYS_KEY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct key_file {
    char *text;   /* a 0 follows it */
    size_t bytes; /* of the text, which may have a 0 in it */
};

/* Reads it. Others than its owner must not be able to use a file with a secret, which has less than
 * 64 KiB; other files have less than 16 MiB.
 *
 * ZCRP_OK; or, with a reason (reason.h), ZCRP_ERROR_SYSTEM with errno, _EXPOSED, _ARGUMENT (too
 * long; no regular file, and open to others); or _MEMORY. Then there is nothing to free. */
int key_file_read(struct key_file *file, const char *path, bool is_secret);

/* Overwrites and frees the text; errno stays. */
void key_file_fini(struct key_file *file);

/* Say why such a file is not taken: errno; its mode. Each returns the code. */
int key_file_say_system(const char *path);
int key_file_say_exposed(const char *path, mode_t mode);

#endif
