/* The course of one flow over a path of known rate, round trip and buffer: window, pace and what
 * came of them, a line for each moment, against flow_NAME.trace. The windows and rates are what
 * congestion control makes of all that happened before, so hardly anything changes in it without a
 * trace. The path is a queue in front of one link:
 *
 *     sender --> [ buffer | link, rate ] --> receiver --> acknowledgements, 1 ms apart or more
 *                  full: the unit is lost     round trip later */
#include "../support/random.h"
#include "../support/suite.h"
#include "../support/tables.h"
#include "core/sender/flow.h"
#include "trace.h"

enum { UNIT = 1250, BURST = 4, FEW = 4, RING = 1 << 14, REORDER = 3, LOOK = 256 };

struct course {
    const char *name;
    enum congestion_kind kind;
    uint64_t rate;          /* of the link, bytes a second, */
    uint64_t later;         /* and from a third of the time on; 0: the same */
    uint64_t buffer;        /* bytes */
    duration trip;          /* of an empty path */
    uint32_t lost_permille; /* by chance */
    uint32_t late_permille; /* come 20 ms late, and count as lost by then */
    bool has_marks;         /* a unit that finds half of the buffer full is marked */
    bool has_lumps;         /* in every second second acknowledgements are 15 ms apart */
    instant gone, back;     /* nothing arrives that is sent between */
    instant rests, goes_on; /* there is nothing to send between */
    duration every;         /* a line */
};

enum { LINES = 40 };

static const uint64_t NS = 1000000000; /* of a second */
static const duration LATE = 20 * MILLISECOND, LUMP = 15 * MILLISECOND;

static const struct course courses[] = {
    {"flow_reno", CONGESTION_RENO, 1250000, 0, 40000, 40 * MILLISECOND, .every = 200 * MILLISECOND,
     .rests = 3 * SECOND, .goes_on = 4 * SECOND},
    {"flow_cubic", CONGESTION_CUBIC, 1250000, 0, 50000, 40 * MILLISECOND,
     .every = 500 * MILLISECOND, .rests = 14 * SECOND, .goes_on = 16 * SECOND},
    {"flow_cubic_marked", CONGESTION_CUBIC, 1250000, 700000, 100000, 80 * MILLISECOND,
     .has_marks = true, .every = 400 * MILLISECOND},
    {"flow_cubic_outage", CONGESTION_CUBIC, 2500000, 0, 50000, 20 * MILLISECOND, 2,
     .gone = 2 * SECOND, .back = 4 * SECOND, .every = 200 * MILLISECOND},
    {"flow_cubic_late", CONGESTION_CUBIC, 2500000, 0, 60000, 20 * MILLISECOND, .late_permille = 2,
     .every = 200 * MILLISECOND},
    {"flow_bbr", CONGESTION_BBR, 1250000, 0, 50000, 40 * MILLISECOND, .every = 300 * MILLISECOND},
    {"flow_bbr_long", CONGESTION_BBR, 5000000, 0, 1000000, 150 * MILLISECOND, 1,
     .every = 75 * MILLISECOND},
    {"flow_bbr_queue", CONGESTION_BBR, 2500000, 1000000, 300000, 60 * MILLISECOND, 0,
     .every = 300 * MILLISECOND},
    {"flow_bbr_shallow", CONGESTION_BBR, 1250000, 1000000, 8000, 40 * MILLISECOND, 30,
     .every = 200 * MILLISECOND},
    {"flow_bbr_marked", CONGESTION_BBR, 2500000, 1500000, 100000, 50 * MILLISECOND,
     .has_marks = true, .every = 200 * MILLISECOND},
    {"flow_bbr_outage", CONGESTION_BBR, 2500000, 0, 100000, 10 * MILLISECOND, 2, .gone = 2 * SECOND,
     .back = 3 * SECOND, .rests = 5 * SECOND, .goes_on = 6 * SECOND, .every = 200 * MILLISECOND},
    {"flow_bbr_late", CONGESTION_BBR, 2500000, 0, 30000, 20 * MILLISECOND, 20, .late_permille = 20,
     .every = 200 * MILLISECOND},
    {"flow_bbr_lumps", CONGESTION_BBR, 2500000, 0, 60000, 30 * MILLISECOND, .has_lumps = true,
     .every = 200 * MILLISECOND},
};

enum state { SENT, LOST, MARKED, GIVEN_UP };

static struct unit {
    instant sent, back;
    enum state state;
} ring[RING];

static struct delivery_note few[FEW], notes[DELIVERY_NOTES];
static struct flow flow;
static const struct course *course;
static uint64_t random_state, next, base, in_transit, arrived, lost; /* the last two: units */
static instant now, link_free, acked;
static uint32_t timeouts; /* in a row */

static struct unit *unit_at(uint64_t seq)
{
    return &ring[seq % RING];
}

static uint64_t rate_now(void)
{
    return course->later != 0 && now >= course->every * LINES / 3 ? course->later : course->rate;
}

static bool is_between(instant from, instant to)
{
    return from <= now && now < to;
}

/* ---- sending */

static void send_unit(void)
{
    uint64_t queued = (uint64_t)(instant_later(link_free, now) - now) * rate_now() / NS;
    bool is_lost = is_between(course->gone, course->back) || queued + UNIT > course->buffer ||
                   random_below(&random_state, 1000) < course->lost_permille;
    struct unit *unit = unit_at(next++);
    *unit = (struct unit){.sent = now, .back = NEVER, .state = LOST};
    in_transit += UNIT;
    if (is_lost)
        return;
    link_free = instant_later(link_free, now) + (duration)(UNIT * NS / rate_now());
    bool is_late =
        course->late_permille > 0 && random_below(&random_state, 1000) < course->late_permille;
    unit->back = link_free + course->trip + (is_late ? LATE : 0);
    unit->state = course->has_marks && queued > course->buffer / 2 ? MARKED : SENT;
}

static bool has_room(void)
{
    return in_transit + UNIT <= flow_window(&flow) && next - base < RING &&
           flow_has_room(&flow, flow_window(&flow), in_transit, BURST * UNIT);
}

/* As sender_take does. */
static void send_all(void)
{
    bool is_resting = is_between(course->rests, course->goes_on);
    while (!is_resting && has_room()) {
        if (!pacing_allows(&flow.pacing, now)) {
            flow.is_limited = true;
            return;
        }
        uint64_t first = next;
        if (in_transit == 0) {
            delivery_on_begin(&flow.delivery, now);
            congestion_on_begin(&flow.congestion);
        }
        while (next - first < BURST && has_room() &&
               (next == first || (next - first + 1) * UNIT <= flow.pacing.burst))
            send_unit();
        flow_on_limit(&flow, !has_room(), true, in_transit);
        flow_on_sent(&flow, now, first, (next - first) * UNIT, in_transit,
                     (uint32_t)(in_transit / UNIT));
    }
    if (is_resting)
        flow_on_limit(&flow, false, false, in_transit);
}

/* ---- acknowledgements */

static void lose_below(uint64_t end)
{
    for (; base < end; base++) {
        struct unit *unit = unit_at(base);
        if (unit->state != LOST && unit->back == NEVER)
            continue;
        unit->state = GIVEN_UP;
        lost++;
        in_transit -= UNIT;
        flow_on_lost(&flow, now, base, unit->sent, UNIT);
    }
}

/* Of what was given up some is back later. */
static uint64_t first_out(void)
{
    return base - lesser(base, LOOK);
}

/* All that is back by now is one acknowledgement. */
static void acknowledge(void)
{
    struct flow_ack ack = {.first = base};
    instant marked = NEVER;
    for (uint64_t seq = first_out(); seq < next; seq++) {
        struct unit *unit = unit_at(seq);
        if (unit->back > now)
            continue;
        if (unit->state == GIVEN_UP) {
            unit->back = NEVER;
            congestion_on_spurious(&flow.congestion, unit->sent);
            continue;
        }
        if (unit->state == MARKED)
            marked = unit->sent;
        ack.bytes += UNIT;
        ack.recent += unit->sent >= flow.congestion.recovery ? UNIT : 0;
        ack.newest = seq;
        ack.sent = unit->sent;
        unit->back = NEVER;
        unit->state = SENT;
    }
    if (ack.bytes == 0)
        return;
    acked = now;
    timeouts = 0;
    arrived += ack.bytes / UNIT;
    in_transit -= ack.bytes;
    ack.round_trip = rtt_sample(&flow.rtt, now - ack.sent, 0);
    flow_on_acknowledged(&flow, now, &ack, in_transit);
    if (marked != NEVER)
        congestion_on_marked(&flow.congestion, now, marked);
    lose_below(ack.newest < REORDER ? 0 : greater(ack.newest - REORDER, base));
}

/* Nothing comes back: what is in transit is lost, and the second time for long. */
static void time_out(void)
{
    instant sent = unit_at(next - 1)->sent;
    lose_below(next);
    if (++timeouts > 1)
        congestion_on_persistent(&flow.congestion, now, sent);
}

/* ---- the course */

static instant first_back(void)
{
    instant first = NEVER;
    for (uint64_t seq = first_out(); seq < next; seq++)
        first = instant_earlier(first, unit_at(seq)->back);
    duration apart = course->has_lumps && acked / SECOND % 2 == 1 ? LUMP : MILLISECOND;
    return first == NEVER ? NEVER : instant_later(first, acked + apart);
}

static void step(instant end)
{
    instant back = first_back();
    instant silent = in_transit > 0 && back == NEVER
                         ? instant_later(unit_at(next - 1)->sent, acked) +
                               rtt_probe_timeout(&flow.rtt, MILLISECOND, timeouts)
                         : NEVER;
    now = instant_earlier(instant_earlier(back, silent),
                          instant_earlier(end, pacing_deadline(&flow.pacing)));
    pacing_expire(&flow.pacing, now);
    if (back <= now)
        acknowledge();
    if (silent <= now)
        time_out();
    send_all();
    flow_check(&flow);
}

static void begin(const struct course *c)
{
    const struct flow_config config = {.congestion = c->kind,
                                       .unit = UNIT,
                                       .window = UINT64_C(4) << 20,
                                       .seed = 1998,
                                       .notes = TABLE_FROM(few, FEW, notes, DELIVERY_NOTES)};
    course = c;
    random_state = 1998;
    next = base = in_transit = arrived = lost = 0;
    now = link_free = acked = 0;
    timeouts = 0;
    flow_init(&flow, &config, now);
}

static void tell(FILE *log)
{
    static const char *const phases[] = {"startup", "drain", "down",     "cruise",
                                         "refill",  "up",    "probe rtt"};
    bool is_bbr = course->kind == CONGESTION_BBR;
    fprintf(
        log,
        "%5lld ms: window %7llu, %8llu bytes/s, %3lld.%03lld ms; %6llu arrived, %4llu lost%s%s\n",
        (long long)(now / MILLISECOND), (unsigned long long)flow.congestion.window,
        (unsigned long long)flow.congestion.rate, (long long)(flow.rtt.smoothed / MILLISECOND),
        (long long)(flow.rtt.smoothed % MILLISECOND / MICROSECOND), (unsigned long long)arrived,
        (unsigned long long)lost, is_bbr ? "; " : "",
        is_bbr ? phases[flow.congestion.bbr.phase] : "");
}

TEST(flow__as_told, .rows = ROWS(courses))
{
    char *text = NULL;
    size_t size = 0;
    FILE *log = open_memstream(&text, &size);
    begin(&courses[_i]);
    send_all();
    for (int i = 1; i <= LINES; i++) {
        for (instant end = i * course->every; now < end;)
            step(end);
        tell(log);
    }
    fclose(log);
    trace_expect(course->name, text);
    free(text);
}
