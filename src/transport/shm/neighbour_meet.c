/* How neighbours meet: the door, the knock, and the consent. */
#include "core/number.h"
#include "neighbour_page.h"
#include "platform/system.h"
#include "shared_file.h"
#include "transport/udp/socket.h"

#include <errno.h>
#include <sodium/crypto_generichash.h>
#include <sodium/utils.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    NAME_BYTES = 16,
    GUESTS = 16, /* at the door, at most */
};

static const duration DOOR_OPEN = SECOND;            /* at most; and to be let read */
static const duration ANSWER_BY = 2 * SECOND;        /* to a knock */
static const duration LOOK_AGAIN = 10 * MICROSECOND; /* at the earliest, or after */
enum { LOOK_PART = 8 };                              /* such a part of the time until then */

/* Is it time to look again? That is a system call. */
static bool is_time(struct neighbour *n, instant now)
{
    if (now < neighbour_look_at(n))
        return false;
    n->looked = now;
    return true;
}

/* ---- where ---- */

bool neighbour_is_possible(const struct channel *c)
{
    if (socket_is_set("ZCRP_NO_MEMORY") || c->aal5 != NULL ||
        (c->kind != CHANNEL_UDP4 && c->kind != CHANNEL_UDP6))
        return false;
    union address self = address_of_socket(c->fd);
    return address_has_host(&c->peer, &self.any);
}

/* The door's address. Whoever does not know the pairing cannot name it. The ports keep a relay on
 * this host from being passed by. */
static socklen_t door_address(const struct neighbour *n, struct sockaddr_un *at)
{
    uint16_t sender = n->is_sender ? n->near : n->far, receiver = n->is_sender ? n->far : n->near;
    const uint32_t pairing[] = {n->pairing.session, n->pairing.tag, sender, receiver};
    const uint8_t *key = n->has_secret ? n->secret : NULL;
    uint8_t hash[NAME_BYTES];
    char text[2 * NAME_BYTES + 1];

    (void)crypto_generichash(hash, sizeof(hash), (const unsigned char *)pairing, sizeof(pairing),
                             key, key != NULL ? NEIGHBOUR_SECRET : 0);
    (void)sodium_bin2hex(text, sizeof(text), hash, sizeof(hash));
    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(at->sun_path + 1, sizeof(at->sun_path) - 1, "zcrp-%s", text);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

enum prover { BY_SENDER = 1, BY_RECEIVER };

/* Shows that whoever says this nonce has the session's secret. All 0 where there is none. */
static void make_proof(const struct neighbour *n, enum prover by,
                       const uint8_t nonce[NEIGHBOUR_NONCE], uint8_t proof[NEIGHBOUR_PROOF])
{
    uint8_t text[1 + NEIGHBOUR_NONCE] = {(uint8_t)by};

    memset(proof, 0, NEIGHBOUR_PROOF);
    memcpy(text + 1, nonce, NEIGHBOUR_NONCE);
    if (n->has_secret)
        (void)crypto_generichash(proof, NEIGHBOUR_PROOF, text, sizeof(text), n->secret,
                                 sizeof(n->secret));
}

static bool is_proof(const struct neighbour *n, enum prover by,
                     const uint8_t nonce[NEIGHBOUR_NONCE], const uint8_t proof[NEIGHBOUR_PROOF])
{
    uint8_t good[NEIGHBOUR_PROOF];

    make_proof(n, by, nonce, good);
    return sodium_memcmp(good, proof, sizeof(good)) == 0;
}

static struct neighbour *make(bool is_sender, struct channel *c,
                              const struct neighbour_terms *terms)
{
    struct neighbour *n = memory_reserve(sizeof(*n)); /* by a thread that has no heap yet */
    union address self = address_of_socket(c->fd);

    if (n == NULL)
        return NULL;
    *n = (struct neighbour){.is_sender = is_sender,
                            .near = address_port(&self),
                            .far = address_port(&c->peer),
                            .pairing = terms->pairing,
                            .has_secret = terms->secret != NULL,
                            .units = c,
                            .own = commons_hold(terms->own),
                            .opened = clock_now()};
    if (terms->secret != NULL)
        memcpy(n->secret, terms->secret, sizeof(n->secret));
    n->in.door = n->in.guest = n->out.bell = n->in.sender_file = -1;
    n->out.still_since = NEVER;
    return n;
}

/* What it is connected to is who the kernel says it is, from beginning to end. */
static int open_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Is the other end of this socket a process of this user that can be named here? */
static bool is_own_user(int fd, pid_t *pid)
{
    struct ucred who = {.pid = 0};
    socklen_t size = sizeof(who);

    *pid = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 ? who.pid : 0;
    return *pid > 0 && who.uid == getuid();
}

static void close_file(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

/* It is decided, or over. */
static void decide(struct neighbour *n, enum neighbour_refusal why)
{
    n->why = why;
    atomic_store(&n->state, why == NEIGHBOUR_FINE ? NEIGHBOUR_HERE : NEIGHBOUR_AWAY);
    close_file(&n->in.door);
    close_file(&n->in.guest);
    close_file(&n->out.bell);
}

static void *map(int fd)
{
    return shared_file_map(fd, sizeof(struct neighbour_page), PROT_READ | PROT_WRITE);
}

/* ---- the sender ---- */

/* Goes to the door. */
static enum neighbour_refusal ring(struct neighbour *n)
{
    struct sockaddr_un at;
    socklen_t size = door_address(n, &at);

    n->out.bell = open_socket();
    if (n->out.bell < 0)
        return NEIGHBOUR_LIMITED;
    return connect(n->out.bell, (const struct sockaddr *)&at, size) == 0 ? NEIGHBOUR_FINE
                                                                         : NEIGHBOUR_ELSEWHERE;
}

/* Tells the door who knocks, and nothing else: it is another user's. */
static void knock_in_vain(const struct neighbour *n)
{
    struct neighbour_knock knock = {.version = NEIGHBOUR_VERSION,
                                    .page_bytes = sizeof(struct neighbour_page),
                                    .pairing = n->pairing};

    entropy_fill(knock.nonce, sizeof(knock.nonce));
    make_proof(n, BY_SENDER, knock.nonce, knock.proof);
    (void)send(n->out.bell, &knock, sizeof(knock), MSG_NOSIGNAL);
}

/* Hands the files in at the door. */
static bool hand_in(struct neighbour *n, int memfd)
{
    const int files[] = {memfd, n->own != NULL ? commons_descriptor(n->own) : -1};
    size_t bytes = n->own != NULL ? sizeof(files) : sizeof(files[0]);
    struct neighbour_knock knock = {
        .version = NEIGHBOUR_VERSION,
        .page_bytes = sizeof(struct neighbour_page),
        .lets_read = n->out.lets_read,
        .pairing = n->pairing,
        .page = (uintptr_t)n->page,
        .nonce_at = (uintptr_t)n->out.nonce,
        .commons_bytes = n->own != NULL ? commons_bytes(n->own) : 0,
    };
    union {
        struct cmsghdr head;
        uint8_t room[CMSG_SPACE(sizeof(files))];
    } notes = {
        .head = {.cmsg_len = CMSG_LEN(bytes), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct iovec piece = {&knock, sizeof(knock)};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &notes,
                             .msg_controllen = CMSG_SPACE(bytes)};

    memcpy(knock.nonce, n->out.nonce, sizeof(knock.nonce));
    make_proof(n, BY_SENDER, n->out.nonce, knock.proof);
    memcpy(CMSG_DATA(&notes.head), files, bytes);
    return sendmsg(n->out.bell, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(knock);
}

/* Makes the page, and hands it in. */
static enum neighbour_refusal share_page(struct neighbour *n)
{
    enum neighbour_refusal why = NEIGHBOUR_LIMITED;
    int memfd = shared_file_create(sizeof(struct neighbour_page));

    n->page = memfd >= 0 && shared_file_seal(memfd, 0) ? map(memfd) : NULL;
    if (n->page != NULL) {
        entropy_fill(n->out.nonce, sizeof(n->out.nonce));
        ring_writer_init(&n->out.ring, &n->page->ring);
        n->out.answers.answers = &n->page->answers;
        atomic_store(&n->page->ring.is_asleep, 1); /* until they look for the first time */
        atomic_store(&n->page->answers.is_asleep, 1);
        why = hand_in(n, memfd) ? NEIGHBOUR_FINE : NEIGHBOUR_ELSEWHERE;
    }
    if (memfd >= 0)
        (void)close(memfd);
    return why;
}

enum neighbour_refusal neighbour_knock(struct neighbour **made, struct channel *c,
                                       const struct neighbour_terms *terms)
{
    struct neighbour *n = make(true, c, terms);

    *made = NULL;
    if (n == NULL)
        return NEIGHBOUR_LIMITED;
    n->out.lets_read = terms->lets_read;
    enum neighbour_refusal why = ring(n);
    if (why == NEIGHBOUR_FINE && !is_own_user(n->out.bell, &n->out.receiver)) {
        knock_in_vain(n);
        why = NEIGHBOUR_STRANGER;
    }
    if (why == NEIGHBOUR_FINE)
        why = share_page(n);
    if (why == NEIGHBOUR_FINE)
        *made = n;
    else
        neighbour_free(n);
    return why;
}

/* ---- the receiver ---- */

enum neighbour_refusal neighbour_open_door(struct neighbour **made, struct channel *c,
                                           const struct neighbour_terms *terms)
{
    struct neighbour *n = make(false, c, terms);
    struct sockaddr_un at;

    *made = NULL;
    if (n == NULL)
        return NEIGHBOUR_LIMITED;
    n->in.door = open_socket();
    socklen_t size = door_address(n, &at);
    if (n->in.door < 0 || bind(n->in.door, (const struct sockaddr *)&at, size) != 0 ||
        listen(n->in.door, GUESTS) != 0) {
        neighbour_free(n);
        return NEIGHBOUR_LIMITED;
    }
    *made = n;
    return NEIGHBOUR_FINE;
}

/* What came through the door, or rang the bell. */
struct caller {
    union {
        struct neighbour_knock knock;
        struct neighbour_word word;
    } says;
    ssize_t bytes; /* of that */
    pid_t pid;
    bool is_own_user;
    int file[2];       /* the page's and the commons'; -1: none, */
    bool is_truncated; /* or this process had no room for them */
};

/* There is room for two: the kernel closes the others. */
static void take_descriptors(struct msghdr *message, struct caller *caller)
{
    struct cmsghdr *note = CMSG_FIRSTHDR(message);

    if (note != NULL && note->cmsg_level == SOL_SOCKET && note->cmsg_type == SCM_RIGHTS)
        memcpy(caller->file, CMSG_DATA(note),
               lesser(note->cmsg_len - CMSG_LEN(0), sizeof(caller->file)));
}

/* False if nothing came yet; no bytes: the other end has closed. */
static bool take_caller(int fd, struct caller *caller)
{
    union {
        struct cmsghdr head;
        uint8_t room[CMSG_SPACE(2 * sizeof(int))];
    } notes;
    struct iovec piece = {&caller->says, sizeof(caller->says)};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &notes,
                             .msg_controllen = sizeof(notes.room)};

    *caller = (struct caller){.file = {-1, -1}};
    caller->bytes = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (caller->bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (caller->bytes <= 0) {
        caller->bytes = 0;
        return true;
    }
    caller->is_own_user = is_own_user(fd, &caller->pid);
    caller->is_truncated = message.msg_flags & MSG_CTRUNC;
    take_descriptors(&message, caller);
    return true;
}

static void close_files(struct caller *caller)
{
    close_file(&caller->file[0]);
    close_file(&caller->file[1]);
}

/* Tells the guest. It may be deaf, or not there any more. */
static void say(const struct neighbour *n, enum neighbour_refusal why)
{
    struct neighbour_word word = {.version = NEIGHBOUR_VERSION, .why = why};

    (void)send(n->in.guest, &word, sizeof(word), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* May this process read the caller's memory, and is it the caller's? */
static enum neighbour_refusal prove(struct neighbour *n)
{
    uint8_t nonce[NEIGHBOUR_NONCE];
    struct iovec here = {nonce, sizeof(nonce)};
    struct iovec there = {(void *)(uintptr_t)n->in.nonce_at, sizeof(nonce)}; /* NOLINT */

    if (process_vm_readv(n->in.sender, &here, 1, &there, 1, 0) != (ssize_t)sizeof(nonce))
        return NEIGHBOUR_FORBIDDEN;
    return sodium_memcmp(nonce, n->in.nonce, sizeof(nonce)) == 0 ? NEIGHBOUR_FINE : NEIGHBOUR_FALSE;
}

/* Without them the sender's memory is read, if it may be. */
static void map_commons(struct neighbour *n, const struct caller *caller)
{
    n->in.commons_bytes = caller->says.knock.commons_bytes;
    if (shared_file_is_safe(caller->file[1], n->in.commons_bytes))
        n->in.commons = shared_file_map(caller->file[1], n->in.commons_bytes, PROT_READ);
}

/* May this process read its own memory by the calls that bear memory that is gone? */
static bool may_read_itself(void)
{
    uint8_t from = 1, to = 0;
    struct iovec here = {&to, 1}, there = {&from, 1};

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

static enum neighbour_refusal admit(struct neighbour *n, const struct caller *caller)
{
    const struct neighbour_knock *knock = &caller->says.knock;

    if (caller->file[0] < 0)
        return NEIGHBOUR_LIMITED;
    if (!shared_file_is_safe(caller->file[0], sizeof(struct neighbour_page)))
        return NEIGHBOUR_FALSE;
    n->page = map(caller->file[0]);
    if (n->page == NULL)
        return NEIGHBOUR_LIMITED;
    n->in.sender = caller->pid;
    n->in.page = knock->page;
    n->in.nonce_at = knock->nonce_at;
    memcpy(n->in.nonce, knock->nonce, sizeof(n->in.nonce));
    ring_reader_init(&n->in.ring, &n->page->ring);
    n->in.answers.answers = &n->page->answers;
    map_commons(n, caller);
    return prove(n);
}

/* Does the caller know the pairing, and with keys its secret? */
static bool is_expected(const struct neighbour *n, const struct caller *caller)
{
    const struct neighbour_knock *knock = &caller->says.knock;

    return caller->bytes == (ssize_t)sizeof(*knock) && knock->version == NEIGHBOUR_VERSION &&
           knock->page_bytes == sizeof(struct neighbour_page) &&
           neighbour_is_of(n, knock->pairing) && is_proof(n, BY_SENDER, knock->nonce, knock->proof);
}

static void write_proof(struct neighbour *n)
{
    uint64_t proof[NEIGHBOUR_PROOF / 8];

    make_proof(n, BY_RECEIVER, n->in.nonce, (uint8_t *)proof);
    for (int i = 0; i < NEIGHBOUR_PROOF / 8; i++)
        atomic_store(&n->page->proof[i], proof[i]);
}

/* The sender looks for this nonce before it pushes. A process is to be noticed that ends while it
 * pushes. */
static bool offer_targets(struct neighbour *n)
{
    uint64_t nonce[NEIGHBOUR_NONCE / 8];
    int file = process_file(n->in.sender);

    if (file < 0)
        return false;
    close_file(&file);
    entropy_fill(n->in.own_nonce, sizeof(n->in.own_nonce));
    memcpy(nonce, n->in.own_nonce, sizeof(nonce));
    for (int i = 0; i < NEIGHBOUR_NONCE / 8; i++)
        atomic_store(&n->page->nonce[i], nonce[i]);
    atomic_store(&n->page->nonce_at, (uintptr_t)n->in.own_nonce);
    return true;
}

static void consent(struct neighbour *n, enum neighbour_refusal why)
{
    n->in.sight = (why == NEIGHBOUR_FINE ? SIGHT_MEMORY : 0U) |
                  (n->in.commons != NULL && may_read_itself() ? SIGHT_COMMONS : 0U);
    if (why == NEIGHBOUR_FINE && offer_targets(n))
        n->in.sight |= SIGHT_TARGETS;
    if (why == NEIGHBOUR_FORBIDDEN && n->in.sight != 0)
        why = NEIGHBOUR_FINE;
    write_proof(n);
    atomic_store(&n->page->sight, n->in.sight);
    atomic_store(&n->page->why, why);
    atomic_store(&n->page->consent, why == NEIGHBOUR_FINE ? CONSENT_YES : CONSENT_NO);
    decide(n, why);
}

/* Somebody who is not the sender leaves the door open for it. */
static void on_knock(struct neighbour *n, const struct caller *caller)
{
    if (!is_expected(n, caller))
        return;
    if (!caller->is_own_user) {
        n->in.was_stranger = true;
        say(n, NEIGHBOUR_STRANGER);
        return;
    }
    if (caller->file[0] < 0 && !caller->is_truncated)
        return;
    enum neighbour_refusal why = admit(n, caller);
    n->in.is_asking = why == NEIGHBOUR_FORBIDDEN && caller->says.knock.lets_read != 0;
    if (n->page == NULL || n->in.is_asking)
        say(n, why);
    if (n->in.is_asking)
        close_file(&n->in.door);
    else if (n->page == NULL)
        decide(n, why);
    else
        consent(n, why);
}

/* Who says nothing makes room for the next. False if there is nobody. */
static bool let_in(struct neighbour *n, bool is_silent)
{
    if (n->in.guest >= 0 && !is_silent)
        return true;
    int next = accept4(n->in.door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (next < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
        decide(n, NEIGHBOUR_LIMITED);
    if (next < 0)
        return false;
    close_file(&n->in.guest);
    n->in.guest = next;
    return true;
}

static void look_at_door(struct neighbour *n)
{
    struct caller caller;
    bool is_silent = false;

    for (int i = 0; i < GUESTS && n->in.door >= 0 && let_in(n, is_silent); i++) {
        is_silent = !take_caller(n->in.guest, &caller);
        if (is_silent)
            continue;
        on_knock(n, &caller);
        close_files(&caller);
        close_file(&n->in.guest);
    }
}

/* The sender was asked to let this process read. */
static void look_again(struct neighbour *n, bool is_late)
{
    enum neighbour_refusal why = prove(n);

    if (why != NEIGHBOUR_FORBIDDEN || is_late)
        consent(n, why);
}

static void look_for_sender(struct neighbour *n)
{
    instant now = clock_now();
    bool is_late = now - n->opened > DOOR_OPEN;

    if (!is_time(n, now))
        return;
    if (n->in.is_asking)
        look_again(n, is_late);
    else if (is_late)
        decide(n, n->in.was_stranger ? NEIGHBOUR_STRANGER : NEIGHBOUR_ELSEWHERE);
    else
        look_at_door(n);
}

/* ---- either ---- */

static enum neighbour_refusal refusal_of(uint32_t word)
{
    return word == NEIGHBOUR_FINE || word > NEIGHBOUR_FALSE ? NEIGHBOUR_FALSE
                                                            : (enum neighbour_refusal)word;
}

static void on_word(struct neighbour *n, const struct caller *caller)
{
    const struct neighbour_word *word = &caller->says.word;

    if (caller->bytes != (ssize_t)sizeof(*word) || word->version != NEIGHBOUR_VERSION)
        return;
    if (word->why != NEIGHBOUR_FORBIDDEN || !n->out.lets_read) {
        decide(n, refusal_of(word->why));
        return;
    }
    close_file(&n->out.bell); /* what follows is said in the page */
    if (caller->is_own_user)  /* without Yama this fails, and nothing is lost */
        (void)prctl(PR_SET_PTRACER, (unsigned long)caller->pid, 0, 0, 0);
}

static void look_for_word(struct neighbour *n)
{
    struct caller caller;

    if (n->out.bell < 0 || !take_caller(n->out.bell, &caller))
        return;
    if (caller.bytes > 0)
        on_word(n, &caller);
    else if (atomic_load(&n->page->consent) == CONSENT_NONE)
        decide(n, NEIGHBOUR_ELSEWHERE);
    close_files(&caller);
}

/* Has it shown that it has the session's secret? */
static bool has_proven(const struct neighbour *n)
{
    uint64_t proof[NEIGHBOUR_PROOF / 8];

    for (int i = 0; i < NEIGHBOUR_PROOF / 8; i++)
        proof[i] = atomic_load(&n->page->proof[i]);
    return is_proof(n, BY_RECEIVER, n->out.nonce, (const uint8_t *)proof);
}

/* The receiver offers targets. The kernel has said who it is, and says now if it may be written to:
 * the right to read is the same. */
static bool may_push(struct neighbour *n)
{
    uint64_t nonce[NEIGHBOUR_NONCE / 8];

    for (int i = 0; i < NEIGHBOUR_NONCE / 8; i++)
        nonce[i] = atomic_load(&n->page->nonce[i]);
    memcpy(n->out.receiver_nonce, nonce, sizeof(nonce));
    n->out.receiver_nonce_at = atomic_load(&n->page->nonce_at);
    return neighbour_sees_receiver(n);
}

/* What the receiver says it can read of what there is. */
static void begin(struct neighbour *n)
{
    uint32_t sight = atomic_load(&n->page->sight);
    uint32_t possible = SIGHT_MEMORY | (n->own != NULL ? SIGHT_COMMONS : 0U);

    n->out.sight = sight & possible;
    atomic_store(&n->out.may_push, (sight & SIGHT_TARGETS) && may_push(n));
    decide(n, n->out.sight != 0 && has_proven(n) ? NEIGHBOUR_FINE : NEIGHBOUR_FALSE);
}

static void look_for_consent(struct neighbour *n)
{
    instant now = clock_now();
    uint32_t consent = atomic_load(&n->page->consent);

    if (consent == CONSENT_YES)
        begin(n);
    else if (consent != CONSENT_NONE)
        decide(n, refusal_of(atomic_load(&n->page->why)));
    else if (now - n->opened > ANSWER_BY)
        decide(n, NEIGHBOUR_ELSEWHERE);
    else if (is_time(n, now))
        look_for_word(n);
}

/* Has the receiver changed its mind? */
static void look_for_dissent(struct neighbour *n)
{
    if (atomic_load_explicit(&n->page->consent, memory_order_relaxed) != CONSENT_YES)
        decide(n, refusal_of(atomic_load(&n->page->why)));
}

enum neighbour_state neighbour_look(struct neighbour *n)
{
    if (atomic_load(&n->state) == NEIGHBOUR_MEETING && n->is_sender)
        look_for_consent(n);
    else if (atomic_load(&n->state) == NEIGHBOUR_MEETING)
        look_for_sender(n);
    return neighbour_state(n);
}

enum neighbour_state neighbour_state(struct neighbour *n)
{
    if (atomic_load(&n->state) == NEIGHBOUR_HERE && n->is_sender)
        look_for_dissent(n);
    return (enum neighbour_state)atomic_load(&n->state);
}

instant neighbour_look_at(const struct neighbour *n)
{
    if (atomic_load(&n->state) != NEIGHBOUR_MEETING)
        return NEVER;
    if (n->is_sender && atomic_load(&n->page->consent) != CONSENT_NONE)
        return n->looked;
    duration pause = (n->looked - n->opened) / LOOK_PART;
    return n->looked + (pause > LOOK_AGAIN ? pause : LOOK_AGAIN);
}

enum neighbour_refusal neighbour_why(const struct neighbour *n)
{
    return n->why;
}

bool neighbour_is_of(const struct neighbour *n, struct pairing pairing)
{
    return n->pairing.session == pairing.session && n->pairing.tag == pairing.tag;
}

void neighbour_free(struct neighbour *n)
{
    close_file(&n->in.door);
    close_file(&n->in.guest);
    close_file(&n->out.bell);
    close_file(&n->in.sender_file);
    sodium_memzero(n->secret, sizeof(n->secret));
    shared_file_unmap(n->page, sizeof(*n->page));
    sodium_memzero(n->out.nonce, sizeof(n->out.nonce));
    sodium_memzero(n->in.own_nonce, sizeof(n->in.own_nonce));
    shared_file_unmap(n->in.commons, n->in.commons_bytes);
    commons_let_go(n->own);
    memory_release(n, sizeof(*n));
}

/* The child has the descriptor, and not what was mapped. */
void neighbour_abandon(struct neighbour *n)
{
    n->page = NULL;
    n->in.commons = NULL;
    neighbour_free(n);
}
