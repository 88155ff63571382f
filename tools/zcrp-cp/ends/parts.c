#include "parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "placing.h"

enum { RATE_SHARE = 20 }; /* a block is at most this part of a second's bytes */

/* ---- the parts of a file ---- */

static struct record part_record(uint8_t kind, const struct incoming *incoming, struct range part)
{
    struct record record = {.kind = kind};

    record.part.file = incoming->wanted->number;
    record.part.offset = part.start;
    record.part.length = (uint32_t)(part.end - part.start);
    return record;
}

static int request_block(struct copy_target *target, struct incoming *incoming, struct range part)
{
    struct record record = part_record(RECORD_SEND, incoming, part);
    int code = 0;

    if (awaiting_add_slice(&target->awaiting, incoming, part, &code) == NULL)
        return code;
    incoming->in_flight++;
    target->in_flight += record.part.length;
    target->asked += record.part.length;
    code = asking_request(target, &record);
    return code == 0 ? asking_count(target) : code;
}

static int request_hashes(struct copy_target *target, struct incoming *incoming, struct range part)
{
    struct record record = part_record(RECORD_HASHES, incoming, part);
    size_t leaves = (record.part.length + LEAF_BYTES - 1) / LEAF_BYTES;
    int code = 0;
    struct awaited *awaited = awaiting_add(&target->awaiting, RECORD_HASHES, ANSWER_ROOM, &code);

    if (awaited == NULL)
        return code;
    awaited->incoming = incoming;
    awaited->part = part;
    awaited->digests = malloc(leaves * HASH_BYTES);
    incoming->in_flight++;
    if (awaited->digests == NULL)
        return ZCRP_ERROR_MEMORY;
    awaited->hash = task_of_hash(incoming->mapping.memory + part.start, record.part.length,
                                 LEAF_BYTES, awaited->digests);
    crew_add(target->crew, &awaited->hash);
    return asking_request(target, &record);
}

static int request_extents(struct copy_target *target, struct incoming *incoming, struct range part)
{
    struct record record =
        part_record(RECORD_EXTENTS, incoming, (struct range){part.start, part.start});
    int code = 0;
    struct awaited *awaited = awaiting_add(&target->awaiting, RECORD_EXTENTS, ANSWER_ROOM, &code);

    if (awaited == NULL)
        return code;
    awaited->incoming = incoming;
    incoming->in_flight++;
    return asking_request(target, &record);
}

static int request_close(struct copy_target *target, struct incoming *incoming)
{
    struct record record = part_record(RECORD_CLOSE, incoming, (struct range){0, 0});
    int code = 0;
    struct awaited *awaited = awaiting_add(&target->awaiting, RECORD_CLOSE, 0, &code);

    if (awaited == NULL)
        return code;
    awaited->incoming = incoming;
    incoming->in_flight++;
    code = asking_request(target, &record);
    return code == 0 ? asking_count(target) : code;
}

/* The file that is there is another one: the copy begins. */
static int replace(struct copy_target *target, struct incoming *incoming)
{
    struct wanted *wanted = incoming->wanted;
    int code = 0;

    incoming->wanted = NULL;
    asking_leave_place(target, incoming, true);
    if (!target->wishes->is_dry_run) {
        if (wanted->entry.size <= PACKED_MOST && target->pack_count == PACK_FILES)
            code = placing_request_pack(target);
        placing_begin(target, wanted);
        return code;
    }
    code = asking_settle(target, wanted, OUTCOME_COPIED, "", wanted->entry.size);
    free(wanted);
    return code;
}

static int end_file(struct copy_target *target, struct incoming *incoming, enum incoming_step step)
{
    bool is_whole = step == INCOMING_WHOLE && incoming_finish(incoming);
    int code;

    if (step == INCOMING_SAME)
        code = placing_skip(target, incoming->wanted);
    else if (is_whole)
        code = asking_settle(target, incoming->wanted, OUTCOME_COPIED, "", 0);
    else
        code = asking_settle(target, incoming->wanted, OUTCOME_FAILED, incoming->error, 0);
    asking_leave_place(target, incoming, is_whole);
    return code;
}

/* Bytes of a block: less if only so much may be sent each second. */
static uint64_t block_most(const struct copy_target *target)
{
    uint64_t share = target->wishes->rate / 8 / RATE_SHARE / LEAF_BYTES * LEAF_BYTES;

    if (target->wishes->rate == 0 || share > BLOCK_MOST)
        return BLOCK_MOST;
    return share > 0 ? share : LEAF_BYTES;
}

/* Takes a file's next step. *did: there was one. */
int parts_advance(struct copy_target *target, struct incoming *incoming, bool *did)
{
    struct range part;
    enum incoming_step step = incoming_next(incoming, block_most(target), &part);

    *did = step != INCOMING_WAIT;
    switch (step) {
    case INCOMING_EXTENTS:
        return request_extents(target, incoming, part);
    case INCOMING_COMPARE:
        return request_hashes(target, incoming, part);
    case INCOMING_FETCH:
        return request_block(target, incoming, part);
    case INCOMING_CLOSE:
        return request_close(target, incoming);
    case INCOMING_DIFFERS:
        return replace(target, incoming);
    case INCOMING_SAME:
    case INCOMING_WHOLE:
    case INCOMING_FAILED:
        return end_file(target, incoming, step);
    case INCOMING_WAIT:
        break;
    }
    return 0;
}

/* ---- answers about a file ---- */

int parts_on_hashes(struct copy_target *target, struct awaited *awaited)
{
    struct reader reader = reader_of(awaited->message->buffer, awaited->message->length);
    struct record record;
    uint64_t leaves = (awaited->part.end - awaited->part.start + LEAF_BYTES - 1) / LEAF_BYTES;

    awaited->incoming->in_flight--;
    if (!record_decode(&reader, &record) || record.kind != RECORD_DIGESTS ||
        (record.digests.error.length == 0 && record.digests.hashes.length != leaves * HASH_BYTES))
        return asking_refuse();
    crew_wait(target->crew, &awaited->hash);
    if (record.digests.error.length > 0)
        incoming_fail(awaited->incoming, record.digests.error);
    else
        incoming_compare(awaited->incoming, awaited->part,
                         (const uint8_t *)record.digests.hashes.bytes, awaited->digests);
    return 0;
}

int parts_on_extents(struct awaited *awaited)
{
    struct reader reader = reader_of(awaited->message->buffer, awaited->message->length);
    struct record record;
    bool has_some = false;

    awaited->incoming->in_flight--;
    while (record_decode(&reader, &record)) {
        has_some = true;
        if (record.kind == RECORD_BLOCK)
            incoming_fail(awaited->incoming, record.block.error);
        else if (record.kind == RECORD_END)
            incoming_end_extents(awaited->incoming);
        else if (record.kind != RECORD_EXTENT ||
                 !incoming_add_extent(awaited->incoming, record.extent.offset,
                                      record.extent.length))
            return asking_refuse();
    }
    return reader.bad || !has_some ? asking_refuse() : 0;
}

/* The message of a block has ended. If the block has come, it is hashed where it lies. */
int parts_on_block(struct copy_target *target, struct awaited *awaited)
{
    size_t length = (size_t)(awaited->part.end - awaited->part.start);

    target->in_flight -= length;
    if (awaited->code == 0 && awaited->message->length == length) {
        awaited->hash = task_of_hash(awaited->incoming->mapping.memory + awaited->part.start,
                                     length, length, awaited->own);
        awaited->hash.lets_go = true;
        crew_add(target->crew, &awaited->hash);
    }
    return 0;
}

/* What the source says of a block, or of the file's end. */
static void judge(struct copy_target *target, struct awaited *awaited, const struct record *record)
{
    struct incoming *incoming = awaited->incoming;

    incoming->in_flight--;
    if (awaited->hash.memory != NULL)
        crew_wait(target->crew, &awaited->hash);
    if (record->block.error.length > 0) {
        incoming_fail(incoming, record->block.error);
    } else if (awaited->kind == RECORD_CLOSE) {
        incoming->is_closed = true;
    } else if (awaited->hash.memory == NULL) {
        incoming_fail_errno(incoming, "cannot be written",
                            mapping_is_torn(&incoming->mapping) ? ENOSPC : EFAULT);
    } else if (memcmp(awaited->own, record->block.hash, HASH_BYTES) != 0) {
        incoming_retry(incoming, awaited->part);
    } else {
        progress_moved(target->progress, awaited->part.end - awaited->part.start);
    }
}

/* All blocks since the last report, which are the first in the ring, up to this report, the last
 * that has come. */
int parts_on_report(struct copy_target *target, const struct awaited *report)
{
    struct reader reader = reader_of(report->message->buffer, report->message->length);
    struct record record;
    unsigned i = 0;

    for (; awaiting_at(&target->awaiting, i) != report; i++) {
        struct awaited *awaited = awaiting_at(&target->awaiting, i);

        if (awaited->kind != RECORD_SEND && awaited->kind != RECORD_CLOSE)
            continue;
        if (!record_decode(&reader, &record) || record.kind != RECORD_BLOCK)
            return asking_refuse();
        judge(target, awaited, &record);
    }
    if (reader.at != reader.end)
        return asking_refuse();
    awaiting_drop(&target->awaiting, i + 1);
    return 0;
}
