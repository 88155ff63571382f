#include "record.h"

#include <string.h>

enum { NS_PER_S = 1000000000, MODE_MOST = 07777 };

/* ---- fields ---- */

/* One direction: fields are read from a message, or written to one. Each kind of record lists its
 * fields once, for both. */
struct coder {
    struct reader *from; /* NULL: it writes */
    struct writer *to;   /* NULL: it reads */
};

static const uint8_t *take(struct reader *r, size_t length)
{
    if (r->bad || (size_t)(r->end - r->at) < length) {
        r->bad = true;
        return NULL;
    }
    r->at += length;
    return r->at - length;
}

static uint8_t *put(struct writer *w, size_t length)
{
    if (w->bad || (size_t)(w->end - w->at) < length) {
        w->bad = true;
        return NULL;
    }
    w->at += length;
    return w->at - length;
}

/* Of what is read; what is written keeps the rules already. */
static void require(struct coder c, bool rule)
{
    if (c.from != NULL && !rule)
        c.from->bad = true;
}

static void code_bytes(struct coder c, void *field, size_t length)
{
    const void *from = c.from != NULL ? take(c.from, length) : field;
    void *to = c.to != NULL ? put(c.to, length) : field;

    if (from != NULL && to != NULL && length > 0)
        memcpy(to, from, length);
}

/* The number that was read, or written. */
static uint64_t code_number(struct coder c, uint64_t number, size_t bytes)
{
    uint8_t row[sizeof(number)] = {0};

    for (size_t i = 0; i < bytes; i++)
        row[i] = (uint8_t)(number >> (8 * (bytes - 1 - i)));
    if (c.from != NULL)
        memset(row, 0, sizeof(row));
    code_bytes(c, row, bytes);
    number = 0;
    for (size_t i = 0; i < bytes; i++)
        number = number << 8 | row[i];
    return number;
}

/* One that is read has no value before. */
static void code_flag(struct coder c, bool *flag)
{
    uint64_t number = code_number(c, c.from == NULL && *flag, 1);

    *flag = number == 1;
    require(c, number <= 1);
}

/* A text behind its length, which has `bytes` bytes. */
static struct text code_text(struct coder c, struct text text, size_t bytes, size_t most)
{
    size_t length = (size_t)code_number(c, text.length, bytes);

    require(c, length <= most);
    if (c.from == NULL) {
        code_bytes(c, (void *)text.bytes, length);
        return text;
    }
    const uint8_t *from = take(c.from, length);
    return from != NULL ? (struct text){(const char *)from, length} : text_of("");
}

/* ---- rules ---- */

static bool has_zero(struct text text)
{
    return text.length > 0 && memchr(text.bytes, 0, text.length) != NULL;
}

static bool name_is_good(const char *name, size_t length)
{
    return length >= 1 && length <= NAME_MOST && !(length == 1 && name[0] == '.') &&
           !(length == 2 && name[0] == '.' && name[1] == '.');
}

bool record_path_is_good(struct text path)
{
    size_t start = 0;

    if (path.length < 1 || path.length > PATH_MOST || has_zero(path))
        return false;
    for (size_t i = 0; i <= path.length; i++) {
        if (i < path.length && path.bytes[i] != '/')
            continue;
        if (!name_is_good(path.bytes + start, i - start))
            return false;
        start = i + 1;
    }
    return true;
}

/* ---- each kind ---- */

static void code_open(struct coder c, struct record *record)
{
    record->open.version = (uint8_t)code_number(c, record->open.version, 1);
    record->open.flags = (uint8_t)code_number(c, record->open.flags, 1);
    record->open.rate = code_number(c, record->open.rate, 8);
    code_bytes(c, record->open.proof, PROOF_BYTES);
    require(c, (record->open.flags & ~OPEN_FLAGS) == 0 && record->open.rate <= SIZE_MOST);
}

static void code_part(struct coder c, struct record *record)
{
    uint32_t most = record->kind == RECORD_SEND     ? BLOCK_MOST
                    : record->kind == RECORD_HASHES ? HASHED_MOST
                                                    : 0;

    record->part.file = (uint32_t)code_number(c, record->part.file, 4);
    record->part.offset = code_number(c, record->part.offset, 8);
    record->part.length = (uint32_t)code_number(c, record->part.length, 4);
    require(c, record->part.offset <= SIZE_MOST - most && record->part.length <= most &&
                   (most == 0 || record->part.length > 0));
}

static void code_pack(struct coder c, struct record *record)
{
    record->pack.count = (uint16_t)code_number(c, record->pack.count, 2);
    require(c, record->pack.count >= 1 && record->pack.count <= PACK_FILES);
    for (size_t i = 0; i < record->pack.count && i < PACK_FILES; i++)
        record->pack.files[i] = (uint32_t)code_number(c, record->pack.files[i], 4);
}

static void code_outcome(struct coder c, struct record *record)
{
    record->outcome.file = (uint32_t)code_number(c, record->outcome.file, 4);
    record->outcome.outcome = (uint8_t)code_number(c, record->outcome.outcome, 1);
    record->outcome.error = code_text(c, record->outcome.error, 2, TEXT_MOST);
    require(c, record->outcome.outcome >= OUTCOME_COPIED && record->outcome.outcome < OUTCOMES);
}

bool record_entry_is_good(const struct list_entry *entry)
{
    bool is_file = entry->type == ENTRY_FILE, is_link = entry->type == ENTRY_LINK;

    return entry->type >= ENTRY_FILE && entry->type < ENTRY_TYPES && entry->mode <= MODE_MOST &&
           entry->time_ns < NS_PER_S && entry->size <= (is_file ? SIZE_MOST : 0) &&
           (is_file || !entry->is_sparse) && record_path_is_good(entry->path) &&
           (entry->link.length > 0) == is_link && !has_zero(entry->link);
}

static void code_entry(struct coder c, struct list_entry *entry)
{
    entry->type = (uint8_t)code_number(c, entry->type, 1);
    code_flag(c, &entry->is_sparse);
    entry->mode = (uint16_t)code_number(c, entry->mode, 2);
    entry->time_s = (int64_t)code_number(c, (uint64_t)entry->time_s, 8);
    entry->time_ns = (uint32_t)code_number(c, entry->time_ns, 4);
    entry->size = code_number(c, entry->size, 8);
    entry->path = code_text(c, entry->path, 2, PATH_MOST);
    entry->link = code_text(c, entry->link, 2, PATH_MOST);
    require(c, record_entry_is_good(entry));
}

static void code_extent(struct coder c, struct record *record)
{
    record->extent.offset = code_number(c, record->extent.offset, 8);
    record->extent.length = code_number(c, record->extent.length, 8);
    require(c, record->extent.offset <= SIZE_MOST && record->extent.length >= 1 &&
                   record->extent.length <= SIZE_MOST - record->extent.offset);
}

static void code_body(struct coder c, struct record *record)
{
    switch ((enum record_kind)record->kind) {
    case RECORD_OPEN:
        code_open(c, record);
        break;
    case RECORD_PATH:
        record->path = code_text(c, record->path, 2, PATH_MOST);
        require(c, !has_zero(record->path));
        break;
    case RECORD_READY:
        code_bytes(c, record->ready.proof, PROOF_BYTES);
        record->ready.error = code_text(c, record->ready.error, 2, TEXT_MOST);
        break;
    case RECORD_SEND:
    case RECORD_HASHES:
    case RECORD_EXTENTS:
    case RECORD_CLOSE:
        code_part(c, record);
        break;
    case RECORD_PACK:
        code_pack(c, record);
        break;
    case RECORD_OUTCOME:
        code_outcome(c, record);
        break;
    case RECORD_ENTRY:
        code_entry(c, &record->entry);
        break;
    case RECORD_TROUBLE:
        record->trouble.path = code_text(c, record->trouble.path, 2, PATH_MOST);
        record->trouble.error = code_text(c, record->trouble.error, 2, TEXT_MOST);
        break;
    case RECORD_BLOCK:
        code_bytes(c, record->block.hash, HASH_BYTES);
        record->block.error = code_text(c, record->block.error, 2, TEXT_MOST);
        break;
    case RECORD_PACKED:
        code_bytes(c, record->packed.hash, HASH_BYTES);
        record->packed.error = code_text(c, record->packed.error, 2, TEXT_MOST);
        record->packed.content = code_text(c, record->packed.content, 4, PACKED_MOST);
        break;
    case RECORD_DIGESTS:
        record->digests.error = code_text(c, record->digests.error, 2, TEXT_MOST);
        record->digests.hashes =
            code_text(c, record->digests.hashes, 4, HASHED_MOST / LEAF_BYTES * HASH_BYTES);
        break;
    case RECORD_EXTENT:
        code_extent(c, record);
        break;
    case RECORD_LIST:
    case RECORD_REPORT:
    case RECORD_BYE:
    case RECORD_END:
        break;
    case RECORD_KINDS:
    default:
        require(c, false);
    }
}

bool record_decode(struct reader *reader, struct record *record)
{
    struct coder c = {.from = reader};

    if (reader->bad || reader->at == reader->end)
        return false;
    record->kind = (uint8_t)code_number(c, 0, 1);
    code_body(c, record);
    return !reader->bad;
}

bool record_encode(struct writer *writer, const struct record *record)
{
    uint8_t *before = writer->at;
    struct coder c = {.to = writer};
    struct record copy = *record;

    (void)code_number(c, copy.kind, 1);
    code_body(c, &copy);
    if (writer->bad)
        writer->at = before;
    return !writer->bad;
}
