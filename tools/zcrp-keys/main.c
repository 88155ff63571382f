/* zcrp-keys: makes keys for options.keys, and shows what a key file contains, without secrets. */
#include "common/arguments.h"
#include "common/character.h"
#include "common/complain.h"
#include "zcrp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRONG_LINE = -2 }; /* the command line is wrong; other failures are -1 */

#ifdef ZCRP_KEYS
#include <gnutls/crypto.h>
#include <gnutls/x509.h>

enum { FILE_MOST = 1 << 16 };

/* ---- files ---- */

/* A new file that nobody but its owner may read. */
static int write_file(const char *path, const void *text, size_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return complain("cannot make %s: %s", path, strerror(errno));
    ssize_t written = write(fd, text, bytes);
    if (fsync(fd) == 0 && written == (ssize_t)bytes && close(fd) == 0)
        return 0;
    (void)unlink(path);
    return complain("cannot write %s: %s", path, strerror(errno));
}

/* A device keeps its mode, which others need. */
static int complain_of_mode(const char *path, mode_t mode)
{
    if (!S_ISREG(mode))
        return complain("%s is no regular file", path);
    return complain("%s can be read by users other than its owner: chmod 600 it, or make a new key",
                    path);
}

/* Its bytes, and a 0 behind them; or -1. */
static ssize_t read_file(const char *path, char text[FILE_MOST])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) != 0)
        return complain("cannot read %s: %s", path, strerror(errno));
    if (!S_ISDIR(status.st_mode) && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        (void)close(fd);
        return complain_of_mode(path, status.st_mode);
    }
    ssize_t bytes = read(fd, text, FILE_MOST - 1);
    (void)close(fd);
    if (bytes < 0)
        return complain("cannot read %s: %s", path, strerror(errno));
    text[bytes] = '\0';
    return bytes;
}

/* ---- generate ---- */

static int generate_shared(const char *identity, const char *path)
{
    uint8_t key[ZCRP_KEYS_PSK_LEAST];
    char digits[2 * sizeof(key) + 1], line[ZCRP_KEYS_IDENTITY_MOST + sizeof(digits) + 3];
    size_t room = sizeof(digits);
    const gnutls_datum_t bytes = {key, sizeof(key)};

    if (identity[0] == '\0' || strlen(identity) > ZCRP_KEYS_IDENTITY_MOST ||
        strpbrk(identity, ":\r\n") != NULL) {
        (void)complain("an identity has 1 to %d bytes, and neither a colon nor a line break",
                       ZCRP_KEYS_IDENTITY_MOST);
        return WRONG_LINE;
    }
    if (gnutls_rnd(GNUTLS_RND_KEY, key, sizeof(key)) != 0 ||
        gnutls_hex_encode(&bytes, digits, &room) != 0)
        return complain("cannot get random numbers");
    int length = snprintf(line, sizeof(line), "%s:%s\n", identity, digits);
    int status = write_file(path, line, (size_t)length);
    gnutls_memset(key, 0, sizeof(key));
    gnutls_memset(digits, 0, sizeof(digits));
    gnutls_memset(line, 0, sizeof(line));
    return status;
}

static int generate_raw(const char *path)
{
    gnutls_x509_privkey_t key = NULL;
    gnutls_datum_t text = {NULL, 0};
    int code = gnutls_x509_privkey_init(&key), status = -1;

    if (code >= 0)
        code = gnutls_x509_privkey_generate(key, GNUTLS_PK_EDDSA_ED25519, 0, 0);
    if (code >= 0)
        code = gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN,
                                                 &text);
    if (code >= 0) {
        status = write_file(path, text.data, text.size);
        gnutls_memset(text.data, 0, text.size);
    } else {
        (void)complain("cannot make a key: %s", gnutls_strerror(code));
    }
    gnutls_free(text.data);
    if (key != NULL)
        gnutls_x509_privkey_deinit(key);
    return status;
}

/* ---- show ---- */

/* Prints the SHA-256 of the SubjectPublicKeyInfo, behind `what`. */
static int print_fingerprint(const char *path, const char *pem, const char *what)
{
    const gnutls_datum_t text = {(unsigned char *)pem, (unsigned int)strlen(pem)};
    gnutls_x509_privkey_t key = NULL;
    uint8_t hash[ZCRP_KEYS_FINGERPRINT_BYTES];
    size_t room = sizeof(hash);
    int code = gnutls_x509_privkey_init(&key);

    if (code >= 0)
        code = gnutls_x509_privkey_import2(key, &text, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (code >= 0)
        code = gnutls_x509_privkey_get_key_id(key, GNUTLS_KEYID_USE_SHA256, hash, &room);
    if (code >= 0) {
        printf("%ssha256:", what);
        for (size_t i = 0; i < sizeof(hash); i++)
            printf("%02x", hash[i]);
        putchar('\n');
    }
    if (key != NULL)
        gnutls_x509_privkey_deinit(key);
    return code >= 0 ? 0 : complain("%s is no key pair: %s", path, gnutls_strerror(code));
}

static bool is_pem(const char *text)
{
    return strstr(text, "-----BEGIN") != NULL;
}

/* The file may be somebody else's: what a terminal may not get becomes '?'. */
static void print_identity(const char *text, size_t bytes)
{
    printf("a pre-shared key, identity ");
    while (bytes > 0) {
        size_t shown = character_shown(text, bytes), taken = shown > 0 ? shown : 1;

        (void)fwrite(shown > 0 ? text : "?", 1, taken, stdout);
        text += taken;
        bytes -= taken;
    }
    putchar('\n');
}

static int show_text(const char *path, char *text, bool wants_all)
{
    char *colon = strrchr(text, ':');
    struct zcrp_keys *keys;

    if (is_pem(text))
        return print_fingerprint(path, text, wants_all ? "a key pair, " : "");
    if (!wants_all)
        return complain("%s is no key pair, and has no fingerprint", path);
    int code = zcrp_keys_read(&keys, path);
    if (code != ZCRP_OK)
        return complain("%s", zcrp_explain(code));
    zcrp_keys_free(keys);
    print_identity(text, colon != NULL ? (size_t)(colon - text) : 0);
    return 0;
}

static int show(const char *path, bool wants_all)
{
    static char text[FILE_MOST];
    int status = read_file(path, text) < 0 ? -1 : show_text(path, text, wants_all);

    gnutls_memset(text, 0, sizeof(text));
    return status;
}

/* ---- commands ---- */

static bool is_command(const char *word)
{
    return strcmp(word, "generate") == 0 || strcmp(word, "show") == 0 ||
           strcmp(word, "fingerprint") == 0;
}

static int run(int count, char **words)
{
    bool generates = count >= 2 && strcmp(words[0], "generate") == 0;

    if (generates && count == 4 && strcmp(words[1], "psk") == 0)
        return generate_shared(words[2], words[3]);
    if (generates && count == 3 && strcmp(words[1], "raw") == 0)
        return generate_raw(words[2]);
    if (count == 2 && strcmp(words[0], "show") == 0)
        return show(words[1], true);
    if (count == 2 && strcmp(words[0], "fingerprint") == 0)
        return show(words[1], false);
    if (count == 0)
        (void)complain("a command is missing; --help lists them");
    else if (strcmp(words[0], "generate") == 0)
        (void)complain("usage: zcrp-keys generate psk IDENTITY FILE, or generate raw FILE");
    else if (is_command(words[0]))
        (void)complain("usage: zcrp-keys %s FILE", words[0]);
    else
        (void)complain("no such command: %s; --help lists them", words[0]);
    return WRONG_LINE;
}
#else
static int run(int count, char **words)
{
    (void)count, (void)words;
    return complain("%s", zcrp_strerror(ZCRP_ERROR_NO_KEYS));
}
#endif

static const struct argument_row rows[] = {ARGUMENT_USUAL};

static const struct argument_table table = {
    .rows = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .usage = "generate psk IDENTITY FILE\ngenerate raw FILE\nshow FILE\nfingerprint FILE",
    .about = "Makes keys for ZCRP, and shows what a key file contains, without its secrets.",
};

int main(int argc, char **argv)
{
    int next = 1, nothing = 0;
    int status = arguments_read(&table, &nothing, argc, argv, &next);

    if (status != 0)
        return arguments_status(status);
    int count = arguments_words(argv, next);
    if (count < 0)
        return arguments_status(-1);
    status = run(count, argv + next);
    if (status == 0 && (fflush(stdout) != 0 || ferror(stdout)))
        status = complain("cannot write: %s", strerror(errno));
    return status == 0 ? EXIT_SUCCESS : status == WRONG_LINE ? 2 : EXIT_FAILURE;
}
