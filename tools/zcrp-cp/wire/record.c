#include "record.h"

#include <string.h>

enum { NS_PER_S = 1000000000, MODE_MOST = 07777 };

/* ---- bytes ---- */

static const uint8_t *take(struct reader *r, size_t length)
{
    if (r->bad || (size_t)(r->end - r->at) < length) {
        r->bad = true;
        return NULL;
    }
    r->at += length;
    return r->at - length;
}

static uint64_t take_number(struct reader *r, size_t bytes)
{
    const uint8_t *from = take(r, bytes);
    uint64_t number = 0;

    for (size_t i = 0; from != NULL && i < bytes; i++)
        number = number << 8 | from[i];
    return number;
}

static void take_bytes(struct reader *r, uint8_t *to, size_t length)
{
    const uint8_t *from = take(r, length);

    if (from != NULL)
        memcpy(to, from, length);
}

/* A text behind its length, which has `bytes` bytes. */
static struct text take_text(struct reader *r, size_t bytes, size_t most)
{
    size_t length = (size_t)take_number(r, bytes);

    if (length > most)
        r->bad = true;
    const uint8_t *from = take(r, length);
    return from != NULL ? (struct text){(const char *)from, length} : (struct text){"", 0};
}

static void require(struct reader *r, bool rule)
{
    if (!rule)
        r->bad = true;
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

static void put_number(struct writer *w, uint64_t number, size_t bytes)
{
    uint8_t *to = put(w, bytes);

    for (size_t i = bytes; to != NULL && i > 0; i--) {
        to[i - 1] = (uint8_t)number;
        number >>= 8;
    }
}

static void put_bytes(struct writer *w, const void *from, size_t length)
{
    uint8_t *to = put(w, length);

    if (to != NULL && length > 0)
        memcpy(to, from, length);
}

static void put_text(struct writer *w, struct text text, size_t bytes)
{
    put_number(w, text.length, bytes);
    put_bytes(w, text.bytes, text.length);
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

/* ---- each kind, its two directions side by side ---- */

static void take_open(struct reader *r, struct record *record)
{
    record->open.version = (uint8_t)take_number(r, 1);
    record->open.flags = (uint8_t)take_number(r, 1);
    record->open.rate = take_number(r, 8);
    take_bytes(r, record->open.proof, PROOF_BYTES);
    require(r, (record->open.flags & ~OPEN_FLAGS) == 0 && record->open.rate <= SIZE_MOST);
}

static void put_open(struct writer *w, const struct record *record)
{
    put_number(w, record->open.version, 1);
    put_number(w, record->open.flags, 1);
    put_number(w, record->open.rate, 8);
    put_bytes(w, record->open.proof, PROOF_BYTES);
}

static uint32_t part_most(uint8_t kind)
{
    return kind == RECORD_SEND ? BLOCK_MOST : kind == RECORD_HASHES ? HASHED_MOST : 0;
}

static void take_part(struct reader *r, struct record *record)
{
    uint32_t most = part_most(record->kind);

    record->part.file = (uint32_t)take_number(r, 4);
    record->part.offset = take_number(r, 8);
    record->part.length = (uint32_t)take_number(r, 4);
    require(r, record->part.offset <= SIZE_MOST - most && record->part.length <= most &&
                   (most == 0 || record->part.length > 0));
}

static void put_part(struct writer *w, const struct record *record)
{
    put_number(w, record->part.file, 4);
    put_number(w, record->part.offset, 8);
    put_number(w, record->part.length, 4);
}

static void take_pack(struct reader *r, struct record *record)
{
    record->pack.count = (uint16_t)take_number(r, 2);
    require(r, record->pack.count >= 1 && record->pack.count <= PACK_FILES);
    for (size_t i = 0; !r->bad && i < record->pack.count; i++)
        record->pack.files[i] = (uint32_t)take_number(r, 4);
}

static void put_pack(struct writer *w, const struct record *record)
{
    put_number(w, record->pack.count, 2);
    for (size_t i = 0; i < record->pack.count; i++)
        put_number(w, record->pack.files[i], 4);
}

static void take_outcome(struct reader *r, struct record *record)
{
    record->outcome.file = (uint32_t)take_number(r, 4);
    record->outcome.outcome = (uint8_t)take_number(r, 1);
    record->outcome.error = take_text(r, 2, TEXT_MOST);
    require(r, record->outcome.outcome >= OUTCOME_COPIED && record->outcome.outcome < OUTCOMES);
}

static void put_outcome(struct writer *w, const struct record *record)
{
    put_number(w, record->outcome.file, 4);
    put_number(w, record->outcome.outcome, 1);
    put_text(w, record->outcome.error, 2);
}

static bool entry_is_good(const struct list_entry *entry)
{
    bool is_file = entry->type == ENTRY_FILE, is_link = entry->type == ENTRY_LINK;

    return entry->type >= ENTRY_FILE && entry->type < ENTRY_TYPES && entry->mode <= MODE_MOST &&
           entry->time_ns < NS_PER_S && entry->size <= (is_file ? SIZE_MOST : 0) &&
           (is_file || !entry->is_sparse) && record_path_is_good(entry->path) &&
           (entry->link.length > 0) == is_link && !has_zero(entry->link);
}

static void take_entry(struct reader *r, struct list_entry *entry)
{
    entry->type = (uint8_t)take_number(r, 1);
    uint8_t sparse = (uint8_t)take_number(r, 1);
    entry->is_sparse = sparse == 1;
    entry->mode = (uint16_t)take_number(r, 2);
    entry->time_s = (int64_t)take_number(r, 8);
    entry->time_ns = (uint32_t)take_number(r, 4);
    entry->size = take_number(r, 8);
    entry->path = take_text(r, 2, PATH_MOST);
    entry->link = take_text(r, 2, PATH_MOST);
    require(r, sparse <= 1 && entry_is_good(entry));
}

static void put_entry(struct writer *w, const struct list_entry *entry)
{
    put_number(w, entry->type, 1);
    put_number(w, entry->is_sparse, 1);
    put_number(w, entry->mode, 2);
    put_number(w, (uint64_t)entry->time_s, 8);
    put_number(w, entry->time_ns, 4);
    put_number(w, entry->size, 8);
    put_text(w, entry->path, 2);
    put_text(w, entry->link, 2);
}

static void take_extent(struct reader *r, struct record *record)
{
    record->extent.offset = take_number(r, 8);
    record->extent.length = take_number(r, 8);
    require(r, record->extent.offset <= SIZE_MOST && record->extent.length >= 1 &&
                   record->extent.length <= SIZE_MOST - record->extent.offset);
}

static void take_body(struct reader *r, struct record *record)
{
    switch ((enum record_kind)record->kind) {
    case RECORD_OPEN:
        take_open(r, record);
        break;
    case RECORD_PATH:
        record->path = take_text(r, 2, PATH_MOST);
        require(r, !has_zero(record->path));
        break;
    case RECORD_READY:
        take_bytes(r, record->ready.proof, PROOF_BYTES);
        record->ready.error = take_text(r, 2, TEXT_MOST);
        break;
    case RECORD_SEND:
    case RECORD_HASHES:
    case RECORD_EXTENTS:
    case RECORD_CLOSE:
        take_part(r, record);
        break;
    case RECORD_PACK:
        take_pack(r, record);
        break;
    case RECORD_OUTCOME:
        take_outcome(r, record);
        break;
    case RECORD_ENTRY:
        take_entry(r, &record->entry);
        break;
    case RECORD_TROUBLE:
        record->trouble.path = take_text(r, 2, PATH_MOST);
        record->trouble.error = take_text(r, 2, TEXT_MOST);
        break;
    case RECORD_BLOCK:
        take_bytes(r, record->block.hash, HASH_BYTES);
        record->block.error = take_text(r, 2, TEXT_MOST);
        break;
    case RECORD_PACKED:
        take_bytes(r, record->packed.hash, HASH_BYTES);
        record->packed.error = take_text(r, 2, TEXT_MOST);
        record->packed.content = take_text(r, 4, PACKED_MOST);
        break;
    case RECORD_DIGESTS:
        record->digests.error = take_text(r, 2, TEXT_MOST);
        record->digests.hashes = take_text(r, 4, HASHED_MOST / LEAF_BYTES * HASH_BYTES);
        break;
    case RECORD_EXTENT:
        take_extent(r, record);
        break;
    case RECORD_LIST:
    case RECORD_REPORT:
    case RECORD_BYE:
    case RECORD_END:
        break;
    case RECORD_KINDS:
    default:
        r->bad = true;
    }
}

static void put_body(struct writer *w, const struct record *record)
{
    switch ((enum record_kind)record->kind) {
    case RECORD_OPEN:
        put_open(w, record);
        break;
    case RECORD_PATH:
        put_text(w, record->path, 2);
        break;
    case RECORD_READY:
        put_bytes(w, record->ready.proof, PROOF_BYTES);
        put_text(w, record->ready.error, 2);
        break;
    case RECORD_SEND:
    case RECORD_HASHES:
    case RECORD_EXTENTS:
    case RECORD_CLOSE:
        put_part(w, record);
        break;
    case RECORD_PACK:
        put_pack(w, record);
        break;
    case RECORD_OUTCOME:
        put_outcome(w, record);
        break;
    case RECORD_ENTRY:
        put_entry(w, &record->entry);
        break;
    case RECORD_TROUBLE:
        put_text(w, record->trouble.path, 2);
        put_text(w, record->trouble.error, 2);
        break;
    case RECORD_BLOCK:
        put_bytes(w, record->block.hash, HASH_BYTES);
        put_text(w, record->block.error, 2);
        break;
    case RECORD_PACKED:
        put_bytes(w, record->packed.hash, HASH_BYTES);
        put_text(w, record->packed.error, 2);
        put_text(w, record->packed.content, 4);
        break;
    case RECORD_DIGESTS:
        put_text(w, record->digests.error, 2);
        put_text(w, record->digests.hashes, 4);
        break;
    case RECORD_EXTENT:
        put_number(w, record->extent.offset, 8);
        put_number(w, record->extent.length, 8);
        break;
    case RECORD_LIST:
    case RECORD_REPORT:
    case RECORD_BYE:
    case RECORD_END:
    case RECORD_KINDS:
    default:
        break;
    }
}

bool record_decode(struct reader *reader, struct record *record)
{
    if (reader->bad || reader->at == reader->end)
        return false;
    record->kind = (uint8_t)take_number(reader, 1);
    take_body(reader, record);
    return !reader->bad;
}

bool record_encode(struct writer *writer, const struct record *record)
{
    uint8_t *before = writer->at;

    put_number(writer, record->kind, 1);
    put_body(writer, record);
    if (writer->bad)
        writer->at = before;
    return !writer->bad;
}
