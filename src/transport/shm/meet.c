/* How two ends meet: the rendezvous socket, the connect message, and the consent. */
#include "ends.h"
#include "platform/system.h"
#include "shared_file.h"
#include "transport/udp/socket.h"

#include <errno.h>
#include <sodium/utils.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

static const duration OPEN_FOR = SECOND;             /* at most; and to be let read */
static const duration ANSWER_BY = 2 * SECOND;        /* to a connect message */
static const duration LOOK_AGAIN = 10 * MICROSECOND; /* at the earliest, or after */
enum { LOOK_PART = 8 };                              /* such a part of the time until then */

/* Some processors have no atomic words of 64 bits. The compiler's lock instead of them is of one
 * process, and guards nothing that two processes share. */
static bool has_shared_atomics(void)
{
    return ATOMIC_LLONG_LOCK_FREE == 2;
}

bool shm_is_possible(const struct channel *c)
{
    if (!has_shared_atomics() || socket_is_set("ZCRP_NO_MEMORY") || c->aal5 != NULL ||
        (c->kind != CHANNEL_UDP4 && c->kind != CHANNEL_UDP6))
        return false;
    union address self = address_of_socket(c->fd);
    return address_has_host(&c->peer, &self.any);
}

/* ---- the meeting ---- */

static void close_file(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static void meeting_begin(struct shm_meeting *m, const struct shm_terms *terms)
{
    m->socket = rendezvous_socket();
    m->caller = -1;
    m->lets_read = terms->lets_read;
    m->if_nobody = SHM_ELSEWHERE;
    m->began = clock_now();
    m->has_secret = terms->secret != NULL;
    if (m->has_secret)
        memcpy(m->secret, terms->secret, sizeof(m->secret));
}

void meeting_end(struct shm_meeting *m)
{
    close_file(&m->socket);
    close_file(&m->caller);
    sodium_memzero(m->secret, sizeof(m->secret));
}

/* NULL: the session has no keys. */
static const uint8_t *secret_of(const struct shm_meeting *m)
{
    return m->has_secret ? m->secret : NULL;
}

/* True if it is time to look again, which is a system call: the next time is later. */
static bool take_look(struct shm *n, instant now)
{
    if (now < shm_look_at(n))
        return false;
    n->meeting->looked = now;
    return true;
}

/* It is decided, or over. */
static void decide(struct shm *n, enum shm_refusal why)
{
    meeting_end(n->meeting);
    n->why = why;
    atomic_store(&n->state, why == SHM_FINE ? SHM_HERE : SHM_AWAY);
}

static void *map(int fd)
{
    return shared_file_map(fd, sizeof(struct shm_page), PROT_READ | PROT_WRITE);
}

/* ---- the sender ---- */

/* Says which session this is of, and nothing of this process. */
static struct connect_message message_of(const struct shm *n)
{
    struct connect_message m = {.version = RENDEZVOUS_VERSION,
                                .page_bytes = sizeof(struct shm_page),
                                .pairing = n->pairing};

    memcpy(m.nonce, n->nonce, sizeof(m.nonce));
    rendezvous_prove(secret_of(n->meeting), BY_SENDER, n->nonce, m.proof);
    return m;
}

static bool hand_in(struct shm *n, int memfd)
{
    struct connect_message m = message_of(n);
    int files[RENDEZVOUS_FILES] = {memfd};
    size_t count = 1;

    m.lets_read = n->meeting->lets_read;
    m.page = (uintptr_t)n->page;
    m.nonce_at = (uintptr_t)n->nonce;
    if (n->own != NULL) {
        m.arena_bytes = shared_arena_bytes(n->own);
        files[count++] = shared_arena_descriptor(n->own);
    }
    return rendezvous_hand_in(n->meeting->socket, &m, files, count);
}

/* Makes the page, and hands it in. */
static enum shm_refusal share_page(struct shm *n)
{
    enum shm_refusal why = SHM_LIMITED;
    int memfd = shared_file_create(sizeof(struct shm_page));

    n->page = memfd >= 0 && shared_file_seal(memfd, 0) ? map(memfd) : NULL;
    if (n->page != NULL) {
        ring_writer_init(&n->out->ring, &n->page->ring, n->out->records);
        n->out->control = page_control(n->page);
        n->out->still_since = NEVER;
        atomic_store(&n->page->ring.is_asleep, 1); /* until they look for the first time */
        atomic_store(&n->page->control.is_asleep, 1);
        why = hand_in(n, memfd) ? SHM_FINE : SHM_ELSEWHERE;
    }
    close_file(&memfd);
    return why;
}

/* A socket of another user's is told who has come, and nothing else. With keys the receiver speaks
 * first. */
static enum shm_refusal connect_to_receiver(struct shm *n)
{
    int fd = n->meeting->socket;

    if (!rendezvous_connect(fd, n->units, n->pairing, secret_of(n->meeting)))
        return SHM_ELSEWHERE;
    if (rendezvous_is_own_user(fd, &n->peer.pid))
        return n->meeting->has_secret ? SHM_FINE : share_page(n);
    const struct connect_message m = message_of(n);
    (void)rendezvous_hand_in(fd, &m, NULL, 0);
    return SHM_STRANGER;
}

/* ---- the receiver ---- */

static enum shm_refusal listen_for_sender(struct shm *n)
{
    const struct shm_meeting *m = n->meeting;

    return rendezvous_listen(m->socket, n->units, n->pairing, secret_of(m)) ? SHM_FINE
                                                                            : SHM_LIMITED;
}

/* May this process read the sender's memory, and is it the sender's? */
static enum shm_refusal look_at_sender(const struct shm *n)
{
    static const enum shm_refusal why[] = {
        [PEER_SAME] = SHM_FINE, [PEER_ANOTHER] = SHM_FALSE, [PEER_HIDDEN] = SHM_FORBIDDEN};

    return why[peer_process_look(&n->peer)];
}

/* Without them the sender's memory is read, if it may be. */
static void map_arena(struct shm_reader *in, int fd, uint64_t bytes)
{
    in->arena_bytes = bytes;
    if (shared_file_is_safe(fd, bytes))
        in->arena = shared_file_map(fd, bytes, PROT_READ);
}

/* May this process read its own memory by the calls that bear memory that is gone? */
static bool may_read_itself(void)
{
    uint8_t from = 1, to = 0;
    struct iovec here = {&to, 1}, there = {&from, 1};

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

static enum shm_refusal admit(struct shm *n, const struct rendezvous_arrival *a)
{
    const struct connect_message *m = &a->says.connect;

    if (a->file[0] < 0)
        return SHM_LIMITED;
    if (!shared_file_is_safe(a->file[0], sizeof(struct shm_page)))
        return SHM_FALSE;
    n->page = map(a->file[0]);
    if (n->page == NULL)
        return SHM_LIMITED;
    n->peer = (struct peer_process){.pid = a->pid, .nonce_at = m->nonce_at};
    memcpy(n->peer.nonce, m->nonce, sizeof(n->peer.nonce));
    ring_reader_init(&n->in->ring, &n->page->ring);
    n->in->control = page_control(n->page);
    map_arena(n->in, a->file[1], m->arena_bytes);
    return look_at_sender(n);
}

/* Does who has connected know the pairing, and with keys its secret? */
static bool is_expected(const struct shm *n, const struct rendezvous_arrival *a)
{
    const struct connect_message *m = &a->says.connect;

    return a->bytes == (ssize_t)sizeof(*m) && m->version == RENDEZVOUS_VERSION &&
           m->page_bytes == sizeof(struct shm_page) && shm_is_of(n, m->pairing) &&
           rendezvous_is_proof(secret_of(n->meeting), BY_SENDER, m->nonce, m->proof);
}

/* The sender looks for this end's nonce before it pushes. A process is to be noticed that ends
 * while it pushes. */
static bool offer_slots(struct shm *n)
{
    int file = process_file(n->peer.pid);

    if (file < 0)
        return false;
    close_file(&file);
    memcpy(n->page->nonce, n->nonce, sizeof(n->nonce));
    atomic_store(&n->page->nonce_at, (uintptr_t)n->nonce);
    return true;
}

/* The sender may have given up meanwhile: then neither end is here. */
static void consent(struct shm *n, enum shm_refusal why)
{
    uint32_t word = CONSENT_NONE;

    n->sight = (why == SHM_FINE ? SIGHT_MEMORY : 0U) |
               (n->in->arena != NULL && may_read_itself() ? SIGHT_ARENA : 0U);
    if (why == SHM_FINE && offer_slots(n))
        n->sight |= SIGHT_SLOTS;
    if (why == SHM_FORBIDDEN && n->sight != 0)
        why = SHM_FINE;
    rendezvous_prove(secret_of(n->meeting), BY_RECEIVER, n->peer.nonce, n->page->proof);
    atomic_store(&n->page->sight, n->sight);
    atomic_store(&n->page->why, why);
    bool is_in_time = atomic_compare_exchange_strong(&n->page->consent, &word,
                                                     why == SHM_FINE ? CONSENT_YES : CONSENT_NO);
    decide(n, is_in_time || why != SHM_FINE ? why : SHM_ELSEWHERE);
}

/* Somebody who is not the sender leaves the socket open for it. */
static void on_connect(struct shm *n, const struct rendezvous_arrival *a)
{
    struct shm_meeting *m = n->meeting;

    if (!is_expected(n, a))
        return;
    if (!a->is_own_user) {
        m->if_nobody = SHM_STRANGER;
        rendezvous_refuse(m->caller, SHM_STRANGER);
        return;
    }
    if (a->file[0] < 0 && !a->is_truncated)
        return;
    enum shm_refusal why = admit(n, a);
    bool asks = why == SHM_FORBIDDEN && a->says.connect.lets_read != 0;
    if (n->page == NULL || asks)
        rendezvous_refuse(m->caller, why);
    if (asks)
        close_file(&m->socket);
    else if (n->page == NULL)
        decide(n, why);
    else
        consent(n, why);
}

/* With keys. */
static void greet(struct shm_meeting *m)
{
    m->has_spoken = true;
    if (rendezvous_greet(m->caller, m->secret))
        return;
    m->if_nobody = SHM_STRANGER;
    rendezvous_refuse(m->caller, SHM_STRANGER);
}

/* Who says nothing makes room for the next. False if there is nobody. */
static bool let_in(struct shm *n, bool is_silent)
{
    struct shm_meeting *m = n->meeting;

    if (m->caller >= 0 && !is_silent)
        return true;
    int next = rendezvous_accept(m->socket);
    if (next < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
        decide(n, SHM_LIMITED);
    if (next < 0)
        return false;
    close_file(&m->caller);
    m->caller = next;
    if (m->has_secret)
        greet(m);
    return true;
}

static void look_at_socket(struct shm *n)
{
    struct shm_meeting *m = n->meeting;
    struct rendezvous_arrival a;
    bool is_silent = false;

    for (int i = 0; i < RENDEZVOUS_CALLERS && m->socket >= 0 && let_in(n, is_silent); i++) {
        is_silent = !rendezvous_take(m->caller, &a);
        if (is_silent)
            continue;
        on_connect(n, &a);
        rendezvous_close(&a);
        close_file(&m->caller);
    }
}

/* The sender was asked to let this process read. */
static void look_again(struct shm *n, bool is_late)
{
    enum shm_refusal why = look_at_sender(n);

    if (why != SHM_FORBIDDEN || is_late)
        consent(n, why);
}

static void look_for_sender(struct shm *n)
{
    const struct shm_meeting *m = n->meeting;
    instant now = clock_now();
    bool is_late = !m->is_put_off && now - m->began > OPEN_FOR;

    if (!take_look(n, now))
        return;
    if (m->socket < 0)
        look_again(n, is_late);
    else if (is_late)
        decide(n, m->if_nobody);
    else
        look_at_socket(n);
}

/* ---- what the receiver says, as the sender sees it ---- */

static enum shm_refusal refusal_of(uint32_t word)
{
    return word == SHM_FINE || word > SHM_FALSE ? SHM_FALSE : (enum shm_refusal)word;
}

static bool is_refusal(const struct rendezvous_arrival *a)
{
    const struct refusal_message *m = &a->says.refusal;

    return a->bytes == (ssize_t)sizeof(*m) && m->version == RENDEZVOUS_VERSION;
}

static void on_refusal(struct shm *n, const struct rendezvous_arrival *a)
{
    const struct refusal_message *m = &a->says.refusal;

    if (!is_refusal(a))
        return;
    if (m->why != SHM_FORBIDDEN || !n->meeting->lets_read) {
        decide(n, refusal_of(m->why));
        return;
    }
    close_file(&n->meeting->socket); /* what follows is said in the page */
    if (a->is_own_user)              /* without Yama this fails, and nothing is lost */
        (void)prctl(PR_SET_PTRACER, (unsigned long)a->pid, 0, 0, 0);
}

/* Whoever listens there is handed nothing before it has shown that it has the session's secret. */
static void on_greeting(struct shm *n, const struct rendezvous_arrival *a)
{
    enum shm_refusal why = a->bytes > 0 ? SHM_FALSE : SHM_ELSEWHERE;

    if (is_refusal(a)) {
        why = refusal_of(a->says.refusal.why);
    } else if (rendezvous_is_greeting(a, n->meeting->secret)) {
        why = share_page(n);
        n->meeting->has_spoken = true;
    }
    if (why != SHM_FINE)
        decide(n, why);
}

/* The receiver's word (enum shm_consent, or anything else). If there is none, a sender that gives
 * up writes NO in its place: one of the two ends is first, and both know which. */
static uint32_t consent_of(struct shm *n, bool gives_up)
{
    uint32_t word = CONSENT_NONE;

    if (n->page == NULL)
        return CONSENT_NONE;
    if (!gives_up)
        return atomic_load(&n->page->consent);
    (void)atomic_compare_exchange_strong(&n->page->consent, &word, CONSENT_NO);
    return word;
}

static void look_for_word(struct shm *n)
{
    struct rendezvous_arrival a;

    if (n->meeting->socket < 0 || !rendezvous_take(n->meeting->socket, &a))
        return;
    if (n->page == NULL)
        on_greeting(n, &a);
    else if (a.bytes > 0)
        on_refusal(n, &a);
    else if (consent_of(n, true) == CONSENT_NONE)
        decide(n, SHM_ELSEWHERE);
    rendezvous_close(&a);
}

/* Has it shown that it has the session's secret? */
static bool has_proven(const struct shm *n)
{
    uint8_t proof[RENDEZVOUS_PROOF];

    memcpy(proof, n->page->proof, sizeof(proof)); /* once: it may change */
    return rendezvous_is_proof(secret_of(n->meeting), BY_RECEIVER, n->nonce, proof);
}

/* The receiver offers slots. The kernel has said who it is, and says now if it may be written to:
 * the right to read is the same. */
static bool may_push(struct shm *n)
{
    memcpy(n->peer.nonce, n->page->nonce, sizeof(n->peer.nonce));
    n->peer.nonce_at = atomic_load(&n->page->nonce_at);
    return peer_process_look(&n->peer) == PEER_SAME;
}

/* What the receiver says it can read of what there is. */
static void begin(struct shm *n)
{
    uint32_t sight = atomic_load(&n->page->sight);

    n->sight = sight & (SIGHT_MEMORY | (n->own != NULL ? SIGHT_ARENA : 0U));
    atomic_store(&n->out->may_push, (sight & SIGHT_SLOTS) && may_push(n));
    decide(n, n->sight != 0 && has_proven(n) ? SHM_FINE : SHM_FALSE);
}

static void look_for_consent(struct shm *n)
{
    instant now = clock_now();
    bool is_late = now - n->meeting->began > ANSWER_BY;
    uint32_t consent = consent_of(n, is_late);

    if (consent == CONSENT_YES)
        begin(n);
    else if (consent != CONSENT_NONE)
        decide(n, refusal_of(atomic_load(&n->page->why)));
    else if (is_late)
        decide(n, SHM_ELSEWHERE);
    else if (take_look(n, now))
        look_for_word(n);
}

/* Has the receiver changed its mind? If so, it has written before why. */
static void look_for_dissent(struct shm *n)
{
    if (atomic_load_explicit(&n->page->consent, memory_order_acquire) != CONSENT_YES)
        decide(n, refusal_of(atomic_load(&n->page->why)));
}

/* ---- either ---- */

enum shm_refusal shm_meet(struct shm **made, bool is_sender, struct channel *units,
                          const struct shm_terms *terms)
{
    enum shm_refusal why = SHM_LIMITED;
    struct shm *n = shm_create(is_sender, units, terms);

    *made = NULL;
    if (n == NULL)
        return why;
    meeting_begin(n->meeting, terms);
    if (n->meeting->socket >= 0)
        why = is_sender ? connect_to_receiver(n) : listen_for_sender(n);
    if (why == SHM_FINE)
        *made = n;
    else
        shm_free(n);
    return why;
}

enum shm_state shm_look(struct shm *n)
{
    if (atomic_load(&n->state) == SHM_MEETING && n->out != NULL)
        look_for_consent(n);
    else if (atomic_load(&n->state) == SHM_MEETING)
        look_for_sender(n);
    return shm_state(n);
}

void shm_put_off(struct shm *n, bool is_early)
{
    struct shm_meeting *m = n->meeting;

    if (m->is_put_off && !is_early)
        m->began = clock_now();
    m->is_put_off = is_early;
}

bool shm_must_wake(struct shm *n)
{
    bool has_spoken = n->meeting->has_spoken;

    n->meeting->has_spoken = false;
    return has_spoken;
}

enum shm_state shm_state(struct shm *n)
{
    if (atomic_load(&n->state) == SHM_HERE && n->out != NULL)
        look_for_dissent(n);
    return (enum shm_state)atomic_load(&n->state);
}

/* With keys the two speak in turn, and wake each other: then neither waits longer. */
instant shm_look_at(const struct shm *n)
{
    const struct shm_meeting *m = n->meeting;
    bool has_page = n->page != NULL, is_sender = n->out != NULL;

    if (atomic_load(&n->state) != SHM_MEETING)
        return NEVER;
    if (is_sender && has_page && atomic_load(&n->page->consent) != CONSENT_NONE)
        return m->looked;
    duration pause = (m->looked - m->began) / LOOK_PART;
    bool is_soon = m->has_secret && !has_page && (is_sender || (m->caller >= 0 && !m->is_put_off));
    if (m->is_put_off && pause > OPEN_FOR / LOOK_PART)
        pause = OPEN_FOR / LOOK_PART;
    return m->looked + (pause > LOOK_AGAIN && !is_soon ? pause : LOOK_AGAIN);
}
