/* The records of a copy, as bytes. A message of the two ends is a row of records, one behind the
 * other, except for a message that is a block of a file: that is the block and nothing else.
 *
 *      near end                far end
 *         OPEN PATH...   ->                    what is to be copied
 *                        <-  READY             or why not
 *
 *      target                  source
 *         LIST           ->                    each request has one answer, a message; answers
 *                        <-  ENTRY... END      come in the order of the requests
 *         SEND           ->
 *                        <-  (a block, in place)
 *         CLOSE REPORT   ->
 *                        <-  BLOCK BLOCK       one for each SEND and CLOSE since the last REPORT
 *         OUTCOME        ->                    no answer
 *         BYE            ->
 *                        <-  END
 *
 * Numbers have the most significant byte first. Everything that comes from the peer is decoded
 * here, and nowhere else; a record that decodes keeps these rules:
 *
 * I1. A path leads downwards: 1 to 4095 bytes, without a 0, in names of 1 to 255 bytes, none of
 *     them "." or "..", with one slash between two.
 * I2. A size, an offset and their sum are at most 2^62.
 * I3. A length is at most what its record allows (the enum below).
 * I4. A time has less than 10^9 ns, a mode at most 07777.
 * I5. What decodes encodes to the same bytes again. */
#ifndef ZCRP_CP_RECORD_H
#define ZCRP_CP_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    RECORD_VERSION = 1,
    PATH_MOST = 4095,        /* bytes of a path, without the 0 */
    NAME_MOST = 255,         /* bytes of a name in it */
    TEXT_MOST = 400,         /* bytes of an error's text */
    HASH_BYTES = 16,         /* XXH3-128 */
    PROOF_BYTES = 16,        /* see meeting.h */
    BLOCK_MOST = 2 << 20,    /* bytes of one SEND */
    LEAF_BYTES = 64 << 10,   /* of a file; each has a hash of its own in HASHES */
    HASHED_MOST = 64 << 20,  /* bytes of a file that one HASHES asks for */
    PACKED_MOST = 64 << 10,  /* bytes of a file that may come in a PACK */
    PACK_FILES = 128,        /* files of one PACK */
    PACK_BYTES = 1 << 20,    /* bytes of these files, by the list */
    REPORT_MOST = 64,        /* SEND and CLOSE before a REPORT */
    REQUEST_ROOM = 64 << 10, /* bytes of a message of requests */
    OPEN_ROOM = 1 << 20,     /* bytes of the first message */
    ANSWER_ROOM = 256 << 10, /* bytes of an answer that is neither a block nor a pack */
    PACK_ROOM = PACK_BYTES + PACK_FILES * (TEXT_MOST + 64),
};

#define SIZE_MOST (UINT64_C(1) << 62) /* bytes of a file */

enum record_kind {
    RECORD_OPEN = 1,
    RECORD_PATH,
    RECORD_READY,
    RECORD_LIST,
    RECORD_SEND,
    RECORD_PACK,
    RECORD_HASHES,
    RECORD_EXTENTS,
    RECORD_CLOSE,
    RECORD_REPORT,
    RECORD_OUTCOME,
    RECORD_BYE,
    RECORD_ENTRY,
    RECORD_TROUBLE,
    RECORD_BLOCK,
    RECORD_PACKED,
    RECORD_DIGESTS,
    RECORD_EXTENT,
    RECORD_END,
    RECORD_KINDS,
};

enum entry_type { ENTRY_FILE = 1, ENTRY_DIRECTORY, ENTRY_LINK, ENTRY_TYPES };
enum outcome { OUTCOME_COPIED = 1, OUTCOME_SKIPPED, OUTCOME_FAILED, OUTCOMES };
enum open_flags {
    OPEN_PULL = 1, /* the far end is the source */
    OPEN_CHECKSUM = 2,
    OPEN_DRY_RUN = 4,
    OPEN_CONTENTS = 8, /* what a directory has is copied: the target may be made */
    OPEN_NAME = 16,    /* one thing is copied: the target may be its new name */
    OPEN_FLAGS = 31,
};

/* Bytes that are somewhere else: in the message that was decoded, or the caller's. */
struct text {
    const char *bytes;
    size_t length;
};

static inline struct text text_of(const char *string)
{
    return (struct text){string, strlen(string)};
}

/* What one file, directory or symbolic link is. */
struct list_entry {
    uint8_t type;     /* enum entry_type */
    bool is_sparse;   /* a file with holes */
    uint16_t mode;    /* permissions */
    int64_t time_s;   /* of the last change, since 1970 */
    uint32_t time_ns; /* within the second */
    uint64_t size;    /* of a file */
    struct text path; /* below the target's directory */
    struct text link; /* where a symbolic link leads to; any bytes but 0 */
};

struct record {
    uint8_t kind; /* enum record_kind, which says which of these it is */
    union {
        struct {
            uint8_t version;
            uint8_t flags; /* enum open_flags */
            uint64_t rate; /* bits a second that the target asks for at most; 0: any */
            uint8_t proof[PROOF_BYTES];
        } open;
        struct text path; /* PATH: as the user has written it; checked where it is used */
        struct {
            uint8_t proof[PROOF_BYTES];
            struct text error; /* empty: go on */
        } ready;
        struct {
            uint32_t file; /* its place in the list, from 0 */
            uint64_t offset;
            uint32_t length; /* 1 .. BLOCK_MOST (SEND), HASHED_MOST (HASHES); EXTENTS: 0 */
        } part;              /* SEND, HASHES, EXTENTS, CLOSE (where offset and length are 0) */
        struct {
            uint16_t count; /* 1 .. PACK_FILES */
            uint32_t files[PACK_FILES];
        } pack;
        struct {
            uint32_t file;
            uint8_t outcome;
            struct text error; /* FAILED, and empty: the directory that it is in has failed */
        } outcome;
        struct list_entry entry;
        struct {
            struct text path;
            struct text error;
        } trouble; /* a file that the source cannot have in its list */
        struct {
            uint8_t hash[HASH_BYTES];
            struct text error; /* not empty: the block, or the file, is not good */
        } block;
        struct {
            uint8_t hash[HASH_BYTES];
            struct text error;
            struct text content; /* PACKED_MOST bytes at most */
        } packed;
        struct {
            struct text error;
            struct text hashes; /* HASH_BYTES for each leaf */
        } digests;
        struct {
            uint64_t offset, length; /* data that is no hole */
        } extent;
    };
};

/* Reads records from a message. `bad` stays true once a record was not one. */
struct reader {
    const uint8_t *at, *end;
    bool bad;
};

/* Writes records to a message. `bad` stays true once there was no room; what was written before
 * stays good, and `at` is behind it. */
struct writer {
    uint8_t *start, *at, *end;
    bool bad;
};

/* The next record. False at the end of the message, and at the first record that breaks a rule:
 * then reader->bad. Texts of *record lie in the message. */
bool record_decode(struct reader *reader, struct record *record);

/* Appends a record that keeps the rules. False if there is no room left for all of it. */
bool record_encode(struct writer *writer, const struct record *record);

/* I1; and all that these rules say of an entry. */
bool record_path_is_good(struct text path);
bool record_entry_is_good(const struct list_entry *entry);

static inline struct reader reader_of(const void *bytes, size_t length)
{
    return (struct reader){.at = bytes, .end = (const uint8_t *)bytes + length};
}

static inline struct writer writer_of(void *bytes, size_t room)
{
    return (struct writer){.start = bytes, .at = bytes, .end = (uint8_t *)bytes + room};
}

static inline size_t writer_length(const struct writer *writer)
{
    return (size_t)(writer->at - writer->start);
}

#endif
