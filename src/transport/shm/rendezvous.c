#include "rendezvous.h"

#include "core/number.h"

#include <errno.h>
#include <sodium/crypto_generichash.h>
#include <sodium/utils.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { NAME_BYTES = 16 };

/* ---- the socket ---- */

/* `sender` and `receiver` are the ends' ports. */
static socklen_t address_of(struct pairing pairing, uint16_t sender, uint16_t receiver,
                            const uint8_t *secret, struct sockaddr_un *at)
{
    const uint32_t of[] = {pairing.session, pairing.tag, sender, receiver};
    uint8_t hash[NAME_BYTES];
    char text[2 * NAME_BYTES + 1];

    (void)crypto_generichash(hash, sizeof(hash), (const unsigned char *)of, sizeof(of), secret,
                             secret != NULL ? SHM_SECRET : 0);
    (void)sodium_bin2hex(text, sizeof(text), hash, sizeof(hash));
    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(at->sun_path + 1, sizeof(at->sun_path) - 1, "zcrp-%s", text);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static uint16_t own_port(const struct channel *units)
{
    union address self = address_of_socket(units->fd);

    return address_port(&self);
}

int rendezvous_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

bool rendezvous_listen(int fd, const struct channel *units, struct pairing pairing,
                       const uint8_t *secret)
{
    struct sockaddr_un at;
    socklen_t size = address_of(pairing, address_port(&units->peer), own_port(units), secret, &at);

    return bind(fd, (const struct sockaddr *)&at, size) == 0 && listen(fd, RENDEZVOUS_CALLERS) == 0;
}

bool rendezvous_connect(int fd, const struct channel *units, struct pairing pairing,
                        const uint8_t *secret)
{
    struct sockaddr_un at;
    socklen_t size = address_of(pairing, own_port(units), address_port(&units->peer), secret, &at);

    return connect(fd, (const struct sockaddr *)&at, size) == 0;
}

int rendezvous_accept(int fd)
{
    return accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

bool rendezvous_is_own_user(int fd, pid_t *pid)
{
    struct ucred who = {.pid = 0};
    socklen_t size = sizeof(who);

    *pid = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 ? who.pid : 0;
    return *pid > 0 && who.uid == geteuid();
}

/* ---- greeting ---- */

/* Neither the name nor another proof is a hash of as many bytes. */
static void prove_processes(const uint8_t *secret, pid_t receiver, pid_t sender,
                            uint8_t proof[RENDEZVOUS_PROOF])
{
    const uint32_t of[] = {(uint32_t)receiver, (uint32_t)sender};

    (void)crypto_generichash(proof, RENDEZVOUS_PROOF, (const unsigned char *)of, sizeof(of), secret,
                             SHM_SECRET);
}

bool rendezvous_greet(int fd, const uint8_t *secret)
{
    struct greeting_message m = {.version = RENDEZVOUS_VERSION};
    pid_t sender;

    if (!rendezvous_is_own_user(fd, &sender))
        return false;
    prove_processes(secret, getpid(), sender, m.proof);
    (void)send(fd, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL);
    return true;
}

bool rendezvous_is_greeting(const struct rendezvous_arrival *a, const uint8_t *secret)
{
    const struct greeting_message *m = &a->says.greeting;
    uint8_t good[RENDEZVOUS_PROOF];

    prove_processes(secret, a->pid, getpid(), good);
    return a->is_own_user && a->bytes == (ssize_t)sizeof(*m) && m->version == RENDEZVOUS_VERSION &&
           sodium_memcmp(good, m->proof, sizeof(good)) == 0;
}

/* ---- messages ---- */

/* What a message has beside its bytes: files. */
union files {
    struct cmsghdr head;
    uint8_t room[CMSG_SPACE(RENDEZVOUS_FILES * sizeof(int))];
};

bool rendezvous_hand_in(int fd, const struct connect_message *m, const int *files, size_t count)
{
    size_t bytes = count * sizeof(int);
    union files beside = {.head = {.cmsg_len = (socklen_t)CMSG_LEN(bytes),
                                   .cmsg_level = SOL_SOCKET,
                                   .cmsg_type = SCM_RIGHTS}};
    struct iovec piece = {(void *)(uintptr_t)m, sizeof(*m)}; /* NOLINT: it is only read */
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};

    if (count > 0) {
        memcpy(CMSG_DATA(&beside.head), files, bytes);
        message.msg_control = &beside;
        message.msg_controllen = (socklen_t)CMSG_SPACE(bytes);
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(*m);
}

void rendezvous_refuse(int fd, uint32_t why)
{
    const struct refusal_message m = {.version = RENDEZVOUS_VERSION, .why = why};

    (void)send(fd, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* There is room for all that is kept: the kernel closes the others. */
static void take_files(struct msghdr *message, struct rendezvous_arrival *a)
{
    struct cmsghdr *beside = CMSG_FIRSTHDR(message);

    if (beside != NULL && beside->cmsg_level == SOL_SOCKET && beside->cmsg_type == SCM_RIGHTS)
        memcpy(a->file, CMSG_DATA(beside), lesser(beside->cmsg_len - CMSG_LEN(0), sizeof(a->file)));
}

bool rendezvous_take(int fd, struct rendezvous_arrival *a)
{
    union files beside;
    struct iovec piece = {&a->says, sizeof(a->says)};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &beside,
                             .msg_controllen = sizeof(beside.room)};

    *a = (struct rendezvous_arrival){.file = {-1, -1}};
    a->bytes = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (a->bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (a->bytes >= 0)
        take_files(&message, a); /* also of a message without a byte, to be closed */
    if (a->bytes <= 0) {
        a->bytes = 0;
        return true;
    }
    a->is_own_user = rendezvous_is_own_user(fd, &a->pid);
    a->is_truncated = message.msg_flags & MSG_CTRUNC;
    return true;
}

void rendezvous_close(struct rendezvous_arrival *a)
{
    for (int i = 0; i < RENDEZVOUS_FILES; i++)
        if (a->file[i] >= 0)
            (void)close(a->file[i]);
}

/* ---- the secret ---- */

void rendezvous_prove(const uint8_t *secret, enum prover by, const uint8_t nonce[PEER_NONCE],
                      uint8_t proof[RENDEZVOUS_PROOF])
{
    uint8_t text[1 + PEER_NONCE] = {(uint8_t)by};

    memset(proof, 0, RENDEZVOUS_PROOF);
    memcpy(text + 1, nonce, PEER_NONCE);
    if (secret != NULL)
        (void)crypto_generichash(proof, RENDEZVOUS_PROOF, text, sizeof(text), secret, SHM_SECRET);
}

bool rendezvous_is_proof(const uint8_t *secret, enum prover by, const uint8_t nonce[PEER_NONCE],
                         const uint8_t proof[RENDEZVOUS_PROOF])
{
    uint8_t good[RENDEZVOUS_PROOF];

    rendezvous_prove(secret, by, nonce, good);
    return sodium_memcmp(good, proof, sizeof(good)) == 0;
}
