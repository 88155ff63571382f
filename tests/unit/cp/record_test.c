#include "zcrp-cp/wire/record.h"

#include "../../support/random.h"
#include "../../support/suite.h"

#include <string.h>

enum { ROOM = 1 << 17, RUNS = 20000 };

static uint8_t bytes[ROOM], again[ROOM];
static char letters[PATH_MOST + 2];

/* Encodes one record, decodes it, and encodes that: the same bytes. */
static struct record round_trip(const struct record *record)
{
    struct writer writer = writer_of(bytes, sizeof(bytes)),
                  second = writer_of(again, sizeof(again));
    struct record decoded;

    ck_assert(record_encode(&writer, record));
    struct reader reader = reader_of(bytes, writer_length(&writer));
    ck_assert(record_decode(&reader, &decoded));
    ck_assert(reader.at == reader.end);
    ck_assert(record_encode(&second, &decoded));
    ck_assert_uint_eq(writer_length(&writer), writer_length(&second));
    ck_assert_mem_eq(bytes, again, writer_length(&writer));
    return decoded;
}

static bool is_refused(const struct record *record)
{
    struct writer writer = writer_of(bytes, sizeof(bytes));
    struct record decoded;

    ck_assert(record_encode(&writer, record));
    struct reader reader = reader_of(bytes, writer_length(&writer));
    return !record_decode(&reader, &decoded) && reader.bad;
}

static struct record entry_of(const char *path)
{
    struct record record = {.kind = RECORD_ENTRY};

    record.entry = (struct list_entry){
        .type = ENTRY_FILE, .mode = 0644, .size = 5, .path = text_of(path), .link = {"", 0}};
    return record;
}

/* ---- paths ---- */

static const struct {
    const char *path;
    size_t length; /* 0: strlen */
    bool is_good;
} paths[] = {
    {"a", 0, true},           {"a/b/c", 0, true}, {"...", 0, true},    {"..a/b..", 0, true},
    {"a b\nc\"'\\", 0, true}, {"-x", 0, true},    {"", 0, false},      {".", 0, false},
    {"..", 0, false},         {"../a", 0, false}, {"a/..", 0, false},  {"a/../b", 0, false},
    {"a/./b", 0, false},      {"/a", 0, false},   {"a/", 0, false},    {"a//b", 0, false},
    {"/", 0, false},          {"a\0b", 3, false}, {"a/b\0", 4, false},
};

TEST(record_path_is_good__table, .rows = ROWS(paths))
{
    struct text path = text_of(paths[_i].path);

    if (paths[_i].length > 0)
        path.length = paths[_i].length;
    ck_assert_int_eq(record_path_is_good(path), paths[_i].is_good);
}

TEST(record_path_is_good__lengths)
{
    memset(letters, 'a', sizeof(letters));
    ck_assert(record_path_is_good((struct text){letters, NAME_MOST}));
    ck_assert(!record_path_is_good((struct text){letters, NAME_MOST + 1}));
    for (size_t i = 100; i < sizeof(letters); i += 100)
        letters[i] = '/';
    ck_assert(record_path_is_good((struct text){letters, PATH_MOST}));
    ck_assert(!record_path_is_good((struct text){letters, PATH_MOST + 1}));
}

/* ---- each kind ---- */

TEST(record__entry)
{
    struct record record = entry_of("a/b");

    record.entry.is_sparse = true;
    record.entry.time_s = -5;
    record.entry.time_ns = 999999999;
    record.entry.size = SIZE_MOST;
    struct record decoded = round_trip(&record);
    ck_assert_int_eq(decoded.entry.time_s, -5);
    ck_assert_uint_eq(decoded.entry.size, SIZE_MOST);
    ck_assert_uint_eq(decoded.entry.path.length, 3);
}

TEST(record__entry_that_is_wrong)
{
    struct record good = entry_of("a"), bad = good;

    ck_assert(!is_refused(&good));
    bad.entry.type = ENTRY_TYPES;
    ck_assert(is_refused(&bad));
    bad = good, bad.entry.type = 0;
    ck_assert(is_refused(&bad));
    bad = good, bad.entry.size = SIZE_MOST + 1;
    ck_assert(is_refused(&bad));
    bad = good, bad.entry.time_ns = 1000000000;
    ck_assert(is_refused(&bad));
    bad = good, bad.entry.mode = 010000;
    ck_assert(is_refused(&bad));
    bad = good, bad.entry.path = text_of("../x");
    ck_assert(is_refused(&bad));
    bad = good, bad.entry.link = text_of("x");
    ck_assert(is_refused(&bad));
    bad = good, bad.entry.type = ENTRY_DIRECTORY;
    ck_assert(is_refused(&bad)); /* with a size */
    bad.entry.size = 0;
    ck_assert(!is_refused(&bad));
    bad.entry.is_sparse = true;
    ck_assert(is_refused(&bad));
    bad = good, bad.entry.type = ENTRY_LINK, bad.entry.size = 0;
    ck_assert(is_refused(&bad)); /* that leads nowhere */
    bad.entry.link = text_of("/etc/passwd");
    ck_assert(!is_refused(&bad));
    bad.entry.link = (struct text){"a\0b", 3};
    ck_assert(is_refused(&bad));
}

static struct record part_of(uint8_t kind, uint64_t offset, uint32_t length)
{
    struct record record = {.kind = kind};

    record.part.offset = offset;
    record.part.length = length;
    return record;
}

TEST(record__parts)
{
    struct record record = part_of(RECORD_SEND, SIZE_MOST - BLOCK_MOST, BLOCK_MOST);

    ck_assert_uint_eq(round_trip(&record).part.length, BLOCK_MOST);
    record.part.offset++;
    ck_assert(is_refused(&record));
    record = part_of(RECORD_SEND, 0, BLOCK_MOST + 1);
    ck_assert(is_refused(&record));
    record = part_of(RECORD_SEND, 0, 0);
    ck_assert(is_refused(&record));
    record = part_of(RECORD_HASHES, 5, HASHED_MOST);
    (void)round_trip(&record);
    record = part_of(RECORD_HASHES, 5, HASHED_MOST + 1);
    ck_assert(is_refused(&record));
    record = part_of(RECORD_CLOSE, 0, 1);
    ck_assert(is_refused(&record));
    record = part_of(RECORD_EXTENTS, 7, 0);
    (void)round_trip(&record);
}

TEST(record__pack)
{
    struct record record = {.kind = RECORD_PACK};

    ck_assert(is_refused(&record)); /* of nothing */
    record.pack.count = PACK_FILES;
    record.pack.files[PACK_FILES - 1] = UINT32_MAX;
    ck_assert_uint_eq(round_trip(&record).pack.files[PACK_FILES - 1], UINT32_MAX);
    static const uint8_t too_many[] = {RECORD_PACK, 0, PACK_FILES + 1};
    struct reader reader = reader_of(too_many, sizeof(too_many));
    ck_assert(!record_decode(&reader, &record));
}

TEST(record__texts)
{
    struct record record = {.kind = RECORD_OUTCOME};

    memset(letters, 'a', sizeof(letters));
    record.outcome.outcome = OUTCOME_FAILED;
    record.outcome.error = (struct text){letters, TEXT_MOST};
    (void)round_trip(&record);
    record.outcome.error.length++;
    ck_assert(is_refused(&record));
    record.outcome.error.length = 0;
    record.outcome.outcome = OUTCOMES;
    ck_assert(is_refused(&record));
    record = (struct record){.kind = RECORD_EXTENT};
    ck_assert(is_refused(&record)); /* of nothing */
    record.extent.offset = SIZE_MOST;
    record.extent.length = 1;
    ck_assert(is_refused(&record));
    record.extent.offset--;
    (void)round_trip(&record);
}

TEST(record_decode__kinds_that_are_none)
{
    for (int kind = 0; kind < 256; kind++) {
        uint8_t byte = (uint8_t)kind;
        struct reader reader = reader_of(&byte, 1);
        struct record record;
        bool is_whole = kind == RECORD_LIST || kind == RECORD_REPORT || kind == RECORD_BYE ||
                        kind == RECORD_END;

        ck_assert_int_eq(record_decode(&reader, &record), is_whole);
        ck_assert_int_eq(reader.bad, !is_whole);
        ck_assert(!record_decode(&reader, &record));
    }
}

TEST(record_decode__cut_short)
{
    struct record record = entry_of("some/path");
    struct writer writer = writer_of(bytes, sizeof(bytes));

    ck_assert(record_encode(&writer, &record));
    for (size_t length = 1; length < writer_length(&writer); length++) {
        struct reader reader = reader_of(bytes, length);

        ck_assert(!record_decode(&reader, &record));
        ck_assert(reader.bad);
    }
}

TEST(record_encode__no_room)
{
    struct record record = entry_of("some/path");
    struct writer writer = writer_of(bytes, sizeof(bytes));

    ck_assert(record_encode(&writer, &record));
    size_t length = writer_length(&writer);
    for (size_t room = 0; room < length; room++) {
        writer = writer_of(bytes, room);
        ck_assert(!record_encode(&writer, &record));
        ck_assert_uint_eq(writer_length(&writer), 0);
    }
}

/* ---- at random ---- */

/* Whatever comes, decoding ends, stays within the message, and what it accepts encodes back. */
static void try_bytes(size_t length)
{
    struct reader reader = reader_of(bytes, length);
    struct writer writer = writer_of(again, sizeof(again));
    const uint8_t *before = reader.at;
    struct record record;

    while (record_decode(&reader, &record)) {
        ck_assert(reader.at > before && reader.at <= reader.end);
        before = reader.at;
        if (record.kind == RECORD_ENTRY)
            ck_assert(record_path_is_good(record.entry.path));
        ck_assert(record_encode(&writer, &record));
    }
    ck_assert_mem_eq(bytes, again, writer_length(&writer));
}

TEST(record_decode__random_bytes, .is_random = true)
{
    uint64_t random = suite_seed(_i);

    for (int run = 0; run < RUNS; run++) {
        size_t length = (size_t)random_below(&random, 200);

        for (size_t i = 0; i < length; i++)
            bytes[i] = (uint8_t)(random_chance(&random, 50) ? random_below(&random, RECORD_KINDS)
                                                            : random_next(&random));
        try_bytes(length);
    }
}

/* Good records with a few bytes changed. */
TEST(record_decode__mutated, .is_random = true)
{
    uint64_t random = suite_seed(_i);

    for (int run = 0; run < RUNS; run++) {
        struct writer writer = writer_of(bytes, sizeof(bytes));
        struct record entry = entry_of("a/b/c"), part = part_of(RECORD_SEND, 1, 2);

        (void)record_encode(&writer, &entry);
        (void)record_encode(&writer, &part);
        for (uint64_t i = random_below(&random, 4) + 1; i > 0; i--)
            bytes[random_below(&random, writer_length(&writer))] = (uint8_t)random_next(&random);
        try_bytes(writer_length(&writer));
    }
}
