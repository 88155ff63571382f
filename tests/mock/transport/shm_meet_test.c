/* wrap: cells_take memfd_create ftruncate fcntl fstat mmap process_vm_readv */
/* wrap: socket getsockopt bind listen connect sendmsg recvmsg prctl */
/* How two ends meet, over the real kernel, one call of which fails or says something else.
 * However it ends, no descriptor and no mapping is left. */
#include "../../support/shm_pair.h"

#include "../../support/mock.h"
#include "../../support/own.h"
#include "platform/system.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>

/* The calls of which one fails. */
enum call {
    MEMFD_CREATE,
    FTRUNCATE,
    ADD_SEALS,
    GET_SEALS,
    FSTAT,
    MMAP,
    CELLS,
    SOCKET,
    GETSOCKOPT,
    BIND,
    LISTEN,
    CONNECT,
    SENDMSG,
    RECVMSG,
    READV,
    PRCTL,
    CALLS,
};

static struct {
    int fails_at, error; /* the one call that fails; 0: none */
    enum call fails;
    int calls[CALLS];
    unsigned memfd_flags;   /* of the last memfd_create */
    bool knows_noexec;      /* the kernel knows MFD_NOEXEC_SEAL */
    off_t file_bytes;       /* 0: the real size */
    int seals_missing;      /* of those that F_GET_SEALS tells of */
    pid_t pid;              /* of who is at the other end; -1: the real one */
    uid_t uid_more;         /* what is added to its user */
    bool is_connecting;     /* these are for the receiver's eyes only, */
    bool is_strange_socket; /* or also for the sender's */
    bool has_lost_descriptor;
    bool sends_no_byte; /* with the descriptors */
    int descriptors;    /* of those that are handed in; 0: as it is */
    bool is_full;       /* this process has no room for what is handed in */
    void (*on_connect)(struct connect_message *message);
    bool has_yama;     /* nobody may read before the sender says who */
    int option;        /* of the last prctl, */
    unsigned long who; /* and its argument */
} kernel;

static struct shm_pair n;
static bool lets_read; /* the sender does */
static struct shm_terms sender_terms, receiver_terms;
static int descriptors_before;

/* Does this call fail? */
static bool fails(enum call call)
{
    if (++kernel.calls[call] != kernel.fails_at || kernel.fails != call)
        return false;
    errno = kernel.error;
    return true;
}

static void break_call(enum call call, int error)
{
    kernel.fails = call;
    kernel.fails_at = kernel.calls[call] + 1;
    kernel.error = error;
}

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags)
{
    kernel.memfd_flags = flags;
    if (fails(MEMFD_CREATE))
        return -1;
    if (!kernel.knows_noexec && flags & 8U) {
        errno = EINVAL;
        return -1;
    }
    return __real_memfd_create(name, flags & ~8U); /* this kernel may not know it */
}

int __real_ftruncate(int fd, off_t bytes);
int __wrap_ftruncate(int fd, off_t bytes)
{
    return fails(FTRUNCATE) ? -1 : __real_ftruncate(fd, bytes);
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...)
{
    va_list list;

    va_start(list, command);
    long value = va_arg(list, long);
    va_end(list);
    if (command == F_ADD_SEALS && fails(ADD_SEALS))
        return -1;
    if (command != F_GET_SEALS)
        return __real_fcntl(fd, command, value);
    return fails(GET_SEALS) ? -1 : __real_fcntl(fd, command) & ~kernel.seals_missing;
}

int __real_fstat(int fd, struct stat *file);
int __wrap_fstat(int fd, struct stat *file)
{
    if (fails(FSTAT))
        return -1;
    int result = __real_fstat(fd, file);
    if (kernel.file_bytes != 0)
        file->st_size = kernel.file_bytes;
    return result;
}

void *__real_mmap(void *at, size_t bytes, int access, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t bytes, int access, int flags, int fd, off_t from)
{
    return fails(MMAP) ? MAP_FAILED : __real_mmap(at, bytes, access, flags, fd, from);
}

void *__real_cells_take(void);
void *__wrap_cells_take(void)
{
    return fails(CELLS) ? NULL : __real_cells_take();
}

int __real_socket(int family, int type, int protocol);
int __wrap_socket(int family, int type, int protocol)
{
    return fails(SOCKET) ? -1 : __real_socket(family, type, protocol);
}

/* Who is at the other end of a socket? */
int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    struct ucred *who = value;
    int result = __real_getsockopt(fd, level, name, value, size);

    if (level != SOL_SOCKET || name != SO_PEERCRED)
        return result;
    if (fails(GETSOCKOPT))
        return -1;
    if (!kernel.is_connecting || kernel.is_strange_socket) {
        who->pid = kernel.pid >= 0 ? kernel.pid : who->pid;
        who->uid += kernel.uid_more;
    }
    return result;
}

int __real_listen(int fd, int callers);
int __wrap_listen(int fd, int callers)
{
    return fails(LISTEN) ? -1 : __real_listen(fd, callers);
}

int __real_connect(int fd, const struct sockaddr *at, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *at, socklen_t size)
{
    return fails(CONNECT) ? -1 : __real_connect(fd, at, size);
}

int __real_bind(int fd, const struct sockaddr *at, socklen_t size);
int __wrap_bind(int fd, const struct sockaddr *at, socklen_t size)
{
    return fails(BIND) ? -1 : __real_bind(fd, at, size);
}

/* Hands in the same descriptor several times. */
static ssize_t send_several(int fd, const struct msghdr *message, int flags)
{
    union {
        struct cmsghdr head;
        uint8_t room[CMSG_SPACE(8 * sizeof(int))];
    } notes = {.head = {.cmsg_len = CMSG_LEN((size_t)kernel.descriptors * sizeof(int)),
                        .cmsg_level = SOL_SOCKET,
                        .cmsg_type = SCM_RIGHTS}};
    struct msghdr several = *message;

    for (size_t i = 0; i < (size_t)kernel.descriptors; i++)
        memcpy(CMSG_DATA(&notes.head) + i * sizeof(int), CMSG_DATA(CMSG_FIRSTHDR(message)),
               sizeof(int));
    several.msg_control = &notes;
    several.msg_controllen = CMSG_SPACE((size_t)kernel.descriptors * sizeof(int));
    return sendmsg(fd, &several, flags | MSG_DONTWAIT);
}

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    if (fails(SENDMSG))
        return -1;
    if (kernel.on_connect != NULL)
        kernel.on_connect(message->msg_iov[0].iov_base);
    if (kernel.has_lost_descriptor) {
        struct msghdr bare = *message;
        bare.msg_control = NULL;
        bare.msg_controllen = 0;
        return __real_sendmsg(fd, &bare, flags);
    }
    if (kernel.sends_no_byte) {
        struct msghdr bare = *message;
        bare.msg_iovlen = 0;
        return __real_sendmsg(fd, &bare, flags) == 0 ? (ssize_t)message->msg_iov->iov_len : -1;
    }
    if (kernel.descriptors != 0 && flags & MSG_NOSIGNAL && !(flags & MSG_DONTWAIT))
        return send_several(fd, message, flags);
    return __real_sendmsg(fd, message, flags);
}

ssize_t __real_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    if (fails(RECVMSG))
        return -1;
    if (kernel.is_full) /* so the kernel drops them, and says that it did */
        message->msg_controllen = 0;
    return __real_recvmsg(fd, message, flags);
}

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long heres,
                                const struct iovec *there, unsigned long theres,
                                unsigned long flags)
{
    if (fails(READV))
        return -1;
    if (kernel.has_yama &&
        (kernel.option != PR_SET_PTRACER || kernel.who != (unsigned long)getpid()))
        return errno = EPERM, -1;
    return __real_process_vm_readv(pid, here, heres, there, theres, flags);
}

int __wrap_prctl(int option, ...)
{
    va_list list;

    va_start(list, option);
    kernel.who = va_arg(list, unsigned long);
    va_end(list);
    kernel.option = option;
    return fails(PRCTL) ? -1 : 0;
}

/* ---- what is left ---- */

static int pages_mapped(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    int count = 0;

    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps) != NULL)
        count += strstr(line, "memfd:zcrp") != NULL;
    (void)fclose(maps);
    return count;
}

static void setup(void)
{
    memset(&kernel, 0, sizeof(kernel));
    kernel.knows_noexec = true;
    kernel.pid = -1;
    lets_read = false;
    sender_terms = receiver_terms = shm_pair_terms;
    assert_true(shm_pair_open(&n));
    descriptors_before = own_descriptors();
}

static void free_both(void)
{
    if (n.sender != NULL)
        shm_free(n.sender);
    if (n.receiver != NULL)
        shm_free(n.receiver);
    n.sender = n.receiver = NULL;
}

static void teardown(void)
{
    free_both();
    assert_int_equal(own_descriptors(), descriptors_before);
    assert_int_equal(pages_mapped(), 0);
    shm_pair_close(&n);
}

FIXTURE(setup, teardown)

/* The receiver's end. */
static void begin_to_listen(void)
{
    assert_int_equal(shm_meet(&n.receiver, false, &n.in, &receiver_terms), SHM_FINE);
}

static enum shm_refusal connect_sender(void)
{
    struct shm_terms terms = sender_terms;

    terms.lets_read = lets_read;
    kernel.is_connecting = true;
    enum shm_refusal why = shm_meet(&n.sender, true, &n.out, &terms);
    kernel.is_connecting = false;

    assert_int_equal(why == SHM_FINE, n.sender != NULL);
    return why;
}

/* The socket stays open, with nothing of whoever has connected. */
static void expect_passed_over(void)
{
    begin_to_listen();
    assert_int_equal(connect_sender(), SHM_FINE);
    assert_int_equal(shm_look(n.receiver), SHM_MEETING);
    assert_int_equal(shm_look(n.sender), SHM_AWAY);
    assert_int_equal(shm_why(n.sender), SHM_ELSEWHERE);
    shm_free(n.sender);
    n.sender = NULL;
    assert_int_equal(own_descriptors(), descriptors_before + 1);
    assert_int_equal(pages_mapped(), 0);
}

/* It looks no sooner. */
static void wait_until_time(const struct shm *end)
{
    while (clock_now() < shm_look_at(end))
        usleep(10);
}

static void wait_until_over(struct shm *end)
{
    while (shm_look(end) == SHM_MEETING)
        usleep(10000);
}

/* The sender is told, and the socket stays open for another. In the end the receiver knows, too. */
static void expect_strangers(void)
{
    begin_to_listen();
    assert_int_equal(connect_sender(), SHM_FINE);
    assert_int_equal(shm_look(n.receiver), SHM_MEETING);
    assert_int_equal(shm_look(n.sender), SHM_AWAY);
    assert_int_equal(shm_why(n.sender), SHM_STRANGER);
    shm_free(n.sender);
    n.sender = NULL;
    assert_int_equal(own_descriptors(), descriptors_before + 1);
}

/* Both know. */
static void expect_refused(enum shm_refusal why)
{
    begin_to_listen();
    assert_int_equal(connect_sender(), SHM_FINE);
    assert_int_equal(shm_look(n.receiver), SHM_AWAY);
    assert_int_equal(shm_why(n.receiver), why);
    assert_int_equal(shm_look(n.sender), SHM_AWAY);
    assert_int_equal(shm_why(n.sender), why);
    assert_int_equal(own_descriptors(), descriptors_before);
    assert_int_equal(kernel.calls[PRCTL], 0);
}

TEST(shm_meet__nothing_fails)
{
    assert_true(shm_pair_meet(&n));
    assert_int_equal(kernel.memfd_flags & 8U, 8U);
    assert_int_equal(own_descriptors(), descriptors_before); /* neither keeps one */
    assert_int_equal(pages_mapped(), 2);
}

/* ---- connecting ---- */

TEST(shm_connect__kernel_without_noexec)
{
    kernel.knows_noexec = false;
    assert_true(shm_pair_meet(&n));
    assert_int_equal(kernel.calls[MEMFD_CREATE], 2);
    assert_int_equal(kernel.memfd_flags, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

TEST(shm_connect__limits)
{
    static const struct {
        enum call call;
        int error;
    } row[] = {
        {MEMFD_CREATE, EMFILE}, {MEMFD_CREATE, ENOSYS}, {FTRUNCATE, ENOSPC},
        {ADD_SEALS, EPERM},     {MMAP, ENOMEM},         {SOCKET, EMFILE},
    };

    begin_to_listen();
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        break_call(row[i].call, row[i].error);
        assert_int_equal(connect_sender(), SHM_LIMITED);
        assert_int_equal(own_descriptors(), descriptors_before + 1);
        assert_int_equal(pages_mapped(), 0);
    }
    assert_int_equal(kernel.calls[SENDMSG], 0);
}

static void set_file_limit(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A file that is larger than the limit would end the process. */
TEST(shm_connect__file_limit)
{
    begin_to_listen();
    set_file_limit(sizeof(struct shm_page) - 1);
    enum shm_refusal below = connect_sender();
    set_file_limit(sizeof(struct shm_page));
    enum shm_refusal at = connect_sender();
    set_file_limit(RLIM_INFINITY);
    assert_int_equal(below, SHM_LIMITED);
    assert_int_equal(at, SHM_FINE);
    assert_int_equal(kernel.calls[FTRUNCATE], 1);
}

TEST(shm_connect__nobody_opens)
{
    static const int errors[] = {ECONNREFUSED, EAGAIN, EPERM, ETOOMANYREFS};

    begin_to_listen();
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        break_call(i % 2 == 0 ? SENDMSG : CONNECT, errors[i]);
        assert_int_equal(connect_sender(), SHM_ELSEWHERE);
        assert_int_equal(pages_mapped(), 0);
    }
}

/* ---- listening ---- */

TEST(shm_listen__limits)
{
    static const struct {
        enum call call;
        int error;
    } row[] = {{CELLS, ENOMEM}, {SOCKET, EMFILE}, {BIND, EADDRINUSE}, {LISTEN, EADDRINUSE}};

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        break_call(row[i].call, row[i].error);
        assert_int_equal(shm_meet(&n.receiver, false, &n.in, &shm_pair_terms), SHM_LIMITED);
        assert_null(n.receiver);
        assert_int_equal(own_descriptors(), descriptors_before);
    }
}

TEST(shm_look__interrupted)
{
    begin_to_listen();
    assert_int_equal(connect_sender(), SHM_FINE);
    break_call(RECVMSG, EINTR);
    assert_int_equal(shm_look(n.receiver), SHM_MEETING);
    wait_until_time(n.receiver);
    assert_int_equal(shm_look(n.receiver), SHM_HERE);
}

/* A peer that cannot come yet may take any time; then it finds this end as if that had just begun.
 */
TEST(shm_put_off__for_longer_than_it_is_open)
{
    begin_to_listen();
    shm_put_off(n.receiver, true);
    for (instant end = clock_now() + 5 * SECOND / 4; clock_now() < end; usleep(10000)) {
        assert_int_equal(shm_look(n.receiver), SHM_MEETING);
        assert_true(shm_look_at(n.receiver) <= clock_now() + SECOND / 8);
    }
    shm_put_off(n.receiver, false);
    wait_until_time(n.receiver);
    assert_int_equal(shm_look(n.receiver), SHM_MEETING);
    assert_int_equal(connect_sender(), SHM_FINE);
    wait_until_time(n.receiver);
    assert_int_equal(shm_look(n.receiver), SHM_HERE);
}

TEST(shm_look__another_user)
{
    kernel.uid_more = 1;
    expect_strangers();
    kernel.uid_more = 0;
    assert_int_equal(connect_sender(), SHM_FINE); /* it is still open for the sender */
    wait_until_time(n.receiver);
    assert_int_equal(shm_look(n.receiver), SHM_HERE);
}

TEST(shm_look__only_another_user)
{
    kernel.uid_more = 1;
    expect_strangers();
    wait_until_over(n.receiver);
    assert_int_equal(shm_why(n.receiver), SHM_STRANGER);
}

/* A process in another namespace, which this one cannot name. */
TEST(shm_look__process_without_a_number)
{
    kernel.pid = 0;
    expect_strangers();
}

TEST(shm_look__nobody_says_who)
{
    begin_to_listen();
    assert_int_equal(connect_sender(), SHM_FINE);
    break_call(GETSOCKOPT, EPERM);
    assert_int_equal(shm_look(n.receiver), SHM_MEETING);
    assert_int_equal(shm_look(n.sender), SHM_AWAY);
    assert_int_equal(shm_why(n.sender), SHM_STRANGER);
}

/* The table of descriptors is full, so the kernel hands none out. */
TEST(shm_look__no_room_for_the_descriptor)
{
    kernel.is_full = true;
    expect_refused(SHM_LIMITED);
}

TEST(shm_look__no_descriptor)
{
    kernel.has_lost_descriptor = true;
    expect_passed_over();
}

static void change_version(struct connect_message *message)
{
    message->version++;
}

static void change_size(struct connect_message *message)
{
    message->page_bytes--;
}

static void change_session(struct connect_message *message)
{
    message->pairing.session++;
}

static void change_tag(struct connect_message *message)
{
    message->pairing.tag++;
}

TEST(shm_look__another_message)
{
    void (*const change[])(struct connect_message *) = {change_version, change_size, change_session,
                                                        change_tag};

    for (size_t i = 0; i < sizeof(change) / sizeof(change[0]); i++) {
        kernel.on_connect = change[i];
        expect_passed_over();
        free_both();
    }
}

/* Whoever hands in many descriptors does not fill the table of this process. */
TEST(shm_look__many_descriptors)
{
    for (kernel.descriptors = 2; kernel.descriptors <= 8; kernel.descriptors++) {
        begin_to_listen();
        assert_int_equal(connect_sender(), SHM_FINE);
        (void)shm_look(n.receiver);
        free_both();
        assert_int_equal(own_descriptors(), descriptors_before);
    }
}

/* Nor does one whose message has no byte. */
TEST(shm_look__descriptors_without_a_byte)
{
    kernel.sends_no_byte = true;
    begin_to_listen();
    (void)connect_sender();
    (void)shm_look(n.receiver);
    free_both();
    assert_int_equal(own_descriptors(), descriptors_before);
}

/* ---- admitting ---- */

TEST(shm_look__seals)
{
    static const int seals[] = {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL};

    for (size_t i = 0; i < sizeof(seals) / sizeof(seals[0]); i++) {
        kernel.seals_missing = seals[i];
        expect_refused(SHM_FALSE);
        assert_int_equal(pages_mapped(), 1); /* the sender's */
        free_both();
    }
}

TEST(shm_look__not_a_memfd)
{
    break_call(GET_SEALS, EINVAL);
    expect_refused(SHM_FALSE);
}

TEST(shm_look__file_of_another_size)
{
    static const off_t bytes[] = {1, sizeof(struct shm_page) - 1, sizeof(struct shm_page) + 1,
                                  INT64_MAX};

    for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
        kernel.file_bytes = bytes[i];
        expect_refused(SHM_FALSE);
        free_both();
    }
    kernel.file_bytes = 0;
    break_call(FSTAT, EOVERFLOW);
    expect_refused(SHM_FALSE);
}

TEST(shm_look__cannot_map)
{
    begin_to_listen();
    assert_int_equal(connect_sender(), SHM_FINE);
    break_call(MMAP, ENOMEM);
    assert_int_equal(shm_look(n.receiver), SHM_AWAY);
    assert_int_equal(shm_why(n.receiver), SHM_LIMITED);
    assert_int_equal(shm_look(n.sender), SHM_AWAY);
    assert_int_equal(shm_why(n.sender), SHM_LIMITED);
}

TEST(shm_look__may_not_read)
{
    static const int errors[] = {EPERM, ENOSYS, ESRCH};

    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        break_call(READV, errors[i]);
        expect_refused(SHM_FORBIDDEN);
        free_both();
    }
}

static void change_nonce(struct connect_message *message)
{
    message->nonce[PEER_NONCE - 1] ^= 1;
}

static void change_place_of_nonce(struct connect_message *message)
{
    message->nonce_at = 8;
}

TEST(shm_look__nonce)
{
    kernel.on_connect = change_nonce;
    expect_refused(SHM_FALSE);
    free_both();
    kernel.on_connect = change_place_of_nonce;
    expect_refused(SHM_FORBIDDEN);
}

/* ---- a sender that lets the receiver read ---- */

/* It asks the kernel for no more than it has to. */
TEST(shm_lets_read__nobody_forbids)
{
    lets_read = true;
    begin_to_listen();
    assert_int_equal(connect_sender(), SHM_FINE);
    assert_int_equal(shm_look(n.receiver), SHM_HERE);
    assert_int_equal(shm_look(n.sender), SHM_HERE);
    assert_int_equal(kernel.calls[PRCTL], 0);
}

TEST(shm_lets_read__not_asked_for)
{
    kernel.has_yama = true;
    expect_refused(SHM_FORBIDDEN);
}

static void connect_at_yama(void)
{
    kernel.has_yama = lets_read = true;
    begin_to_listen();
    assert_int_equal(connect_sender(), SHM_FINE);
    assert_int_equal(shm_look(n.receiver), SHM_MEETING);
}

TEST(shm_lets_read__yama)
{
    connect_at_yama();
    assert_int_equal(shm_look(n.sender), SHM_MEETING);
    assert_int_equal(kernel.calls[PRCTL], 1);
    wait_until_time(n.receiver);
    assert_int_equal(shm_look(n.receiver), SHM_HERE);
    assert_int_equal(shm_look(n.sender), SHM_HERE);
    assert_int_equal(own_descriptors(), descriptors_before);
}

/* The kernel says which process it is, and that must be of the sender's user. */
TEST(shm_lets_read__another_user)
{
    connect_at_yama();
    kernel.uid_more = 1;
    assert_int_equal(shm_look(n.sender), SHM_MEETING);
    assert_int_equal(kernel.calls[PRCTL], 0);
}

TEST(shm_lets_read__process_without_a_number)
{
    connect_at_yama();
    kernel.pid = 0;
    assert_int_equal(shm_look(n.sender), SHM_MEETING);
    assert_int_equal(kernel.calls[PRCTL], 0);
}

/* There is no Yama, but something else forbids it. */
TEST(shm_lets_read__in_vain)
{
    connect_at_yama();
    break_call(PRCTL, EINVAL);
    assert_int_equal(shm_look(n.sender), SHM_MEETING);
    kernel.option = 0;
    wait_until_over(n.receiver);
    assert_int_equal(shm_why(n.receiver), SHM_FORBIDDEN);
    assert_int_equal(shm_look(n.sender), SHM_AWAY);
    assert_int_equal(shm_why(n.sender), SHM_FORBIDDEN);
    assert_int_equal(kernel.calls[PRCTL], 1);
    assert_int_equal(own_descriptors(), descriptors_before);
}

/* ---- a sender that has given up ---- */

/* As if the meeting had begun earlier. */
static void put_back(struct shm *end, duration by)
{
    end->meeting->began -= by;
}

/* The sender gives up, and the receiver, which may read now, learns of it. */
static void expect_both_away(void)
{
    assert_int_equal(shm_look(n.sender), SHM_AWAY);
    assert_int_equal(shm_why(n.sender), SHM_ELSEWHERE);
    wait_until_time(n.receiver);
    assert_int_equal(shm_look(n.receiver), SHM_AWAY);
    assert_int_equal(shm_why(n.receiver), SHM_ELSEWHERE);
}

/* Nobody has looked for so long that the sender waits no more. */
TEST(shm_consent__too_late)
{
    connect_at_yama();
    put_back(n.sender, 3 * SECOND);
    kernel.has_yama = false;
    expect_both_away();
}

TEST(shm_consent__too_late_to_an_arena)
{
    n.arena[0] = sender_terms.own = shared_arena_create(2 * SHM_STAGING);
    connect_at_yama();
    put_back(n.sender, 3 * SECOND);
    put_back(n.receiver, 2 * SECOND);
    kernel.has_yama = false;
    break_call(READV, EPERM);
    expect_both_away();
    free_both();
    shared_arena_let_go(n.arena[0]);
    n.arena[0] = NULL;
}

/* The question whether it may read was lost, and the receiver has closed its socket. */
TEST(shm_consent__to_a_sender_that_was_not_asked)
{
    struct refusal_message lost;

    connect_at_yama();
    assert_int_equal(recv(n.sender->meeting->socket, &lost, sizeof(lost), 0), sizeof(lost));
    kernel.has_yama = false;
    expect_both_away();
}

/* What the receiver knows better it goes on saying. */
TEST(shm_refuse__too_late)
{
    connect_at_yama();
    put_back(n.sender, 3 * SECOND);
    put_back(n.receiver, 2 * SECOND);
    assert_int_equal(shm_look(n.sender), SHM_AWAY);
    assert_int_equal(shm_why(n.sender), SHM_ELSEWHERE);
    wait_until_time(n.receiver);
    assert_int_equal(shm_look(n.receiver), SHM_AWAY);
    assert_int_equal(shm_why(n.receiver), SHM_FORBIDDEN);
}

/* The sender has not looked for long, but the receiver has consented before. */
TEST(shm_consent__found_late)
{
    begin_to_listen();
    assert_int_equal(connect_sender(), SHM_FINE);
    assert_int_equal(shm_look(n.receiver), SHM_HERE);
    put_back(n.sender, 3 * SECOND);
    assert_int_equal(shm_look(n.sender), SHM_HERE);
    assert_int_equal(shm_look(n.receiver), SHM_HERE);
}

/* ---- a socket of somebody else's ---- */

/* The receiver's socket has closed, and somebody who saw its name listens there. */
static int listen_there(void)
{
    struct sockaddr_un at;
    socklen_t size = sizeof(at);

    begin_to_listen();
    assert_int_equal(getsockname(n.receiver->meeting->socket, (struct sockaddr *)&at, &size), 0);
    shm_free(n.receiver);
    n.receiver = NULL;
    int fd = __real_socket(AF_UNIX, SOCK_SEQPACKET, 0);
    assert_int_equal(__real_bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(__real_listen(fd, 1), 0);
    return fd;
}

/* Another user is handed nothing: no file, no address, no nonce. */
TEST(shm_meet__at_a_socket_of_another_user)
{
    struct connect_message heard;
    union {
        struct cmsghdr head;
        uint8_t room[CMSG_SPACE(2 * sizeof(int))];
    } notes;
    struct iovec piece = {&heard, sizeof(heard)};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &notes,
                             .msg_controllen = sizeof(notes.room)};
    int listening = listen_there();

    kernel.is_strange_socket = true;
    kernel.uid_more = 1;
    assert_int_equal(connect_sender(), SHM_STRANGER);
    int fd = accept(listening, NULL, NULL);
    assert_int_equal(__real_recvmsg(fd, &message, 0), sizeof(heard));
    assert_int_equal(message.msg_controllen, 0);
    assert_int_equal(heard.page, 0);
    assert_int_equal(heard.nonce_at, 0);
    assert_int_equal(heard.arena_bytes, 0);
    assert_int_equal(kernel.calls[MEMFD_CREATE], 0);
    (void)close(fd);
    (void)close(listening);
}

/* The receiver hears of it, too. */
TEST(shm_connect__in_vain)
{
    begin_to_listen();
    kernel.is_strange_socket = true;
    kernel.uid_more = 1;
    assert_int_equal(connect_sender(), SHM_STRANGER);
    wait_until_over(n.receiver);
    assert_int_equal(shm_why(n.receiver), SHM_STRANGER);
}

/* Words that are none are not heard. */
TEST(shm_lets_read__refusals_that_are_none)
{
    const struct refusal_message refusals[] = {
        {.version = RENDEZVOUS_VERSION, .why = SHM_STRANGER},
        {.version = RENDEZVOUS_VERSION + 1, .why = SHM_STRANGER},
    };
    int listening = listen_there();

    lets_read = true;
    assert_int_equal(connect_sender(), SHM_FINE);
    int fd = accept(listening, NULL, NULL);
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        size_t bytes = sizeof(refusals[i]) - (i == 0);
        assert_int_equal(send(fd, &refusals[i], bytes, 0), bytes);
        wait_until_time(n.sender);
        assert_int_equal(shm_look(n.sender), SHM_MEETING);
    }
    (void)close(fd);
    (void)close(listening);
    assert_int_equal(kernel.calls[PRCTL], 0);
}

/* Who comes first and says nothing does not keep the others out. */
TEST(shm_look__silent_callers)
{
    struct sockaddr_un at;
    socklen_t size = sizeof(at);
    int fd[4];

    begin_to_listen();
    assert_int_equal(getsockname(n.receiver->meeting->socket, (struct sockaddr *)&at, &size), 0);
    for (int i = 0; i < 4; i++) {
        fd[i] = __real_socket(AF_UNIX, SOCK_SEQPACKET, 0);
        assert_int_equal(__real_connect(fd[i], (struct sockaddr *)&at, size), 0);
    }
    assert_int_equal(shm_look(n.receiver), SHM_MEETING);
    assert_int_equal(connect_sender(), SHM_FINE);
    wait_until_time(n.receiver);
    assert_int_equal(shm_look(n.receiver), SHM_HERE);
    assert_int_equal(shm_look(n.sender), SHM_HERE);
    for (int i = 0; i < 4; i++)
        (void)close(fd[i]);
    assert_int_equal(own_descriptors(), descriptors_before);
}

/* ---- with keys ---- */

static const uint8_t secret[SHM_SECRET] = {1, 2, 3}, other_secret[SHM_SECRET] = {4};

/* The receiver has greeted who has connected, and that has handed in. */
static void meet_with_secret(void)
{
    sender_terms.secret = receiver_terms.secret = secret;
    begin_to_listen();
    assert_int_equal(connect_sender(), SHM_FINE);
    assert_null(n.sender->page);
    assert_int_equal(shm_look(n.receiver), SHM_MEETING);
    assert_int_equal(shm_look(n.sender), SHM_MEETING);
    assert_non_null(n.sender->page);
    wait_until_time(n.receiver);
}

TEST(shm_secret__both_have_it)
{
    meet_with_secret();
    assert_int_equal(shm_look(n.receiver), SHM_HERE);
    assert_int_equal(shm_look(n.sender), SHM_HERE);
    assert_int_equal(own_descriptors(), descriptors_before);
}

/* Each end has the other one woken when that has something to hear. */
TEST(shm_secret__wakes_the_other)
{
    sender_terms.secret = receiver_terms.secret = secret;
    begin_to_listen();
    assert_int_equal(connect_sender(), SHM_FINE);
    assert_int_equal(shm_look(n.sender), SHM_MEETING);
    assert_false(shm_must_wake(n.sender));
    assert_int_equal(shm_look(n.receiver), SHM_MEETING);
    assert_true(shm_must_wake(n.receiver));
    wait_until_time(n.sender);
    assert_int_equal(shm_look(n.sender), SHM_MEETING);
    assert_true(shm_must_wake(n.sender));
    assert_false(shm_must_wake(n.sender));
}

/* Nothing can be handed in any more. */
TEST(shm_secret__limits)
{
    sender_terms.secret = receiver_terms.secret = secret;
    begin_to_listen();
    assert_int_equal(connect_sender(), SHM_FINE);
    assert_int_equal(shm_look(n.receiver), SHM_MEETING);
    break_call(MEMFD_CREATE, EMFILE);
    assert_int_equal(shm_look(n.sender), SHM_AWAY);
    assert_int_equal(shm_why(n.sender), SHM_LIMITED);
}

/* Nobody greets. */
TEST(shm_secret__nobody_greets)
{
    sender_terms.secret = receiver_terms.secret = secret;
    begin_to_listen();
    assert_int_equal(connect_sender(), SHM_FINE);
    shm_free(n.receiver);
    n.receiver = NULL;
    assert_int_equal(shm_look(n.sender), SHM_AWAY);
    assert_int_equal(shm_why(n.sender), SHM_ELSEWHERE);
}

/* The receiver takes the sender for a stranger, which the sender does not know. */
TEST(shm_secret__another_user)
{
    sender_terms.secret = receiver_terms.secret = secret;
    kernel.uid_more = 1;
    begin_to_listen();
    assert_int_equal(connect_sender(), SHM_FINE);
    assert_int_equal(shm_look(n.receiver), SHM_MEETING);
    assert_int_equal(shm_look(n.sender), SHM_AWAY);
    assert_int_equal(shm_why(n.sender), SHM_STRANGER);
    assert_int_equal(kernel.calls[MEMFD_CREATE], 0);
    wait_until_over(n.receiver);
    assert_int_equal(shm_why(n.receiver), SHM_STRANGER);
}

/* An end without the secret does not find the socket. */
TEST(shm_secret__only_one_has_it)
{
    const uint8_t *const secrets[][2] = {{NULL, secret}, {secret, NULL}, {other_secret, secret}};

    for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
        sender_terms.secret = secrets[i][0];
        receiver_terms.secret = secrets[i][1];
        begin_to_listen();
        assert_int_equal(connect_sender(), SHM_ELSEWHERE);
        free_both();
    }
}

static void change_proof(struct connect_message *message)
{
    message->proof[RENDEZVOUS_PROOF - 1] ^= 1;
}

/* Nor does it help to see its name. */
TEST(shm_secret__a_message_without_proof)
{
    kernel.on_connect = change_proof;
    meet_with_secret();
    assert_int_equal(shm_look(n.receiver), SHM_MEETING);
    wait_until_over(n.sender);
    assert_int_equal(shm_why(n.sender), SHM_ELSEWHERE);
}

TEST(shm_secret__a_consent_without_proof)
{
    meet_with_secret();
    atomic_store(&n.sender->page->sight, SIGHT_MEMORY);
    atomic_store(&n.sender->page->consent, CONSENT_YES);
    assert_int_equal(shm_look(n.sender), SHM_AWAY);
    assert_int_equal(shm_why(n.sender), SHM_FALSE);
}

/* A process of the same user, which took the socket's name when it was free, is handed nothing, and
 * is not let read. */
TEST(shm_secret__at_a_socket_of_an_impostor)
{
    const struct refusal_message refusal = {.version = RENDEZVOUS_VERSION, .why = SHM_FORBIDDEN};
    struct connect_message heard;

    sender_terms.secret = receiver_terms.secret = secret;
    lets_read = true;
    int listening = listen_there();
    assert_int_equal(connect_sender(), SHM_FINE);
    int fd = accept(listening, NULL, NULL);
    assert_int_equal(recv(fd, &heard, sizeof(heard), MSG_DONTWAIT), -1);
    assert_int_equal(send(fd, &refusal, sizeof(refusal), 0), sizeof(refusal));
    assert_int_equal(shm_look(n.sender), SHM_AWAY);
    assert_int_equal(shm_why(n.sender), SHM_FORBIDDEN);
    assert_int_equal(kernel.calls[MEMFD_CREATE], 0);
    assert_int_equal(kernel.calls[PRCTL], 0);
    (void)close(fd);
    (void)close(listening);
}

/* Nor if it has been greeted itself: a greeting names both processes. */
TEST(shm_secret__a_greeting_for_another_process)
{
    sender_terms.secret = receiver_terms.secret = secret;
    begin_to_listen();
    assert_int_equal(connect_sender(), SHM_FINE);
    assert_int_equal(shm_look(n.receiver), SHM_MEETING);
    kernel.pid = getpid() + 1;
    assert_int_equal(shm_look(n.sender), SHM_AWAY);
    assert_int_equal(shm_why(n.sender), SHM_FALSE);
    assert_int_equal(kernel.calls[MEMFD_CREATE], 0);
}

/* ---- a receiver that may not read any more ---- */

TEST(shm_look__may_not_read_any_more)
{
    assert_true(shm_pair_meet(&n));
    static uint8_t from[8192], to[8192];
    uint32_t sent;
    bool held, wakes;

    shm_pair_fill(&n.burst, 1, from, 1, sizeof(from));
    assert_int_equal(shm_send(n.sender, &n.burst, &sent, &held, &wakes), CHANNEL_OK);
    shm_pair_plan(&n.landing, to, 1, 1, sizeof(to));
    break_call(READV, EPERM);
    assert_int_equal(shm_receive(n.receiver, &n.landing), 1);
    assert_int_equal(n.landing.bytes[0], 0);
    assert_int_equal(shm_receive(n.receiver, &n.landing), 0); /* nothing is left */
    assert_int_equal(shm_look(n.receiver), SHM_AWAY);
    assert_int_equal(shm_why(n.receiver), SHM_FORBIDDEN);
    assert_int_equal(shm_look(n.sender), SHM_AWAY);
    assert_int_equal(shm_why(n.sender), SHM_FORBIDDEN);
}
