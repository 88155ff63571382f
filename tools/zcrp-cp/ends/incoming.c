#include "incoming.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zcrp-cp/files/place.h"

enum {
    EXTENTS_MOST = 1 << 22, /* of one file */
    ROOM_LEAST = 16,        /* ranges of a queue */
};

/* ---- queues of ranges ---- */

static int make_room(struct ranges *ranges)
{
    if (ranges->count < ranges->room)
        return 0;
    if (ranges->first > 0) {
        ranges->count -= ranges->first;
        memmove(ranges->row, ranges->row + ranges->first, ranges->count * sizeof(*ranges->row));
        ranges->first = 0;
        return ranges->count < ranges->room / 2 ? 0 : make_room(ranges);
    }
    size_t room = ranges->room > 0 ? 2 * ranges->room : ROOM_LEAST;
    struct range *row = realloc(ranges->row, room * sizeof(*row));
    if (row == NULL)
        return -1;
    ranges->row = row;
    ranges->room = room;
    return 0;
}

int ranges_add(struct ranges *ranges, uint64_t start, uint64_t end)
{
    if (start >= end)
        return 0;
    if (ranges->count > ranges->first && ranges->row[ranges->count - 1].end == start) {
        ranges->row[ranges->count - 1].end = end;
        return 0;
    }
    if (make_room(ranges) < 0)
        return -1;
    ranges->row[ranges->count++] = (struct range){start, end};
    return 0;
}

bool ranges_take(struct ranges *ranges, uint64_t most, struct range *part)
{
    if (ranges->first == ranges->count)
        return false;
    struct range *range = &ranges->row[ranges->first];
    uint64_t line = (range->start / most + 1) * most;

    *part = (struct range){range->start, range->end < line ? range->end : line};
    range->start = part->end;
    if (range->start == range->end && ++ranges->first == ranges->count)
        ranges->first = ranges->count = 0;
    return true;
}

void ranges_fini(struct ranges *ranges)
{
    free(ranges->row);
    *ranges = (struct ranges){0};
}

void ranges_check(const struct ranges *ranges)
{
    assert(ranges->first <= ranges->count);
    assert(ranges->count <= ranges->room);
    for (size_t i = ranges->first; i < ranges->count; i++)
        assert(ranges->row[i].start < ranges->row[i].end);
}

/* ---- failing ---- */

void incoming_fail(struct incoming *incoming, struct text why)
{
    if (incoming->error[0] == '\0')
        (void)snprintf(incoming->error, sizeof(incoming->error), "%.*s", (int)why.length,
                       why.bytes);
}

struct text incoming_explain(char out[TEXT_MOST], const char *what, int code)
{
    (void)snprintf(out, TEXT_MOST, "%s: %s", what,
                   code == EBUSY                    ? "another copy is writing it"
                   : code == ELOOP || code == EXDEV ? "a symbolic link is in the way"
                                                    : strerror(code));
    return text_of(out);
}

void incoming_fail_errno(struct incoming *incoming, const char *what, int code)
{
    char text[TEXT_MOST];

    incoming_fail(incoming, incoming_explain(text, what, code));
}

/* ---- the beginning ---- */

void incoming_begin_compare(struct incoming *incoming, int directory, struct wanted *wanted)
{
    *incoming = (struct incoming){.wanted = wanted, .compares = true};
    incoming->partial.fd = incoming->partial.folder = -1;
    int fd = beneath_open(directory, wanted->entry.path.bytes, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

    if (fd < 0 || mapping_init(&incoming->mapping, fd, wanted->entry.size, false) != 0 ||
        ranges_add(&incoming->to_compare, 0, wanted->entry.size) != 0)
        incoming->differs = true; /* what cannot be read is replaced */
    place_close(fd);
}

static int plan_part(struct incoming *incoming, uint64_t start, uint64_t end)
{
    return ranges_add(incoming->partial.was_there ? &incoming->to_compare : &incoming->to_fetch,
                      start, end);
}

void incoming_begin(struct incoming *incoming, int directory, struct wanted *wanted)
{
    const struct list_entry *entry = &wanted->entry;

    *incoming = (struct incoming){.wanted = wanted, .needs_extents = entry->is_sparse};
    if (partial_open(&incoming->partial, directory, entry->path.bytes) != 0) {
        incoming->partial.fd = incoming->partial.folder = -1;
        incoming_fail_errno(incoming, "cannot be made at the target", errno);
    } else if (partial_allocate(&incoming->partial, entry->size, entry->is_sparse) != 0) {
        incoming_fail_errno(incoming, "no room for it", errno);
    } else if (mapping_init(&incoming->mapping, incoming->partial.fd, entry->size, true) != 0 ||
               (!entry->is_sparse && plan_part(incoming, 0, entry->size) != 0)) {
        incoming_fail_errno(incoming, "cannot be mapped", errno);
    }
}

/* ---- what comes next ---- */

static enum incoming_step last_step(struct incoming *incoming)
{
    if (incoming->in_flight > 0)
        return INCOMING_WAIT;
    if (incoming->compares)
        return incoming->differs ? INCOMING_DIFFERS : INCOMING_SAME;
    if (incoming->is_closed)
        return INCOMING_WHOLE;
    if (incoming->is_asked)
        return INCOMING_WAIT;
    incoming->is_asked = true;
    return INCOMING_CLOSE;
}

enum incoming_step incoming_next(struct incoming *incoming, uint64_t most, struct range *part)
{
    if (mapping_is_torn(&incoming->mapping) && incoming->error[0] == '\0')
        incoming_fail_errno(incoming, "no room for it", ENOSPC);
    if (incoming->error[0] != '\0')
        return incoming->in_flight > 0 ? INCOMING_WAIT : INCOMING_FAILED;
    if (incoming->differs && incoming->compares)
        return last_step(incoming);
    if (incoming->needs_extents) {
        *part = (struct range){incoming->extents_at, incoming->extents_at};
        return incoming->in_flight > 0 ? INCOMING_WAIT : INCOMING_EXTENTS;
    }
    if (ranges_take(&incoming->to_compare, HASHED_MOST, part))
        return INCOMING_COMPARE;
    if (ranges_take(&incoming->to_fetch, most, part))
        return INCOMING_FETCH;
    *part = (struct range){0, 0};
    return last_step(incoming);
}

/* ---- answers ---- */

static void punch(struct incoming *incoming, uint64_t start, uint64_t end)
{
    if (incoming->partial.was_there && partial_punch(&incoming->partial, start, end) != 0)
        incoming_fail_errno(incoming, "cannot have holes", errno);
}

bool incoming_add_extent(struct incoming *incoming, uint64_t offset, uint64_t length)
{
    uint64_t size = incoming->wanted->entry.size;

    if (offset < incoming->extents_at || offset > size || length > size - offset ||
        ++incoming->extents > EXTENTS_MOST)
        return false;
    punch(incoming, incoming->extents_at, offset);
    incoming->extents_at = offset + length;
    if (plan_part(incoming, offset, offset + length) != 0)
        incoming_fail_errno(incoming, "cannot be planned", ENOMEM);
    return true;
}

void incoming_end_extents(struct incoming *incoming)
{
    punch(incoming, incoming->extents_at, incoming->wanted->entry.size);
    incoming->needs_extents = false;
}

void incoming_compare(struct incoming *incoming, struct range part, const uint8_t *theirs,
                      const uint8_t *own)
{
    for (uint64_t at = part.start; at < part.end; at += LEAF_BYTES) {
        uint64_t end = at + LEAF_BYTES < part.end ? at + LEAF_BYTES : part.end;

        if (memcmp(theirs, own, HASH_BYTES) != 0) {
            incoming->differs = true;
            if (!incoming->compares && ranges_add(&incoming->to_fetch, at, end) != 0)
                incoming_fail_errno(incoming, "cannot be planned", ENOMEM);
        }
        theirs += HASH_BYTES;
        own += HASH_BYTES;
    }
}

void incoming_retry(struct incoming *incoming, struct range part)
{
    if (++incoming->damaged >= INCOMING_TRIES)
        incoming_fail(
            incoming,
            text_of("it arrives damaged, again and again, or changes while it is copied"));
    else if (ranges_add(&incoming->to_fetch, part.start, part.end) != 0)
        incoming_fail_errno(incoming, "cannot be planned", ENOMEM);
}

/* ---- the end ---- */

bool incoming_finish(struct incoming *incoming)
{
    if (mapping_is_torn(&incoming->mapping))
        incoming_fail_errno(incoming, "no room for it", ENOSPC);
    else if (partial_finish(&incoming->partial, &incoming->wanted->entry) != 0)
        incoming_fail_errno(incoming, "cannot be put in its place", errno);
    return incoming->error[0] == '\0';
}

void incoming_fini(struct incoming *incoming, bool keeps)
{
    mapping_fini(&incoming->mapping);
    if (!keeps)
        partial_discard(&incoming->partial);
    partial_close(&incoming->partial);
    ranges_fini(&incoming->to_compare);
    ranges_fini(&incoming->to_fetch);
    free(incoming->wanted);
    incoming->wanted = NULL;
}
