#include "turns.h"

enum {
    TURN_RECEIVES = 64,
    TURN_DATAGRAMS = 64,
};

/* ---- sending ---- */

/* Tells the machine of what the system has hinted at since the last time. */
static void pass_hints(struct zcrp_entity *e)
{
    uint64_t hints = channels_count(&e->channels, CHANNEL_TOO_BIGS);
    uint64_t refusals = channels_count(&e->channels, CHANNEL_REFUSALS);

    if (e->machine.role == MACHINE_SENDER && hints > e->hints)
        sender_on_path_hint(e->machine.sender, clock_now());
    if (e->machine.role == MACHINE_SENDER && refusals > e->refusals)
        sender_on_refused(e->machine.sender);
    e->hints = hints;
    e->refusals = refusals;
}

/* The interface refuses datagrams of this size: units get smaller. False if they cannot; then the
 * burst counts as lost, so that some time passes before it is repeated. */
static bool shrink_units(struct zcrp_entity *e, uint32_t refused)
{
    return e->machine.role == MACHINE_SENDER &&
           sender_on_refused_size(e->machine.sender, clock_now(), refused);
}

/* Tells the machine what became of the burst. A receiver's answer that found no room is dropped:
 * the machine repeats it in time. */
static void on_burst_sent(struct zcrp_entity *e, enum channel_verdict verdict, uint32_t sent)
{
    switch (verdict) {
    case CHANNEL_OK:
        break;
    case CHANNEL_BLOCKED:
    case CHANNEL_CROWDED:
        if (e->machine.role == MACHINE_SENDER)
            e->blocked = verdict;
        break;
    case CHANNEL_TOO_BIG:
        if (!shrink_units(e, e->burst.segment))
            sent = e->burst.datagrams;
        e->hints = channel_count(e->channels.out, CHANNEL_TOO_BIGS); /* this was none */
        break;
    case CHANNEL_REFUSED:
        sent = e->burst.datagrams;
        break;
    case CHANNEL_FAULT:
        machine_on_burst_fault(&e->machine, &e->burst);
        break;
    case CHANNEL_BROKEN:
        entity_break(e);
        break;
    }
    pass_hints(e);
    machine_sent(&e->machine, clock_now(), &e->burst, sent);
}

/* The path may turn out not to carry what marks congestion. */
static bool wants_ecn(const struct zcrp_entity *e)
{
    return e->machine.role != MACHINE_SENDER || sender_wants_ecn(e->machine.sender);
}

static bool may_send(const struct zcrp_entity *e)
{
    return !e->is_broken && e->blocked == CHANNEL_OK;
}

bool sending_drain(struct zcrp_entity *e, int bursts)
{
    int i;

    if (e->is_sending)
        return false;
    e->is_sending = true;
    for (i = 0; i < bursts && may_send(e); i++) {
        uint32_t sent;
        if (!machine_take(&e->machine, clock_now(), &e->burst))
            break;
        bool has_ecn = wants_ecn(e);
        entity_leave(e);
        if (!has_ecn)
            channel_leave_ecn(e->channels.out);
        enum channel_verdict verdict = channel_send(e->channels.out, &e->burst, &sent);
        entity_enter(e);
        on_burst_sent(e, verdict, sent);
    }
    e->is_sending = false;
    return i > 0;
}

static void sending_turn(struct zcrp_entity *e)
{
    entity_enter(e);
    sending_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

/* The channel had no room: waits until it has. */
static void wait_for_room(struct zcrp_entity *e, enum channel_verdict verdict)
{
    int result = channel_wait_writable(e->channels.out, verdict, wake_fd(&e->stop), NEVER);

    entity_enter(e);
    e->blocked = CHANNEL_OK;
    if (result == CHANNEL_BROKEN)
        entity_break(e);
    entity_leave(e);
}

static bool sending_rest(struct zcrp_entity *e)
{
    entity_enter(e);
    while (e->life < ENTITY_STOPPING && !entity_is_sending_due(e)) {
        e->sending_sleeps = true;
        (void)condition_wait(&e->sending_due, &e->mutex, NEVER);
        e->sending_sleeps = false;
    }
    bool is_stopping = e->life == ENTITY_STOPPING;
    enum channel_verdict verdict = e->blocked;
    entity_leave(e);
    if (!is_stopping && verdict != CHANNEL_OK)
        wait_for_room(e, verdict);
    return !is_stopping;
}

/* ---- arriving at a receiver ---- */

/* Claims the arrivals; false if another thread receives. Locked. */
static bool claim_arrivals(struct zcrp_entity *e)
{
    bool is_ours = !e->is_arriving && !e->is_broken;

    e->is_arriving = e->is_arriving || is_ours;
    return is_ours;
}

static void make_plan(struct zcrp_entity *e)
{
    struct receiver *r = e->machine.receiver;
    struct openings_choice choice =
        openings_choose(&e->arrivals.openings, receiver_recent_bytes(r));

    receiver_plan(r, &e->arrivals.landing, choice.openings, choice.units);
}

/* Only datagrams of the pairing tell how the next ones will come. */
static void land_arrivals(struct zcrp_entity *e)
{
    struct receiver_arrivals arrivals =
        receiver_landed(e->machine.receiver, clock_now(), &e->arrivals.landing);

    if (arrivals.openings == 0)
        return;
    openings_learn(&e->arrivals.openings, &e->arrivals.landing);
    moderation_on_arrivals(&e->moderation, arrivals.openings, arrivals.bytes);
}

/* The plan is out for no longer than the call takes. */
static bool receiving_once(struct zcrp_entity *e)
{
    entity_enter(e);
    bool is_ours = claim_arrivals(e);
    if (is_ours)
        make_plan(e);
    entity_leave(e);
    if (!is_ours)
        return false;
    int received = channel_receive(e->channels.in, &e->arrivals.landing);
    entity_enter(e);
    if (received <= 0)
        e->arrivals.landing.received = 0;
    if (received == CHANNEL_FAULT)
        machine_on_plan_fault(&e->machine, &e->arrivals.landing);
    land_arrivals(e);
    if (received == CHANNEL_BROKEN)
        entity_break(e);
    e->is_arriving = false;
    sending_drain(e, SENDING_BURSTS);
    entity_leave(e);
    return received > 0;
}

static void receiving_turn(struct zcrp_entity *e)
{
    for (int i = 0; i < TURN_RECEIVES && receiving_once(e); i++)
        ;
}

/* ---- arriving at a sender ---- */

static bool update_once(struct zcrp_entity *e)
{
    entity_enter(e);
    bool is_ours = claim_arrivals(e);
    entity_leave(e);
    if (!is_ours)
        return false;
    int size = channel_receive_control(e->channels.in, e->arrivals.memory, e->arrivals.bytes);
    entity_enter(e);
    if (size > 0)
        sender_receive(e->machine.sender, clock_now(), e->arrivals.memory, (size_t)size);
    else if (size < 0)
        entity_break(e);
    pass_hints(e);
    e->is_arriving = false;
    bool has_sent = sending_drain(e, SENDING_BURSTS);
    entity_leave(e);
    return size > 0 || has_sent;
}

static void update_turn(struct zcrp_entity *e)
{
    for (int i = 0; i < TURN_DATAGRAMS && update_once(e); i++)
        ;
}

/* ---- arriving at either ---- */

static bool goes_on(struct zcrp_entity *e, bool is_broken_now)
{
    entity_enter(e);
    if (is_broken_now)
        entity_break(e);
    bool is_needed = e->life < ENTITY_STOPPING && !e->is_broken;
    entity_leave(e);
    return is_needed;
}

bool arriving_turn(struct zcrp_entity *e)
{
    return e->machine.role == MACHINE_SENDER ? update_once(e) : receiving_once(e);
}

int arriving_sleep(struct zcrp_entity *e, struct wake *wake, duration nap, instant deadline)
{
    if (nap == 0)
        return channel_wait(e->channels.in, wake_fd(wake), deadline);
    return channel_nap(e->channels.in, wake_fd(wake), instant_earlier(deadline, clock_now() + nap));
}

/* Sleeps without a plan out: a message that is cancelled meanwhile comes back at once. */
static bool arriving_rest(struct zcrp_entity *e)
{
    entity_enter(e);
    helm_park(&e->helm, &e->mutex);
    duration nap = moderation_rest(&e->moderation, machine_expected(&e->machine));
    entity_leave(e);
    int result = arriving_sleep(e, &e->stop, nap, NEVER);

    return goes_on(e, result == CHANNEL_BROKEN);
}

/* ---- timeout ---- */

void timeout_turn(struct zcrp_entity *e)
{
    entity_enter(e);
    if (!e->is_broken)
        machine_expire(&e->machine, clock_now());
    sending_drain(e, SENDING_BURSTS);
    entity_leave(e);
}

/* A receiver's deadlines are for control datagrams. While another thread is sending, that one sends
 * them, too: so there is nothing to do here but to look again later. */
static instant next_turn(struct zcrp_entity *e, instant now)
{
    instant deadline = entity_deadline(e);
    bool is_seen_to = e->is_sending && e->machine.role == MACHINE_RECEIVER;

    return is_seen_to && deadline < now + MILLISECOND ? now + MILLISECOND : deadline;
}

static bool timeout_rest(struct zcrp_entity *e)
{
    instant deadline;

    entity_enter(e);
    while (e->life < ENTITY_STOPPING && (deadline = next_turn(e, clock_now())) > clock_now()) {
        e->timeout_at = deadline;
        (void)condition_wait(&e->timeout_due, &e->mutex, deadline);
        e->timeout_at = INT64_MIN;
    }
    bool is_stopping = e->life == ENTITY_STOPPING;
    entity_leave(e);
    return !is_stopping;
}

/* ---- the threads ---- */

struct duty {
    const char *name;
    bool (*rest)(struct zcrp_entity *e);
    void (*turn)(struct zcrp_entity *e);
};

static const struct duty sending_duty = {"zcrp-sending", sending_rest, sending_turn};
static const struct duty update_duty = {"zcrp-update", arriving_rest, update_turn};
static const struct duty receiving_duty = {"zcrp-receiving", arriving_rest, receiving_turn};
static const struct duty timeout_duty = {"zcrp-timeout", timeout_rest, timeout_turn};

static const struct duty *const duties[][WORKERS_MOST] = {
    [MACHINE_SENDER] = {&sending_duty, &update_duty, &timeout_duty},
    [MACHINE_RECEIVER] = {&receiving_duty, &timeout_duty},
};

static void run_worker(void *context)
{
    const struct worker *w = context;

    while (w->duty->rest(w->entity))
        w->duty->turn(w->entity);
}

int workers_start(struct zcrp_entity *e)
{
    const struct duty *const *duty = duties[e->machine.role];

    for (int i = 0; i < WORKERS_MOST && duty[i] != NULL; i++) {
        struct worker *w = &e->workers[i];
        *w = (struct worker){.duty = duty[i], .entity = e};
        int error = thread_start(&w->thread, w->duty->name, run_worker, w);
        if (error) {
            workers_stop(e);
            return error;
        }
        e->worker_count = i + 1;
    }
    return 0;
}

void workers_stop(struct zcrp_entity *e)
{
    entity_enter(e);
    entity_move(e, ENTITY_STOPPING);
    helm_close(&e->helm);
    entity_leave(e);
    wake_signal(&e->stop);
    for (int i = 0; i < e->worker_count; i++)
        thread_join(&e->workers[i].thread);
    e->worker_count = 0;
}
