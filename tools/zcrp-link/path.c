#include "path.h"

#include <string.h>

void bottleneck_init(struct bottleneck *b, uint64_t rate, duration limit)
{
    *b = (struct bottleneck){.rate = rate, .limit = limit, .free_at = INT64_MIN};
}

bool bottleneck_enter(struct bottleneck *b, instant now, uint32_t bytes, instant *leaves)
{
    uint64_t bits_ns = bytes * UINT64_C(8) * (uint64_t)SECOND;
    bool is_idle = b->free_at <= now;
    instant starts = is_idle ? now : b->free_at;
    uint64_t carry = is_idle ? 0 : b->carry;

    if (b->rate == 0) {
        *leaves = now;
        return true;
    }
    instant ends = starts + (duration)((bits_ns + carry) / b->rate);
    if (!is_idle && ends - now > b->limit)
        return false;
    b->free_at = ends;
    b->carry = (bits_ns + carry) % b->rate;
    *leaves = ends;
    return true;
}

bool loss_is_possible(double share, double burst)
{
    if (burst == 0)
        return share >= 0 && share <= 1;
    const volatile double most = burst / (burst + 1); /* some processors compare with more bits */
    return burst >= 1 && share >= 0 && share <= most;
}

void loss_init(struct loss *loss, double share, double burst, uint64_t seed)
{
    *loss = (struct loss){.enter = share, .leave = 1 - share, .random = seed};
    if (burst == 0)
        return;
    loss->leave = 1 / burst;
    loss->enter = share / (burst * (1 - share));
}

bool loss_next(struct loss *loss)
{
    double share = loss->is_in_burst ? 1 - loss->leave : loss->enter;

    loss->is_in_burst = dice(&loss->random, share);
    return loss->is_in_burst;
}

/* The most that a packet may spend in the queue and being sent. */
static duration queue_limit(const struct conditions *c, size_t mtu)
{
    double bytes = c->queue_unit == QUEUE_PACKETS ? c->queue * (double)mtu : c->queue;
    double ns = c->queue;

    if (c->queue_unit != QUEUE_TIME && c->rate != 0)
        ns = bytes * 8e9 / (double)c->rate;
    return ns < 1e18 ? (duration)ns : (duration)1e18;
}

int path_init(struct path *path, const struct conditions *conditions, struct packets *packets,
              uint64_t seed)
{
    *path = (struct path){.conditions = *conditions, .packets = packets};
    bottleneck_init(&path->bottleneck, conditions->rate, queue_limit(conditions, packets->room));
    loss_init(&path->loss, conditions->loss, conditions->burst, random_next(&seed));
    held_init(&path->held, (unsigned)conditions->reorder_by);
    path->random_corrupt = random_next(&seed);
    path->random_duplicate = random_next(&seed);
    path->random_reorder = random_next(&seed);
    path->random_jitter = random_next(&seed);
    return schedule_init(&path->schedule, packets->most);
}

static void put_under_way(struct path *path, struct packet *packet, instant due)
{
    packet->due = due;
    schedule_add(&path->schedule, packet);
}

static void flip_a_bit(struct path *path, struct packet *packet)
{
    uint64_t bit = random_next(&path->random_corrupt) % (packet->size * UINT64_C(8));

    packet->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    path->counts.corrupted++;
}

/* When a packet that has left the transmitter comes out. */
static instant arrival(struct path *path, instant leaves)
{
    const struct conditions *c = &path->conditions;
    double jitter = (double)c->jitter * dice_number(&path->random_jitter);

    return leaves + c->delay + (duration)(jitter + 0.5);
}

/* Without memory for a copy there is none. */
static void duplicate(struct path *path, const struct packet *packet, instant leaves)
{
    struct packet *copy = packets_take(path->packets);

    if (copy == NULL)
        return;
    copy->entered = packet->entered;
    copy->size = packet->size;
    memcpy(copy->bytes, packet->bytes, packet->size);
    put_under_way(path, copy, arrival(path, leaves));
    path->counts.duplicated++;
}

/* Passes the packet on, and those after it that have been held back for it. */
static void pass(struct path *path, struct packet *packet, instant leaves)
{
    bool is_held = dice(&path->random_reorder, path->conditions.reorder);
    instant due = arrival(path, leaves);

    held_enter(&path->held, packet, is_held);
    if (is_held) {
        packet->due = due;
        path->counts.reordered++;
    } else {
        put_under_way(path, packet, due);
    }
    while ((packet = held_take(&path->held, INT64_MIN)) != NULL)
        put_under_way(path, packet, packet->due > due ? packet->due : due);
}

void path_enter(struct path *path, instant now, struct packet *packet)
{
    const struct conditions *c = &path->conditions;
    instant leaves;

    path->counts.entered++;
    path->counts.entered_bytes += packet->size;
    packet->entered = now;
    if (!bottleneck_enter(&path->bottleneck, now, packet->size, &leaves)) {
        path->counts.dropped++;
        packets_put(path->packets, packet);
        return;
    }
    path->counts.queued += leaves - now;
    if (leaves - now > path->counts.queued_most)
        path->counts.queued_most = leaves - now;
    if (loss_next(&path->loss)) {
        path->counts.lost++;
        packets_put(path->packets, packet);
        return;
    }
    if (dice(&path->random_corrupt, c->corrupt) && packet->size > 0)
        flip_a_bit(path, packet);
    if (dice(&path->random_duplicate, c->duplicate))
        duplicate(path, packet, leaves);
    pass(path, packet, leaves);
}

instant path_next_at(const struct path *path)
{
    const struct packet *first = schedule_first(&path->schedule);

    return instant_earlier(first != NULL ? first->due : NEVER, held_until(&path->held));
}

static struct packet *take_due(struct path *path, instant now)
{
    struct packet *packet;

    while ((packet = held_take(&path->held, now)) != NULL)
        put_under_way(path, packet, packet->due + HELD_LONGEST);
    const struct packet *first = schedule_first(&path->schedule);
    return first != NULL && first->due <= now ? schedule_take(&path->schedule) : NULL;
}

struct packet *path_take(struct path *path, instant now)
{
    struct packet *packet = take_due(path, now);

    if (packet == NULL)
        return NULL;
    duration late = now - packet->due;
    path->counts.late += late;
    if (late > path->counts.late_most)
        path->counts.late_most = late;
    path->counts.left++;
    path->counts.left_bytes += packet->size;
    return packet;
}

void path_fini(struct path *path)
{
    struct packet *packet;

    while ((packet = take_due(path, NEVER)) != NULL)
        packets_put(path->packets, packet);
    schedule_fini(&path->schedule);
}
