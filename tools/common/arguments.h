/* Command lines. A program describes its options in a table, one row each; glibc's argp reads them,
 * and writes the help from the same table.
 *
 *      ARGUMENT("mtu", 0, NUMBER, offsetof(struct options, mtu), 576, 65535, "BYTES", "the MTU")
 *
 * A value that is not what its row asks for is complained of: --mtu: '12' is not a number from 576
 * to 65535. */
#ifndef COMMON_ARGUMENTS_H
#define COMMON_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum argument_kind {
    ARGUMENT_TITLE,   /* no option: `help` is a heading above the rows that follow */
    ARGUMENT_FLAG,    /* bool: becomes true */
    ARGUMENT_NUMBER,  /* uint64_t in least .. most; K, M and G are powers of 1024 */
    ARGUMENT_RATE,    /* uint64_t, bits a second: 64k, 155M, 2.5G; 0 if `least` is 0 */
    ARGUMENT_SECONDS, /* int64_t in ns: 0.5, 10; least and most are in milliseconds */
    ARGUMENT_TIME,    /* int64_t in ns: 50us, 1.5ms, 2s; 0 needs no unit */
    ARGUMENT_SHARE,   /* double in 0 .. 1: 1% or 0.01 */
    ARGUMENT_TEXT,    /* const char *: the word, which stays argv's */
    ARGUMENT_NAME,    /* uint64_t: the place of the word in `names`, which NULL ends */
    ARGUMENT_OTHER,   /* what `read` makes of it */
    ARGUMENT_HELP,    /* no value: prints the help */
    ARGUMENT_VERSION, /* no value: prints the program's name and the library's version */
};

enum { ARGUMENT_COMPLAINED = 1 }; /* of something else */

struct argument_row {
    const char *name;        /* without dashes */
    char letter;             /* the short option, or 0 */
    enum argument_kind kind; /* what the value is, and which type it has */
    size_t place;            /* where it goes: bytes from the start of the program's options */
    uint64_t least, most;
    const char *value; /* in the help; NULL: the option has none */
    bool is_optional;  /* the value may be left out */
    const char *help;

    const char *const *names;
    int (*read)(void *place, const char *text); /* 0, -1 if it is not what is wanted, or
                           ARGUMENT_COMPLAINED; `text` is NULL if it was left out */
    const char *wanted; /* what the value should have been; NULL: the kind's own words, or those
                           that `read` has complained with */
    size_t again;       /* not 0: "A/B" is a value here and one so many bytes further on; "A" is for
                           both */
    unsigned marks;     /* the program's own */
};

/* A row; what follows the help are more of its fields. */
#define ARGUMENT(word, short_word, what, where, low, high, shown, text, ...)                       \
    {                                                                                              \
        .name = (word), .letter = (short_word), .kind = ARGUMENT_##what, .place = (where),         \
        .least = (low), .most = (high), .value = (shown), .help = (text), __VA_ARGS__              \
    }
#define ARGUMENT_TRUE(word, short_word, where, text, ...)                                          \
    ARGUMENT(word, short_word, FLAG, where, 0, 0, NULL, text, __VA_ARGS__)
/* The last two rows of every table. */
#define ARGUMENT_USUAL                                                                             \
    ARGUMENT("help", 'h', HELP, 0, 0, 0, NULL, "print this help"),                                 \
        ARGUMENT("version", 'V', VERSION, 0, 0, 0, NULL, "print the version")
#define ARGUMENT_HEADING(text)                                                                     \
    {                                                                                              \
        .kind = ARGUMENT_TITLE, .help = (text)                                                     \
    }

struct argument_table {
    const struct argument_row *rows;
    size_t count;
    const char *usage; /* what follows the options, a line for each way to call the program */
    const char *about; /* above the options and, behind \v, below them */
    void (*seen)(void *options, const struct argument_row *row); /* may be NULL */
};

/* Reads argv up to the first word that is no option; *next is its index. 0; 1 if the help or the
 * version was asked for, and has been printed; or -1 with a complaint. */
int arguments_read(const struct argument_table *table, void *options, int argc, char **argv,
                   int *next);

/* The words behind the options, argv[*next] and what follows, of a program whose options come
 * first. Takes a "--" out of them. Returns how many they are; or -1 with a complaint: one that
 * begins with a dash is no name, unless a "--" is in front of it. "-" is a name. */
int arguments_words(char **argv, int next);

/* The same as arguments_read for a program that takes nothing but options. */
int arguments_read_all(const struct argument_table *table, void *options, int argc, char **argv);

/* The exit status for what these two returned, if not 0. After a complaint it names --help. */
int arguments_status(int read);

#endif
