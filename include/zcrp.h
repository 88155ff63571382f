/* SPDX-License-Identifier: MIT */
/* libzcrp: ZCRP, the zero-copying, block-acknowledging, receiver-initiated message protocol
 * (Aalborg 1998), over UDP, shared memory, and AAL5. It adds no copy to the kernel's own.
 *
 * A sender sends messages; a receiver posts buffers. The n-th message sent lands in the n-th
 * buffer posted, in place: every unit on the wire says what comes next, so that the kernel is told
 * where the data belongs before it arrives.
 *
 *     zcrp_listen(&l, NULL, "7000", &options);        zcrp_connect(&c, host, "7000", &options, -1);
 *     zcrp_accept(l, &c, -1);
 *     m = zcrp_alloc_msg(size);                       m = zcrp_alloc_msg(size);
 *     zcrp_submit(zcrp_connection_receiver(c), m,     fill(m->buffer);
 *                 size);                              zcrp_submit(zcrp_connection_sender(c), m,
 *     ... compute ...                                             size);
 *     zcrp_wait_for(m, -1);                           ... compute ...
 *     use(m->buffer, m->length);                      zcrp_wait_for(m, -1);
 *
 * New programs use connections and listeners, queues and keys, which follow below. The first part
 * of this header is the API of the paper: one sender and one receiver a process.
 *
 * Ownership. From a successful zcrp_send, zcrp_rcv or zcrp_submit until wait, probe or collect says
 * that the message has ended, its buffer belongs to the library: do not read what is being
 * received, do not change what is being sent. Afterwards the library neither reads nor writes a
 * byte of it, however the message ended and whatever the peer does. (On one host, a copy that the
 * peer's process is making may still read it; the library discards that copy.) The buffer of a
 * message that failed on receive may hold anything.
 *
 * Errors. There are three kinds, never mixed. A caller's mistake is a code from the call, and
 * zcrp_explain says which mistake. A failed message carries a code, see zcrp_error. Network faults
 * are repaired and counted, see zcrp_stats.
 *
 * Threads. Every function may be called from any thread at any time, but: one message must not be
 * given to two calls at once, other than wait, probe, error and cancel; an entity must not be used
 * during or after its close; and in a signal handler only zcrp_interrupt,
 * zcrp_connection_interrupt, zcrp_listener_interrupt and zcrp_queue_interrupt may be called. The
 * library installs no signal handler, prints nothing and never exits, unless an invariant of its
 * own is broken: then it prints that to standard error and aborts.
 *
 * Forks. A child may open entities of its own; with the paper's API it has to close its parent's
 * first. It may close its parent's entities: that frees the child's copies and tells the
 * peer nothing. Any other call with an entity of the parent, or with a message that the parent has
 * in flight, fails with ZCRP_ERROR_FORKED. There are four exceptions: zcrp_probe and zcrp_wait_any
 * say that such a message has ended, zcrp_collect returns NULL, and zcrp_connection_alloc_msg makes
 * an ordinary message.
 *
 * Strangers. The library drops and counts the datagrams of a stranger that cannot read the path. A
 * stranger that can read it is kept out by keys, if both ends have some (see "Keys").
 * docs/security.md says what such a stranger can do without keys.
 *
 * Compatibility. C11 and C++. Linux. */
#ifndef ZCRP_H
#define ZCRP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ZCRP_PUBLIC __attribute__((visibility("default")))
#define ZCRP_MUST_USE __attribute__((warn_unused_result))
#else
#define ZCRP_PUBLIC
#define ZCRP_MUST_USE
#endif

/* The version of this header: major x 10,000 + minor x 100 + patch. */
#define ZCRP_VERSION 300
#define ZCRP_VERSION_TEXT "0.3.0"

/* The version of the library in use, as ZCRP_VERSION counts. A program that was built with an older
 * header goes on working with a newer library of the same soname: structs only grow at their end,
 * and the calls that take a struct tell the library how large the program's is. The soname has the
 * major and minor version until 1.0 (libzcrp.so.0.3), and the major version from then on. */
ZCRP_PUBLIC int zcrp_version(void);

typedef uint8_t nbyte;
typedef uint64_t nlong;

/* A message: a buffer and what is known of it. The library makes it (zcrp_alloc_msg, zcrp_wrap_msg,
 * zcrp_wrap_iov, ...). */
struct zcrp_msg {
    nbyte *buffer;      /* the message's bytes; NULL if they lie in several pieces */
    nlong message_size; /* bytes that may be sent from or received into `buffer` */
    nlong buffer_size;  /* bytes at `buffer`; at least message_size */
    nlong length;       /* bytes that arrived or were sent, once the message has ended well. Bytes
                           that the message has, as the peer says, once a receive has ended with
                           ZCRP_ERROR_TOO_LARGE. 0 after other failures. On a receive that ended
                           well, each byte of the buffer behind them is what it was before, or 0 if
                           something landed there that was not accepted. */
    void *context;      /* the caller's, NULL at first: the library neither reads nor writes it. It
                           leads from a message that was collected to what the caller knows of it */
};

/* ---- The paper's API ------------------------------------------------------------------------ */

/* A message with a buffer of its own for up to `size` bytes, at a cache line's start. NULL when
 * there is no memory. Free it with zcrp_free_msg. Between two processes of one host small messages
 * in such buffers are copied without a system call; those over the caller's memory need one. */
ZCRP_PUBLIC struct zcrp_msg *zcrp_alloc_msg(nlong size);

/* Frees a message, but not the memory that zcrp_wrap_msg wrapped. NULL is fine. A message in flight
 * is left alone (cancel or wait first): it stays valid, and zcrp_error keeps its state. */
ZCRP_PUBLIC void zcrp_free_msg(struct zcrp_msg *message);

/* Starts this process's sender, or its receiver. file_descriptors[0] carries acknowledgements and
 * requests to the sender, [1] units to the receiver; the same descriptor twice is a duplex channel.
 * Both are connected sockets (UDP, AF_UNIX, or raw for AAL5). They stay the caller's. The library
 * uses duplicates of them, so the caller may close them at any time. 1 on success; 0 on failure:
 * the reason is zcrp_error(NULL) of the calling thread: ZCRP_ERROR_STARTED, _DESCRIPTOR,
 * _NOT_SOCKET, _NOT_CONNECTED, _BUSY (this process has a sender, or receiver, on that socket
 * already), _ARGUMENT, _MEMORY or _SYSTEM. */
ZCRP_PUBLIC ZCRP_MUST_USE nbyte zcrp_send_init(int *file_descriptors);
ZCRP_PUBLIC ZCRP_MUST_USE nbyte zcrp_rcv_init(int *file_descriptors);

/* Sends `size` bytes of the message, or posts it to receive up to `size` bytes. Returns at once.
 * 1 on success; 0 on failure, the reason is zcrp_error(NULL): ZCRP_ERROR_ARGUMENT (NULL), _SIZE
 * (over message_size, or over 128 GiB), _BUSY (in flight already), _NOT_STARTED, _CLOSED (being
 * closed), _CHANNEL, _FORKED. */
ZCRP_PUBLIC ZCRP_MUST_USE nbyte zcrp_send(struct zcrp_msg *message, nlong size);
ZCRP_PUBLIC ZCRP_MUST_USE nbyte zcrp_rcv(struct zcrp_msg *message, nlong size);

/* Blocks until the message has ended: sent and wholly acknowledged, or wholly received. 1 if it
 * ended well; 0 if it failed or was never submitted; then zcrp_error(message) says why. 0 also if
 * zcrp_interrupt ended the wait: then zcrp_error(NULL) is ZCRP_ERROR_INTERRUPTED. With NULL 0, and
 * zcrp_error(NULL) is ZCRP_ERROR_ARGUMENT. */
ZCRP_PUBLIC nlong zcrp_wait(struct zcrp_msg *message);

/* 1 if the message has ended, well or not; else 0. Never blocks. A message that was never submitted
 * has not ended. 0 for NULL.
 *
 * In a program that probes at least every 50 us, the probe itself receives, unless another thread
 * does. When nothing has come for 2 ms, or nobody has probed for as long, the library's threads
 * receive again, and a probe makes no system call. */
ZCRP_PUBLIC nbyte zcrp_probe(struct zcrp_msg *message);

/* Ends this process's sender or receiver. Waits until all that was sent is acknowledged, but at
 * most five seconds without a new acknowledgement; tells the peer; joins the threads. Messages that
 * are left fail with ZCRP_ERROR_CLOSED. Then the process may call init again. 1 on success; 0 if
 * this process had no sender (receiver), or if a message is in flight still (see ZCRP_ERROR_BUSY at
 * zcrp_close). */
ZCRP_PUBLIC nbyte zcrp_send_close(void);
ZCRP_PUBLIC nbyte zcrp_rcv_close(void);

/* ---- Errors --------------------------------------------------------------------------------- */

/* name, text. The codes are negative, counted from -1 in this order; 0 is success. */
#define ZCRP_ERRORS(X)                                                                             \
    X(ARGUMENT, "an argument is NULL or makes no sense")                                           \
    X(SIZE, "the size is larger than the message, or the text does not fit")                       \
    X(BUSY, "the message is in flight, the socket has such an entity, or there is no room")        \
    X(IDLE, "the message is not in flight, or the connection has no keys")                         \
    X(STARTED, "init was called twice without a close")                                            \
    X(NOT_STARTED, "init has not been called")                                                     \
    X(DESCRIPTOR, "the descriptor is not open")                                                    \
    X(NOT_SOCKET, "the descriptor is not a datagram socket")                                       \
    X(NOT_CONNECTED, "the socket is not connected to a peer")                                      \
    X(ADDRESS, "the host or port cannot be resolved or bound")                                     \
    X(MEMORY, "there is no memory left")                                                           \
    X(SYSTEM, "a system call failed; errno says how")                                              \
    X(TIMEOUT, "the time limit passed")                                                            \
    X(TOO_LARGE, "the message is larger than the buffer posted for it")                            \
    X(CANCELLED, "the message was cancelled")                                                      \
    X(PEER_CANCELLED, "the peer cancelled the message")                                            \
    X(SILENT, "nothing has arrived from the peer for too long")                                    \
    X(RESTARTED, "the peer restarted and knows nothing of the message")                            \
    X(PEER_CLOSED, "the peer has closed")                                                          \
    X(CLOSED, "this end has closed")                                                               \
    X(CHANNEL, "the channel failed; the descriptors cannot be used any more")                      \
    X(PERMISSION,                                                                                  \
      "no right to open a raw socket (CAP_NET_RAW); AAL5 over UDP, port 6635, needs none")         \
    X(REFUSED, "nobody listens at the peer's address")                                             \
    X(UNREACHABLE, "nothing came back from the peer's address")                                    \
    X(VERSION, "the peer speaks another version of the protocol")                                  \
    X(STALLED, "the peer is there, but acknowledged nothing for the progress limit")               \
    X(PROTOCOL, "the peer acknowledged what was never sent")                                       \
    X(FAULT, "the message's memory, here or at the peer, cannot be accessed")                      \
    X(INTERRUPTED, "the wait was interrupted")                                                     \
    X(FORKED, "the entity or the message belongs to the parent of this process")                   \
    X(APART, "the peer's memory is out of reach, and no other channel was allowed")                \
    X(KEYS, "one end has no keys, or does not accept the other's")                                 \
    X(NO_KEYS, "the library was built without keys")                                               \
    X(EXPOSED, "the key file can be read by users other than its owner")                           \
    X(TRACE, "a trace called the library")                                                         \
    X(DIED, "the peer's process has ended without a close")                                        \
    X(NOT_ADMITTED, "the peer's listener has no room for another connection")                      \
    X(CUT_OFF, "the peer closed before the message was through")

enum zcrp_error_index {
#define ZCRP_ERROR_INDEX(name, text) ZCRP_ERROR_INDEX_##name,
    ZCRP_ERRORS(ZCRP_ERROR_INDEX)
#undef ZCRP_ERROR_INDEX
        ZCRP_ERROR_COUNT
};

enum zcrp_code {
    ZCRP_OK = 0,
#define ZCRP_ERROR_CODE(name, text) ZCRP_ERROR_##name = -1 - (int)ZCRP_ERROR_INDEX_##name,
    ZCRP_ERRORS(ZCRP_ERROR_CODE)
#undef ZCRP_ERROR_CODE
};

/* When the peer closes. PEER_CLOSED is the end of a stream: the peer has closed, and this end has
 * received all that the peer sent. Buffers that are posted then, or later, end with PEER_CLOSED, so
 * a receiving loop ends there. If the peer did not send all its messages, or stopped in the middle
 * of one, buffers end with CUT_OFF instead. At a sender, messages in flight end with CUT_OFF, and
 * messages that are submitted later end with PEER_CLOSED. A sender over descriptors asks the
 * closing peer what has arrived, until nothing new has been acknowledged for 3 s. Messages that are
 * submitted after that wait for the next receiver. */

/* The state of the message: ZCRP_OK once it ended well, ZCRP_ERROR_BUSY while in flight,
 * ZCRP_ERROR_IDLE before, ZCRP_ERROR_FORKED if it was in flight when the parent forked, else why it
 * failed. It only looks: zcrp_probe asks, and may find that a message has ended up to 50 ms
 * earlier. With NULL: the code of the calling thread's last call of the paper's API that returned
 * 0, a zcrp_probe among them. After ZCRP_ERROR_SYSTEM errno still says why the call failed. */
ZCRP_PUBLIC int zcrp_error(const struct zcrp_msg *message);

/* One English line for a code, without a full stop; never NULL. Static. */
ZCRP_PUBLIC const char *zcrp_strerror(int code);

/* Explains a code that a call in this thread has just returned. Returns one line of text, never
 * NULL: the cause, where the library knows it, or else the text of zcrp_strerror.
 *
 *     ZCRP_ERROR_ARGUMENT  the wrong argument or option, and its range:
 *                              options.messages is 2000000; it has to be 0 to 1048576
 *     ZCRP_ERROR_ADDRESS   the host or port, and what is wrong with it:
 *                              port 7000 is in use
 *                              cannot resolve host "nowhere": Name or service not known
 *     ZCRP_ERROR_SYSTEM    the file or descriptor, and the system's error:
 *                              detector.key: No such file or directory
 *     ZCRP_ERROR_EXPOSED   the key file, and its mode
 *     ZCRP_ERROR_REFUSED   of a connection: the address that was tried, and the name that has it:
 *                              nobody listens at "localhost", port 7000 ([::1]:7000)
 *
 * Each thread has its own line. The thread's next call that fails with one of these five codes
 * replaces it. Nothing else changes it: no call that succeeds, no other code, no other thread, none
 * of the interrupt functions. The line explains the code of that call only; for any other code
 * zcrp_explain returns the text of zcrp_strerror, and also for ZCRP_ERROR_REFUSED of a message, of
 * zcrp_expect or of a queue's completion: zcrp_connection_status has the address. A child process
 * starts with the line of the thread that forked.
 *
 * The line shows hosts and files as printable UTF-8: it writes other bytes as \xNN, and cuts long
 * names with "...". It is for people; programs should not parse it. The system's errors are in the
 * language of the program's locale. Do not call zcrp_explain in a signal handler. */
ZCRP_PUBLIC const char *zcrp_explain(int code);

/* ---- Keys -----------------------------------------------------------------------------------
 *
 * With keys both ends of a connection, or a sender and a receiver, know who the other one is,
 * nobody else can read what they send, and nobody can change, forge or repeat it. Without keys,
 * whoever can read the path can do all of that. docs/security.md says what is promised,
 * docs/protocol.md how it is done (TLS 1.3's handshake, AES-128-GCM or ChaCha20-Poly1305).
 *
 * Make keys, put them in options.keys of zcrp_connect or zcrp_listen, or of zcrp_open_sender or
 * zcrp_open_receiver, and free them: the library holds them until it needs them no more. There is
 * no fallback: with a peer that has no keys, or others, there is no connection, messages fail
 * (ZCRP_ERROR_KEYS), and no byte of data is sent.
 *
 * In a handshake a sender is the connecting end, and a receiver the listening one. They need one
 * connected socket, the same descriptor twice, and have it for themselves. They have one session:
 * once that has ended, each further message fails with the reason. To go on, close them and open
 * others on the same descriptors. Before the session has begun, a sender that found nobody can
 * still find a receiver, unless the keys are wrong. A receiver counts peers whose keys it does not
 * accept (keys_refused), and goes on waiting.
 *
 * Any number of connections, listeners, senders and receivers may use the same keys. Keys that one
 * of them uses must not be changed any more (zcrp_keys_add_psk, _set_lookup, _pin, _log).
 *
 * The calls return ZCRP_ERROR_NO_KEYS if the library was built without keys; else 0, or
 * ZCRP_ERROR_ARGUMENT, _MEMORY, _SYSTEM (errno says how), or _EXPOSED if others than its owner may
 * read the file of a secret key. On failure *keys is NULL. */

struct zcrp_keys;

enum {
    ZCRP_KEYS_PSK_LEAST = 32, /* bytes of a pre-shared key */
    ZCRP_KEYS_PSK_MOST = 64,
    ZCRP_KEYS_IDENTITY_MOST = 128, /* bytes of a name, without the 0 behind it */
    ZCRP_KEYS_FINGERPRINT_BYTES = 32,
};

/* A pre-shared key: `bytes` random bytes that only the two ends have. A password is not good
 * enough. `identity` is a name that tells the listening end which key is meant. The bytes are
 * copied. A listener may have several such keys. A connecting end uses its first one. Each end that
 * has a key can take either side with it: whoever connects can also pose as the listener. */
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_keys_psk(struct zcrp_keys **keys, const char *identity,
                                            const void *key, size_t bytes);
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_keys_add_psk(struct zcrp_keys *keys, const char *identity,
                                                const void *key, size_t bytes);

/* A function of the user's that a listener, or a receiver over descriptors, asks for the key of an
 * identity that it does not have, of at most ZCRP_KEYS_IDENTITY_MOST bytes: writes at most `size`
 * bytes to `key` and returns how many, or 0 if there is none. It runs in a thread of the library's,
 * without any lock of the library's. So it may call the library, and take a lock that the program
 * holds around calls of it. While it runs, the handshakes of that listener or receiver wait. The
 * zcrp_listener_close or zcrp_close of that listener or receiver waits, too: the function must
 * neither call that close, nor wait for a thread that is in it. */
typedef size_t (*zcrp_keys_lookup)(void *context, const char *identity, uint8_t *key, size_t size);
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_keys_set_lookup(struct zcrp_keys *keys, zcrp_keys_lookup lookup,
                                                   void *context);

/* A key pair of this side's own: a secret key in PEM (PKCS #8). Each peer's public key has to be
 * pinned by its fingerprint, the SHA-256 of its SubjectPublicKeyInfo: "sha256:" and 64 hexadecimal
 * digits, as `zcrp-keys fingerprint` says.
 *
 * Keys of these kinds are taken, raw and in certificates: Ed25519; ECDSA over P-256, P-384 or
 * P-521; RSA with a modulus of at most 4,096 bits and an exponent of at most 32 bits. A peer that
 * shows another one, also within a chain of certificates, is refused before anything is checked
 * with it (ZCRP_ERROR_KEYS). An own key of another kind or size is ZCRP_ERROR_ARGUMENT. */
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_keys_raw(struct zcrp_keys **keys, const void *pem, size_t bytes);
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_keys_pin(struct zcrp_keys *keys, const char *fingerprint);

/* A certificate of this side's own and its secret key (files in PEM), the authorities that it
 * trusts, and the name that a peer's certificate must have (NULL: any name that these authorities
 * have certified). Both sides show one. The name has to be one of the alternative names, none of
 * which may have 256 bytes or more in front of it; the common name does not count. If a certificate
 * says what it is for (extended key usage), the listener's has to say server authentication, and
 * the caller's client authentication. Keys are of the kinds of zcrp_keys_raw. The certificates of
 * certificate_file may have 11,000 bytes together, in DER: more do not fit a handshake, and are
 * ZCRP_ERROR_ARGUMENT. */
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_keys_certificate(struct zcrp_keys **keys,
                                                    const char *certificate_file,
                                                    const char *key_file,
                                                    const char *authorities_file, const char *name);

/* Reads a file that zcrp-keys made: a pre-shared key (one line, "identity:hexadecimal digits"), or
 * a key pair in PEM. */
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_keys_read(struct zcrp_keys **keys, const char *path);

/* To look into captures (docs/wireshark.md): appends the secrets of each connection that is made
 * with these keys to the file at `path`, in the format of SSLKEYLOGFILE. Whoever reads that file
 * and a capture of these connections reads all that they carry. The file is made with mode 600. It
 * is refused if it is a link (ZCRP_ERROR_SYSTEM, ELOOP), not a regular file (_ARGUMENT), another
 * user's, or open to others (_EXPOSED); then the keys stay as they were. A second call replaces the
 * file. Nothing else makes the library write secrets; it never reads the variable SSLKEYLOGFILE.
 * If a line cannot be written, it and all that follow are missing, and connections go on. */
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_keys_log(struct zcrp_keys *keys, const char *path);

/* Releases the keys. Their memory is overwritten once no connection and no listener holds them any
 * more. NULL is fine. */
ZCRP_PUBLIC void zcrp_keys_free(struct zcrp_keys *keys);

/* ---- Handles and options -------------------------------------------------------------------- */

/* A protocol entity: one sender, or one receiver, with its threads. */
struct zcrp_entity;

enum zcrp_congestion {
    ZCRP_CONGESTION_DEFAULT = 0, /* BBR */
    ZCRP_CONGESTION_NONE = 1,    /* for a dedicated link: the largest window, no pacing */
    ZCRP_CONGESTION_RENO = 2,    /* RFC 5681: halves its window at each loss */
    ZCRP_CONGESTION_CUBIC = 3, /* RFC 9438, as TCP on most machines: fills queues, loss slows it */
    ZCRP_CONGESTION_BBR = 4,   /* after version 3: a path model, short queues, bears loss */
};

/* Features to switch off, and features that are off by default. A variable in the environment with
 * the name of one that begins with ZCRP_NO does the same for any program, if it is neither empty
 * nor 0: ZCRP_NO_GRO=1. ZCRP_NO_OFFLOAD=1 stands for ZCRP_NO_SEGMENT and ZCRP_NO_GRO.
 *
 * ZCRP_ALLOW_PTRACE is for senders on systems where Yama forbids one process to read another's
 * memory (/proc/sys/kernel/yama/ptrace_scope is 1, as on Ubuntu). If the receiver is forbidden to,
 * the library calls prctl(PR_SET_PTRACER) with its process, which the kernel says is of this user.
 * That process may then trace this one: read and write all its memory, not only messages. A process
 * has one such tracer: the last one replaces the one before, whose channel returns to UDP. Only
 * another call of prctl revokes the right. */
enum zcrp_option_flags {
    ZCRP_NO_SEGMENT = 1, /* do not let the kernel cut bursts (UDP_SEGMENT) */
    ZCRP_NO_GRO = 2,     /* do not let the kernel gather them (UDP_GRO) */
    ZCRP_NO_ECN = 4,     /* do not ask for congestion marks, and do not look at them (RFC 3168) */
    ZCRP_NO_MEMORY = 8,  /* do not read straight from the memory of a peer on this host */
    ZCRP_ALLOW_PTRACE = 16,     /* let the receiver read this process's memory: see above */
    ZCRP_ENVIRONMENT_KEYS = 32, /* without options.keys, read the file that ZCRP_KEYS in the
                                   environment names. See options.keys */
};

/* One datagram that crossed the channel, as it lies in memory. Its pieces are in order, none of
 * them empty; they are valid until the tap returns, and only to be read. */
struct zcrp_crossing {
    int64_t time_ns;      /* since 1970: just before it was sent, or after it was received */
    int descriptor;       /* that it was sent or received with */
    int is_outward;       /* 1: sent, 0: received */
    uint32_t bytes;       /* of all its pieces */
    uint32_t piece_count; /* at least 1 */
    const struct iovec *pieces;
    int is_pdu;  /* 1: a whole PDU of AAL5, padding and trailer included, maybe damaged; 0: a
                    datagram */
    uint8_t vpi; /* of a PDU: the circuit */
    uint16_t vci;
};

/* A function of the user's that is shown every datagram that crosses the socket, data included: to
 * write a capture, to count, to look. It is not shown what goes through shared memory, nor the
 * datagrams of a listener's own socket: hellos, cookies, handshakes, and whatever comes from an
 * address that no connection has yet. It runs in whatever thread sends or receives, also in two
 * threads at once, and holds them up. It must not call the library. Datagrams of one direction come
 * in their order. An answer may come before what it answers, if another thread received it: time_ns
 * tells. */
typedef void (*zcrp_tap)(void *context, const struct zcrp_crossing *crossing);

/* What carries the datagrams. */
enum zcrp_channel {
    ZCRP_CHANNEL_AUTO = 0, /* AAL5 on raw sockets of IP protocol 137 and on UDP sockets with port
                              6635 at either end, else the sockets' own datagrams */
    ZCRP_CHANNEL_DATAGRAM = 1, /* the sockets' own, whatever the port; raw ones have none */
    ZCRP_CHANNEL_AAL5 = 2,     /* AAL5 on any socket */
    ZCRP_CHANNEL_MEMORY = 3,   /* only from memory to memory. If that is not possible with a peer,
                                  messages to it fail with ZCRP_ERROR_APART. AUTO and DATAGRAM use
                                  memory where they can. */
};

/* Why units take the socket although the peer has an address of this host. */
enum zcrp_memory_refusal {
    ZCRP_MEMORY_FINE = 0,      /* they take memory, or the peer is on another host */
    ZCRP_MEMORY_ELSEWHERE = 1, /* the peer is in another network namespace or behind a relay, has
                                  switched it off, or lacks memory or descriptors: look at the
                                  peer's memory_refused */
    ZCRP_MEMORY_STRANGER = 2,  /* it is of another user, or in another namespace of processes */
    ZCRP_MEMORY_FORBIDDEN = 3, /* seccomp forbids the receiver to read memory; or it may not read
                                  the sender's, which has no mapped_bytes: ptrace(2), "Ptrace
                                  access mode checking". Yama: /proc/sys/kernel/yama/ptrace_scope,
                                  and prctl(2), PR_SET_PTRACER; or a sender that is not dumpable */
    ZCRP_MEMORY_LIMITED = 4,   /* no memory, no descriptor, or RLIMIT_FSIZE is too low */
    ZCRP_MEMORY_FALSE = 5,     /* the peer handed in something else than it should */
};

/* Faults of an ATM network, to be simulated from a seed: for tests, and to see how a program bears
 * them. Chances are in a million, 0 .. 10^6. All zero: no faults. */
struct zcrp_atm_faults {
    uint32_t loss;        /* of each cell to be lost */
    uint32_t tagged;      /* of each datagram to be one whose cells may go first (CLP) */
    uint32_t tagged_loss; /* of each such cell to be lost, in addition to `loss` */
    uint32_t swapped;     /* of each cell to change places with the next */
    uint32_t merged;    /* of each datagram to lose its end and to be taken for one with the next */
    uint32_t congested; /* of each datagram to be marked: it has experienced congestion */
    uint32_t discard;   /* cells of a datagram that are lost with one of it, 0 .. 2: 0: no others,
                           1: those behind it, 2: all */
    uint64_t seed;      /* 0 .. 2^64 - 1 */
};

/* The circuit of an AAL5 channel (docs/aal5.md). Both ends have to say the same. Where two raw
 * sockets have one address, each hears itself, and needs a circuit for each direction. ZCRP_AAL5 in
 * the environment overrules mtu and faults by name: ZCRP_AAL5=mtu=1500,loss=10000,seed=7. With any
 * other name in it, a value out of its range, or a seed above 2^32 - 1, no channel of AAL5 can be
 * opened (ZCRP_ERROR_ARGUMENT). */
struct zcrp_aal5 {
    uint32_t vpi;         /* 0 .. 255 */
    uint32_t vci;         /* of units, 32 .. 4127, with a vpi of 255 to 4111; default 32 */
    uint32_t vci_control; /* of acknowledgements and requests, 32 .. 4127, as for vci; default: vci.
                             A connection uses both circuits in both directions: this has to
                             differ from vci; default: the next VCI */
    uint32_t mtu;         /* of the circuit: largest datagram, 1200 .. 65535; default 9180 */
    struct zcrp_atm_faults faults;
};

struct zcrp_stats;

/* A function of the user's that is shown the entity's statistics each time they have changed. What
 * differs from the last call has happened since: what was sent, acknowledged, lost and repeated.
 * Window, rate and round trip are the values at that moment. time_ns is of CLOCK_MONOTONIC. The
 * first call comes with the first change. It runs in whatever thread made the change, one at a time
 * and in order, within the entity's lock, which the two halves of a connection share. So it holds
 * everything up, and must not call the library: what would take a lock, or wait, fails at once with
 * ZCRP_ERROR_TRACE. */
typedef void (*zcrp_trace)(void *context, int64_t time_ns, const struct zcrp_stats *stats);

/* Options of an entity. Zero means the default, for every field; so start from {0}. A value out of
 * the range that its field states is refused (ZCRP_ERROR_ARGUMENT). Times (_ns) are
 * 1 .. 2^63 - 1, and the last means no limit. */
struct zcrp_options {
    uint32_t unit_bytes;   /* largest datagram of the path, trailer included, 64 .. 65507;
                              default: what the path's or circuit's MTU carries */
    uint32_t messages;     /* messages under way at once, 1 .. 2^20; default 1024. More may be
                              submitted: they wait for their turn. */
    uint64_t window_bytes; /* most that is sent unacknowledged, 1 .. 2^64 - 1, but never more than
                              2^16 units; 250 Mb/s over a satellite needs 20 MB. The sender reserves
                              6 MiB of memory for the default, and 12 MiB at most (more with more
                              messages), and touches only what it uses; default 32 MiB */
    int64_t silence_ns;    /* if nothing comes from a known peer for this long, messages fail with
                              ZCRP_ERROR_SILENT; after 5 s already, if the peer's host says again
                              and again that its port is closed, and no question is answered. (A
                              caller with keys may only have moved: twice keepalive_ns later.) A
                              limit of INT64_MAX disregards that, too. Default 30 s */
    int64_t linger_ns;     /* longest time in close without a new acknowledgement; default 5 s. A
                              sender may take 3 s to confirm a receiver's close, in which it asks
                              what has arrived */
    uint32_t send_buffer;  /* socket buffers to ask the kernel for, bytes, 1 .. 2^32 - 1, of which
                              1 GiB is asked for at most; default 4 MiB */
    uint32_t receive_buffer;
    int64_t spin_ns; /* longest time that a waiter polls before it sleeps. For short waits polling
                        costs less than sleeping. While waits are longer than this, a waiter does
                        not poll. 1: never; default 50 us */
    int congestion;  /* enum zcrp_congestion */
    uint32_t flags;  /* enum zcrp_option_flags, or-ed */

    int channel;           /* enum zcrp_channel */
    struct zcrp_aal5 aal5; /* of use if it is AAL5 */

    zcrp_tap tap;      /* default: none */
    void *tap_context; /* handed to the tap */

    zcrp_trace trace;    /* default: none */
    void *trace_context; /* handed to the trace */

    /* Senders: if no receiver was found this long after the first submit, messages fail with
     * ZCRP_ERROR_REFUSED, _UNREACHABLE, _NOT_ADMITTED or _VERSION, and a later submit tries again.
     * A receiver waits for its first sender without limit. Default 5 s; and zcrp_connect then fails
     * with ZCRP_ERROR_REFUSED as soon as it is sure that nobody listens: when the system has said
     * so several times, for a second, and nothing else came. With any other value it goes on
     * trying, because the peer may be late. A listener with keys gives each caller 5 s for the
     * handshake, whatever its own connect_ns is. */
    int64_t connect_ns;

    /* Senders: if datagrams of the peer arrive, but acknowledge nothing that is in transit for this
     * long, messages fail with ZCRP_ERROR_STALLED. Default 30 s. */
    int64_t progress_ns;

    /* Listeners: connections at once, and of them those in the backlog, which nobody has accepted
     * yet, each 1 .. 2^20. Beyond them callers are dropped and counted (zcrp_listener_stats). They
     * call again while their connect_ns lasts, and then fail with ZCRP_ERROR_NOT_ADMITTED. One host
     * (IPv6: one network of 64 bits, or one link-local address) gets no more of either while it has
     * more than seven times as many as are left: alone it gets 897 of 1024, and all if they are at
     * most 8. Default 1024 and 128. */
    uint32_t connections;
    uint32_t backlog;

    /* Connections: memory for messages that a peer on this host may map, bytes, 0 .. 2^44
     * (zcrp_connection_alloc_msg). Pages are taken from the system when they are touched. Default
     * 0: none. */
    uint64_t mapped_bytes;

    /* This side's key, and the peers that it accepts. NULL: no keys. Data that leave this host are
     * sealed; the memory channel, between two authenticated processes of one user, is not. A
     * sender or a receiver with keys takes one connected socket, as both of its descriptors
     * (ZCRP_ERROR_ARGUMENT), and no other entity on that socket (ZCRP_ERROR_BUSY).
     *
     * A program whose callers cannot hand it keys sets the flag ZCRP_ENVIRONMENT_KEYS. Then, if
     * this is NULL and ZCRP_KEYS in the environment names a file, that is read with each open,
     * listen or connect, which also return the codes of zcrp_keys_read. If the variable is not set,
     * or empty, there are no keys. Without the flag the library never reads it. */
    struct zcrp_keys *keys;

    /* The folder in which statistics are offered to zcrp-top, or "1": the usual one (zcrp-top(1)).
     * They are in a file for this user alone, which the process keeps up to date and removes at its
     * end. A process has one such file: the folder of the first entity counts. ZCRP_STATS in the
     * environment overrules this. If the file cannot be made, there are no statistics, and nothing
     * else changes. The text is copied. Default NULL: they are not offered. */
    const char *stats_directory;

    /* Connections: while nothing else is sent, each end says that it is there at least this often,
     * and four times in silence_ns at least, but not more often than every 20 ms. It costs a
     * datagram and its answer, and nothing while messages are under way. It keeps the mappings of
     * NATs and firewalls, which forget UDP after 30 s and more (RFC 4787 asks for two minutes).
     * Default 5 s. */
    int64_t keepalive_ns;

    /* Listeners: how many buffers each connection has from its beginning, 1 .. 256, and not more
     * than options.messages. They are posted before the program accepts the connection, and a
     * caller with keys is told of them in the handshake. Its first messages then need no request,
     * which saves a round trip (zcrp_connection_first). The listener takes the memory only for
     * callers that it has admitted, of which there are options.connections at most, and each page
     * only once something lands there. Default 0: none. */
    uint32_t first_messages;

    /* Bytes of each of these buffers, 1 .. 2^30; default 64 KiB. */
    uint32_t first_bytes;

    /* Listeners: a connection that nobody accepts for this long is closed. A program that computes
     * for minutes before it accepts needs more than the default; while a connection waits it takes
     * a place of the backlog. Default: silence_ns. */
    int64_t accept_ns;
};

/* Starts a sender or a receiver on two descriptors, as zcrp_send_init does; `options` may be NULL.
 * On success 0 and *entity is the caller's, to be given to zcrp_close; else *entity is NULL and the
 * code is one of zcrp_send_init's but _STARTED: _ARGUMENT also for an option out of its range.
 *
 *     int zcrp_open_sender(struct zcrp_entity **entity, const int descriptors[2],
 *                          const struct zcrp_options *options);
 *     int zcrp_open_receiver(...the same...);
 *
 * These are macros: they pass the size of the program's struct to the calls below. Fields that the
 * library does not know must be 0 (ZCRP_ERROR_ARGUMENT). */
#define zcrp_open_sender(...) zcrp_open_sender_sized(__VA_ARGS__, sizeof(struct zcrp_options))
#define zcrp_open_receiver(...) zcrp_open_receiver_sized(__VA_ARGS__, sizeof(struct zcrp_options))
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_open_sender_sized(struct zcrp_entity **entity,
                                                     const int descriptors[2],
                                                     const struct zcrp_options *options,
                                                     size_t options_size);
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_open_receiver_sized(struct zcrp_entity **entity,
                                                       const int descriptors[2],
                                                       const struct zcrp_options *options,
                                                       size_t options_size);

/* Ends the entity as zcrp_send_close does, and frees it. NULL is fine. Messages stay the caller's.
 * 0, or ZCRP_ERROR_TIMEOUT if the peer did not confirm: linger_ns passed without a new
 * acknowledgement, or the peer failed by another limit. If it failed before, as messages with
 * ZCRP_ERROR_SILENT, _STALLED or _DIED say, close returns TIMEOUT at once. A peer that was never
 * found need not confirm. A sender's close waits for all its messages, also for those that the peer
 * has not posted a buffer for yet. It does not wait for messages that were cancelled: telling the
 * peer costs at most a round trip. ZCRP_ERROR_BUSY, after another 200 ms at most: a message is in
 * flight still, as zcrp_cancel says, and nothing was freed. The only call that the entity still
 * takes is zcrp_close, which then returns what the first close has found out about the peer.
 * ZCRP_ERROR_ARGUMENT for one half of a connection: close the connection instead. */
ZCRP_PUBLIC int zcrp_close(struct zcrp_entity *entity);

/* Sends `size` bytes of the message (on a sender), or posts it to receive up to `size` (on a
 * receiver). 0, or ZCRP_ERROR_ARGUMENT, _SIZE (as in zcrp_send), _BUSY, _CLOSED, _CHANNEL, _FORKED.
 * Returns at once. */
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_submit(struct zcrp_entity *entity, struct zcrp_msg *message,
                                          nlong size);

/* Sends a copy of the bytes, as one message. The caller may change them as soon as this returns.
 * The message is the library's, which frees it at its end; nothing tells of that end: no wait, no
 * collect, no queue. What is left when the peer is lost is lost. Use it for small messages whose
 * loss does not matter, such as answers and words of control.
 *
 * 0; ZCRP_ERROR_BUSY: there is no room, because copies of 1 MiB together, less some 200 bytes for
 * each, are under way to this peer: try again when something has ended; _SIZE: more than
 * ZCRP_COPY_MOST bytes; _MEMORY; or as zcrp_submit. */
enum { ZCRP_COPY_MOST = 16384 };
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_send_copy(struct zcrp_entity *sender, const void *bytes,
                                             size_t size);

/* A message over memory that the caller has: an array, a mapped file, a slice of something larger.
 * The library never writes beyond `size` bytes. The memory must outlive the message. Two messages
 * that are received into the same memory at once leave any of their bytes there. NULL: no memory,
 * or `buffer` NULL with size > 0.
 *
 * If the kernel cannot read or write the memory, the message fails with ZCRP_ERROR_FAULT, and the
 * peer's message with _FAULT (of a sender's memory) or _PEER_CANCELLED (of a receiver's). Where the
 * library itself touches it, with keys or over AAL5, the program gets the usual signal.
 *
 * Pages of a mapped file may not be in memory yet. Over shared memory (ZCRP_CHANNEL_MEMORY) a
 * sender sends the pages that are there, and a thread of the library waits for the others. So a
 * network file system that does not answer delays only the sender of its file, whose waits, cancel
 * and close keep their limits. Over UDP, and at a receiver, the thread that sends or receives waits
 * for the pages. docs/one-host.md says what remains. */
ZCRP_PUBLIC struct zcrp_msg *zcrp_wrap_msg(void *buffer, nlong size);

/* Points a wrapped message that is not in flight elsewhere, so that one message can walk over a
 * large array. A message of zcrp_wrap_iov then has that buffer instead of its pieces. 0, or
 * ZCRP_ERROR_ARGUMENT (NULL, or made by zcrp_alloc_msg), _BUSY. */
ZCRP_PUBLIC int zcrp_rewrap_msg(struct zcrp_msg *message, void *buffer, nlong size);

/* One message whose bytes lie in several pieces of the caller's memory: a header and its payload,
 * or the rows of a block of a matrix. A sender gathers the bytes from the pieces, and a receiver
 * scatters what arrives into them, in the order of the array. The peer sees one message; its own
 * memory may be cut elsewhere, or lie in one place.
 *
 *     struct iovec pieces[] = {{&header, sizeof header}, {payload, size}};
 *     m = zcrp_wrap_iov(pieces, 2);
 *     zcrp_submit(sender, m, m->message_size);
 *
 * The message has message_size = buffer_size = the bytes of all pieces together. Its `buffer` is
 * NULL, unless all bytes follow on each other in memory: then that is where they begin. If it is
 * submitted with a smaller size, that means its first bytes. After a receive the first `length`
 * bytes of the pieces are the message's. In all else it is like a message of zcrp_wrap_msg: it is
 * submitted, awaited, cancelled, collected and submitted again as any other.
 *
 * The array is copied, and may change at once; the copy lies in the message, 24 bytes for each
 * piece, and goes with it (zcrp_free_msg). The memory of the pieces is the caller's, and must
 * outlive the message. Pieces of 0 bytes are left out, and may be NULL. Pieces that overlap can be
 * sent. They cannot be received into: zcrp_submit returns ZCRP_ERROR_ARGUMENT. If a piece cannot be
 * read or written, that is ZCRP_ERROR_FAULT, as with zcrp_wrap_msg.
 *
 * What it costs. Datagrams carry bytes of up to 64 pieces: a message in smaller pieces takes more
 * of them. The kernel reads the pieces, and writes to them, where they lie. The library copies the
 * bytes of a datagram once more than it would in one place only if they lie in several pieces, and
 * it is sealed, or is received over AAL5, or crosses shared memory; or they go to more than 16
 * pieces; or it did not come when it was expected, behind a loss.
 *
 * NULL and errno ENOMEM: no memory. NULL and errno EINVAL, and zcrp_explain(ZCRP_ERROR_ARGUMENT)
 * says which: `count` is below 0 or above ZCRP_PIECES_MOST; `pieces`, or a piece that has bytes, is
 * NULL; a piece, or all together, have more than PTRDIFF_MAX bytes, or end behind the last address.
 * Any thread may call it. */
enum { ZCRP_PIECES_MOST = 1024 };
ZCRP_PUBLIC struct zcrp_msg *zcrp_wrap_iov(const struct iovec *pieces, int count);

/* Waits for the message to end, at most `timeout_ns` nanoseconds (negative: for ever). Returns its
 * code as zcrp_error does; ZCRP_ERROR_TIMEOUT if it is still in flight; ZCRP_ERROR_INTERRUPTED if
 * it is still in flight and zcrp_interrupt was called; or ZCRP_ERROR_ARGUMENT (NULL). */
ZCRP_PUBLIC int zcrp_wait_for(struct zcrp_msg *message, int64_t timeout_ns);

/* Waits until any of `count` messages has ended; returns the index of one that has, or
 * ZCRP_ERROR_TIMEOUT, _INTERRUPTED, or ZCRP_ERROR_IDLE if none of them is in flight or has ended,
 * or ZCRP_ERROR_ARGUMENT. NULL entries are passed over. They may belong to different entities. */
ZCRP_PUBLIC int zcrp_wait_any(struct zcrp_msg *const messages[], int count, int64_t timeout_ns);

/* Cancels a message in flight. When 0 is returned, it has ended with ZCRP_ERROR_CANCELLED, and the
 * buffer is the caller's; the peer's message fails with ZCRP_ERROR_PEER_CANCELLED, unless all of it
 * had arrived already. A cancelled buffer keeps its number: if the peer has yet to submit the
 * message for it, that message fails. Never waits for the peer, only for a system call under way:
 * 200 ms at most.
 * ZCRP_ERROR_BUSY: a sender on this host has begun to copy to the buffer, and its process is
 * stopped; or a system call of this process takes longer than that, because memory of a peer on
 * this host, or of a mapped file that it sends, does not arrive, or because its thread gets no
 * processor. The message stays in flight until the copy or the call is over, or the sender's
 * process ends. It then ends with ZCRP_ERROR_CANCELLED, or with ZCRP_OK if all of it had arrived
 * before. ZCRP_ERROR_IDLE: not in flight (any more). Else _ARGUMENT, _FORKED. */
ZCRP_PUBLIC int zcrp_cancel(struct zcrp_msg *message);

/* Asks the sender for the size in bytes of the next message that has no buffer yet. It is for a
 * receiver that does not know how large messages are. Waits for the answer at most `timeout_ns`
 * (negative: for ever; 0: not at all). From the first call on, the sender tells the size of every
 * such message, and zcrp_descriptor becomes readable when a size has come. The peer may lie: check
 * the size before you allocate that much.
 *
 *     zcrp_expect(r, &size, -1);
 *     m = zcrp_alloc_msg(size);
 *     zcrp_submit(r, m, size);
 *
 * 0 and *size; or ZCRP_ERROR_TIMEOUT; _INTERRUPTED (zcrp_interrupt ends it); on a connection the
 * code with which that has ended: _PEER_CLOSED, _CUT_OFF, _SILENT, ...; _CHANNEL; _ARGUMENT: no
 * receiver; _FORKED. Any thread. */
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_expect(struct zcrp_entity *receiver, nlong *size,
                                          int64_t timeout_ns);

/* Ends the waits for messages of this entity. All that are under way return ZCRP_ERROR_INTERRUPTED,
 * unless their message has ended meanwhile. If none is under way, the next one that would wait
 * returns it at once: that may be another thread's, and also a zcrp_wait_for with a limit of 0, so
 * a thread that polls can use up an interrupt that was meant for a thread about to wait. The
 * messages stay in flight. May be called in a signal handler, so a program can end a wait on
 * Ctrl-C. 0, or ZCRP_ERROR_ARGUMENT, _FORKED. */
ZCRP_PUBLIC int zcrp_interrupt(struct zcrp_entity *entity);

/* A descriptor that polls readable while messages have ended and were not collected. It is the
 * entity's: never read or close it. Negative code on failure (_ARGUMENT, _SYSTEM, _FORKED). From
 * the first call on, messages that end are queued for zcrp_collect. Where it also tells of offers
 * (zcrp_expect) or of a connection's status, first collect until NULL, then ask for the size or the
 * status: what arrives in between makes the descriptor readable again. */
ZCRP_PUBLIC int zcrp_descriptor(struct zcrp_entity *entity);

/* The next message that has ended, in the order in which they ended, or NULL. Never blocks. Each
 * message comes once; a message that is submitted again before it was collected is passed over. A
 * program that collects again and again, in vain, receives by that, as by zcrp_probe.
 *
 * Collect until NULL: messages that are submitted while there is more to collect leave together,
 * once they are 256 or have 64 KiB, or after 1 ms. */
ZCRP_PUBLIC struct zcrp_msg *zcrp_collect(struct zcrp_entity *entity);

/* ---- Statistics ----------------------------------------------------------------------------- */

/* name, text; all are 64-bit counts since open unless the text says otherwise. */
#define ZCRP_STATS(X)                                                                              \
    X(messages, "messages that ended well")                                                        \
    X(messages_failed, "messages that failed")                                                     \
    X(bytes, "bytes of messages that ended well")                                                  \
    X(bytes_arrived, "bytes of units acknowledged, or received and accepted")                      \
    X(units, "units sent, or received and accepted")                                               \
    X(units_repeated, "units sent again")                                                          \
    X(units_in_place, "units that landed where they belong")                                       \
    X(units_moved, "units moved to where they belong")                                             \
    X(bytes_moved, "bytes copied to where they belong")                                            \
    X(bursts, "bursts sent or received")                                                           \
    X(system_calls, "system calls on the channel")                                                 \
    X(acknowledgements, "acknowledgement datagrams sent or received")                              \
    X(requests, "request datagrams sent or received")                                              \
    X(units_lost, "units given up as lost")                                                        \
    X(units_spurious, "of those, acknowledged after all")                                          \
    X(units_marked, "units that arrived marked: the network was congested")                        \
    X(probes, "probe timeouts")                                                                    \
    X(path_probes, "datagrams sent to see if the path carries larger units")                       \
    X(path_falls, "times that the path carried large units no more, and did not say so")           \
    X(path_bytes, "bytes that a datagram may have on the path now")                                \
    X(unit_bytes, "bytes of the largest unit that is sent now")                                    \
    X(window_bytes, "bytes that may be in transit now")                                            \
    X(transit_bytes, "bytes in transit now")                                                       \
    X(rate_bytes_per_s, "bytes a second that bursts are paced at; 0: not paced")                   \
    X(rtt_smoothed_ns, "round-trip time, smoothed, ns")                                            \
    X(rtt_lowest_ns, "lowest round-trip time, ns")                                                 \
    X(drop_short, "dropped: shorter than a trailer")                                               \
    X(drop_version, "dropped: another version of the protocol")                                    \
    X(drop_type, "dropped: not a type for this side")                                              \
    X(drop_malformed, "dropped: contradicts itself")                                               \
    X(drop_session, "dropped: another session")                                                    \
    X(drop_number, "dropped: numbers that were never sent or asked for")                           \
    X(drop_unposted, "dropped: no buffer posted")                                                  \
    X(drop_beyond, "dropped: beyond the posted buffer")                                            \
    X(drop_duplicate, "dropped: received before")                                                  \
    X(drop_no_room, "dropped: a table of the receiver is full")                                    \
    X(drop_truncated, "dropped: longer than any unit")                                             \
    X(drop_damaged, "dropped: AAL5's CRC or length is wrong")                                      \
    X(drop_incomplete, "dropped: cells are missing")                                               \
    X(drop_circuit, "dropped: another circuit, or not AAL5")                                       \
    X(bytes_staged, "bytes copied because the rest of their unit was not there yet")               \
    X(cells_lost, "cells that the faults asked for have lost")                                     \
    X(drop_socket, "dropped by the kernel: socket buffer full")                                    \
    X(channel_refused, "the peer's port was closed for a moment")                                  \
    X(channel_full, "the channel had no room for a moment")                                        \
    X(offload_fallbacks, "offloads that the path refused")                                         \
    X(drop_cookie, "dropped: a hello with a cookie that is not good")                              \
    X(drop_leftover, "dropped: from elsewhere, before the socket was connected")                   \
    X(path_hints, "times that ICMP or this machine called a datagram too big")                     \
    X(left_out, "sequence numbers left out, to find acknowledgements that were invented")          \
    X(faults, "calls that found memory that cannot be accessed")                                   \
    X(bytes_copied_once, "bytes that went from the sender's memory straight to the receiver's")    \
    X(memory_refused,                                                                              \
      "why memory is not used: enum zcrp_memory_refusal; 0: it is, or need not be")                \
    X(drop_forged, "dropped: not sealed with the keys of this connection")                         \
    X(drop_replayed, "dropped: sealed, and a repeat, or far too old")                              \
    X(keys_refused, "handshakes with a peer whose key is not accepted here")                       \
    X(unwatched, "times that epoll had no room for the socket, which is polled by a timer then")   \
    X(messages_whole, "messages that crossed shared memory as a whole, and in no unit")            \
    X(offload_failures, "times that the kernel cut or joined bursts wrongly, and did not say so")  \
    X(moves, "times that a caller with keys came to another address, and its listener followed")

struct zcrp_stats {
#define ZCRP_STATS_FIELD(name, text) uint64_t name;
    ZCRP_STATS(ZCRP_STATS_FIELD)
#undef ZCRP_STATS_FIELD
};

/* A snapshot of the entity's statistics. Returns 0 or ZCRP_ERROR_ARGUMENT, _FORKED.
 *
 *     int zcrp_stats(struct zcrp_entity *entity, struct zcrp_stats *stats);
 *
 * This is a macro: it passes the size of the program's struct to the call below, which fills that
 * much and sets to 0 what the library does not know. */
#define zcrp_stats(entity, stats) zcrp_stats_sized(entity, stats, sizeof(struct zcrp_stats))
ZCRP_PUBLIC int zcrp_stats_sized(struct zcrp_entity *entity, struct zcrp_stats *stats,
                                 size_t stats_size);

/* ---- UDP channels by name ------------------------------------------------------------------- */

/* A UDP socket connected to host and port, IPv4 or IPv6; both may be numeric. Any local port. The
 * descriptor is the caller's; use it twice for a duplex channel. Codes: _ARGUMENT (NULL), _ADDRESS
 * (also an empty host, or a port that is none: 0, 70000, "http/2"), _SYSTEM.
 *
 * If the host is a name that has several addresses, it is the first to which this machine has a
 * route, in the order of getaddrinfo. Whether anybody listens there is not known yet, and no other
 * address is tried if nobody does. zcrp_connect does the same.
 *
 * After ZCRP_ERROR_ADDRESS, here and wherever a host and a port are given, errno tells the causes
 * apart: ENOENT or EAGAIN: the host's name does not exist, or cannot be resolved now; EINVAL: not a
 * port, or an empty host; EADDRINUSE: the port is in use; EADDRNOTAVAIL: not an address of this
 * machine; else what the system said: EACCES, EAFNOSUPPORT, ENETUNREACH, EHOSTUNREACH. */
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_udp_connect(const char *host, const char *port);

/* A UDP socket bound to host and port ("0": any free one, which zcrp_udp_port tells), for a
 * receiver. zcrp_udp_accept connects it. Only a receiver listens and accepts; a sender connects.
 * Codes as above, but 0 is a valid port here.
 *
 * A host of NULL is any address of this machine, IPv4 and IPv6; the port has to be free in both.
 * Then it is an IPv6 socket (AF_INET6), which shows an IPv4 peer by a mapped address
 * (::ffff:192.0.2.1), or an IPv4 socket if the machine has no IPv6. */
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_udp_listen(const char *host, const char *port);

/* Waits for a sender at a listening socket and connects the socket to it. It takes the first sender
 * that has shown that it reads what is sent to its address (docs/protocol.md, "Cookies"). Anything
 * else that comes, or came before, is dropped. Open the receiver next, in this process. A machine
 * with several addresses should listen at the one that its peer uses. 0, or ZCRP_ERROR_TIMEOUT,
 * _SYSTEM, _ARGUMENT; then the socket is connected to nobody, as it was. */
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_udp_accept(int descriptor, int64_t timeout_ns);

/* The local port of a socket, or a code: _ARGUMENT, _SYSTEM. */
ZCRP_PUBLIC int zcrp_udp_port(int descriptor);

/* ---- AAL5 channels by name ------------------------------------------------------------------ */

/* A raw socket of IP protocol 137, connected to host, or bound to one of this machine's addresses
 * (NULL: any of IPv4) until zcrp_udp_accept connects it. It carries AAL5, and needs CAP_NET_RAW. A
 * socket of zcrp_udp_connect to port "6635", or of zcrp_udp_listen there, carries the same without
 * that right. One socket hears all that comes from its peer, so two machines have one entity on
 * each circuit between them, and one entity receives from a raw socket (ZCRP_ERROR_BUSY). The
 * descriptor, or a code: _ARGUMENT, _ADDRESS, _PERMISSION, _SYSTEM. */
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_aal5_connect(const char *host);
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_aal5_listen(const char *host);

/* ---- Connections ----------------------------------------------------------------------------
 *
 * For programs with peers: a connection is a sender and a receiver over one UDP socket, and a
 * listener serves any number of them on one port. The library's threads are the process's, however
 * many connections there are.
 *
 * On port 6635, or with ZCRP_CHANNEL_AAL5 on any port, connections carry AAL5. Both ends have to
 * say so, and name the same circuits (options.aal5). A listener has all its peers on these, and
 * tells them apart by address and port. Raw sockets have no ports, so there are no connections over
 * them: a port of NULL is ZCRP_ERROR_ARGUMENT.
 *
 *     struct zcrp_connection *c;                       struct zcrp_listener *l;
 *     zcrp_connect(&c, host, "7000", NULL, -1);        zcrp_listen(&l, NULL, "7000", NULL);
 *     s = zcrp_connection_sender(c);                   zcrp_accept(l, &c, -1);
 *     zcrp_submit(s, message, size);                   r = zcrp_connection_receiver(c);
 *     zcrp_wait_for(message, -1);                      zcrp_submit(r, message, size);
 *     zcrp_connection_close(c);                        zcrp_wait_for(message, -1);
 *
 * Both ends can send and receive. Messages are submitted, waited for, collected and cancelled with
 * the calls above. Each half is closed with its connection, not by zcrp_close. */

struct zcrp_listener;
struct zcrp_connection;

/* Listens on the address (NULL: any of this machine's, IPv4 and IPv6) and port ("0": any free one).
 * `options` may be NULL; they hold for each connection. 0 and *listener, or ZCRP_ERROR_ADDRESS,
 * _ARGUMENT (also for circuits that cannot be), _MEMORY, _SYSTEM, and *listener is NULL.
 *
 * A name that callers use may have addresses of both families, as "localhost" often has, and a
 * caller tries only the first of them. So listen at NULL, or at the address that callers are told.
 *
 *     int zcrp_listen(struct zcrp_listener **listener, const char *host, const char *port,
 *                     const struct zcrp_options *options); */
#define zcrp_listen(...) zcrp_listen_sized(__VA_ARGS__, sizeof(struct zcrp_options))
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_listen_sized(struct zcrp_listener **listener, const char *host,
                                                const char *port,
                                                const struct zcrp_options *options,
                                                size_t options_size);

/* Takes the next connection out of the backlog, or waits for one, at most `timeout_ns` (negative:
 * for ever). The listener makes the connection by itself, as soon as a caller has shown that it
 * reads what is sent to its address, and with keys that its key is accepted. It is up from then on,
 * accepted or not: the peer's zcrp_connect returns, and its messages wait for buffers. So one
 * thread may connect, and accept afterwards. The peer may have closed before its connection is
 * accepted (zcrp_connection_status).
 *
 * A connection that nobody accepts for the listener's options.accept_ns is closed; its peer is
 * told, and has ZCRP_ERROR_PEER_CLOSED; what it had sent ends with ZCRP_ERROR_CUT_OFF.
 *
 * 0 and *connection, or ZCRP_ERROR_TIMEOUT, _INTERRUPTED, _MEMORY, _SYSTEM (errno says how: EMFILE
 * if there was no descriptor for a caller; it calls again), _ARGUMENT, _FORKED, and *connection is
 * NULL. */
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_accept(struct zcrp_listener *listener,
                                          struct zcrp_connection **connection, int64_t timeout_ns);

/* The listener's port, for one that the system chose; or ZCRP_ERROR_ARGUMENT, _SYSTEM. */
ZCRP_PUBLIC int zcrp_listener_port(const struct zcrp_listener *listener);

/* A descriptor to poll: readable while zcrp_accept would not wait. The listener's; do not read or
 * close it. Or ZCRP_ERROR_ARGUMENT, _FORKED, _SYSTEM. */
ZCRP_PUBLIC int zcrp_listener_descriptor(struct zcrp_listener *listener);

/* What a listener has counted. */
struct zcrp_listener_stats {
    uint64_t admitted;    /* callers whose connections came into the backlog */
    uint64_t dropped;     /* times that a caller found no room (options.connections, .backlog), or
                             that its connection was not accepted in time */
    uint64_t connections; /* now: in the backlog, or accepted and not closed yet */
    uint64_t refused;     /* callers whose key is not accepted here; a caller without keys is told
                             that it needs some, and is not counted */
};

/* Fills *stats; a macro like zcrp_stats. 0, or ZCRP_ERROR_ARGUMENT, _FORKED.
 *
 *     int zcrp_listener_stats(struct zcrp_listener *listener, struct zcrp_listener_stats *stats);
 */
#define zcrp_listener_stats(listener, stats)                                                       \
    zcrp_listener_stats_sized(listener, stats, sizeof(struct zcrp_listener_stats))
ZCRP_PUBLIC int zcrp_listener_stats_sized(struct zcrp_listener *listener,
                                          struct zcrp_listener_stats *stats, size_t stats_size);

/* Ends the waits in zcrp_accept, or the next one, with ZCRP_ERROR_INTERRUPTED. A signal handler may
 * call it. 0, or ZCRP_ERROR_ARGUMENT, _FORKED. */
ZCRP_PUBLIC int zcrp_listener_interrupt(struct zcrp_listener *listener);

/* Stops listening. Connections in the backlog are closed; their peers are told once, and not waited
 * for. Those that were accepted go on. NULL is fine. 0, or ZCRP_ERROR_TRACE. */
ZCRP_PUBLIC int zcrp_listener_close(struct zcrp_listener *listener);

/* Connects to a listener, and waits until that has admitted this caller, at most `timeout_ns`
 * (negative: as long as options.connect_ns says; 0: not at all, zcrp_connection_status tells
 * later). The peer's program need not have called zcrp_accept. 0 and *connection; else *connection
 * is NULL and the code says why not: ZCRP_ERROR_REFUSED (nobody listens there: after a second, or
 * after options.connect_ns if that is given), _NOT_ADMITTED (the listener has had no room, in its
 * backlog or otherwise, for options.connect_ns), _UNREACHABLE, _VERSION, _KEYS, _TIMEOUT,
 * _ADDRESS, _ARGUMENT, _MEMORY, _SYSTEM. Nothing interrupts it: a program that ends its wait on
 * Ctrl-C gives a limit of 0, and calls zcrp_connection_wait, which zcrp_connection_interrupt ends.
 *
 * The peer may have closed before the call returns 0 (zcrp_connection_status).
 *
 * If the host's name has several addresses, the call tries only the first to which this machine has
 * a route, as zcrp_udp_connect does. After ZCRP_ERROR_REFUSED zcrp_explain says which one it was.
 *
 *     int zcrp_connect(struct zcrp_connection **connection, const char *host, const char *port,
 *                      const struct zcrp_options *options, int64_t timeout_ns); */
#define zcrp_connect(connection, host, port, options, timeout_ns)                                  \
    zcrp_connect_sized(connection, host, port, options, sizeof(struct zcrp_options), timeout_ns)
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_connect_sized(struct zcrp_connection **connection,
                                                 const char *host, const char *port,
                                                 const struct zcrp_options *options,
                                                 size_t options_size, int64_t timeout_ns);

/* The two halves, the connection's. NULL for NULL. Their zcrp_descriptor is readable also when the
 * connection's status has changed. */
ZCRP_PUBLIC struct zcrp_entity *zcrp_connection_sender(const struct zcrp_connection *connection);
ZCRP_PUBLIC struct zcrp_entity *zcrp_connection_receiver(const struct zcrp_connection *connection);

/* The first messages of a connection that a listener with options.first_messages has made, counted
 * from 0, in the order in which they were posted: message number `index` of the caller lands there.
 * NULL: there is no such message, or zcrp_connect made the connection.
 *
 *     options.first_messages = 1;                      zcrp_connect(&c, host, "7000", &options, 0);
 *     options.first_bytes = 4096;                      zcrp_submit(zcrp_connection_sender(c),
 *     zcrp_listen(&l, NULL, "7000", &options);                     request, size);
 *     zcrp_accept(l, &c, -1);                          zcrp_wait_for(request, -1);
 *     m = zcrp_connection_first(c, 0);
 *     zcrp_wait_for(m, -1);
 *
 * They are posted before anything that the program posts. They may have ended before zcrp_accept
 * returns, and are collected, or told by a queue, nevertheless. Wait for them and cancel them as
 * others. They are the connection's: zcrp_free_msg leaves them alone, and zcrp_connection_close
 * frees them, with their buffers: no other thread may be in a call with one of them then. Until
 * then an ended one may be read, and submitted again, with this connection. A message of the caller
 * that is larger fails at both ends (ZCRP_ERROR_TOO_LARGE).
 *
 * With keys the first message to the listener arrives 2.5 round trips after zcrp_connect, as over
 * TLS and TCP, and not after 3.5. For that the caller gives zcrp_connect a time limit of 0, and
 * submits at once: up to 10 KiB leave with the last bytes of the handshake, when the listener is
 * authenticated. They land once the caller is authenticated, too. If the listener refuses the
 * caller's key, or has no room, the messages fail as they do without first messages. A caller that
 * has sent first messages and waits for room gets ZCRP_ERROR_RESTARTED if the listener forgets it:
 * the listener was restarted, or received nothing from the caller for 3 s and gave the place to
 * another caller. The library does not send these messages again, because it cannot know whether
 * they arrived. Otherwise it repeats what does not arrive. Without keys the first message takes 2.5
 * round trips in any case; first messages then save the time until the program has accepted and
 * posted. */
ZCRP_PUBLIC struct zcrp_msg *zcrp_connection_first(const struct zcrp_connection *connection,
                                                   uint32_t index);

/* The connection's state: 0 while the peer is there, ZCRP_ERROR_BUSY while this end looks for it,
 * or why the connection has ended: ZCRP_ERROR_PEER_CLOSED, _SILENT, _RESTARTED, ..., at a caller
 * also _REFUSED, _NOT_ADMITTED or _UNREACHABLE. (A listener's connection ends with _SILENT if its
 * caller is gone before it was up.) An idle peer's death is noticed after options.silence_ns;
 * within 5 to 10 s (ZCRP_ERROR_SILENT), at a listener with keys 15 s, if its host says that its
 * port is closed; within 100 ms (ZCRP_ERROR_DIED) if its process is on this host, messages go from
 * memory to memory, and this process may read the peer's memory (with mapped_bytes alone it may
 * not), from Linux 5.3 on. */
ZCRP_PUBLIC int zcrp_connection_status(struct zcrp_connection *connection);

/* Waits until the peer is found, or the search has failed, at most `timeout_ns` (negative: as long
 * as options.connect_ns says). It is for a connection that was made with a time limit of 0. Returns
 * the connection's status; or ZCRP_ERROR_TIMEOUT, or _INTERRUPTED if zcrp_connection_interrupt
 * ended the wait: then the search goes on. */
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_connection_wait(struct zcrp_connection *connection,
                                                   int64_t timeout_ns);

/* Writes the peer's address and port ("192.0.2.1:7000", "[2001:db8::1]:7000") to `text`, or this
 * end's. An IPv4 address is written as one, also at an IPv6 listener. With keys a caller
 * may come to another address (zcrp_stats, moves), which is written then. 0, or ZCRP_ERROR_SIZE
 * if `size` bytes are too few (64 are enough), _ARGUMENT, _ADDRESS, _FORKED, _TRACE. */
ZCRP_PUBLIC int zcrp_connection_peer(const struct zcrp_connection *connection, char *text,
                                     size_t size);
ZCRP_PUBLIC int zcrp_connection_local(const struct zcrp_connection *connection, char *text,
                                      size_t size);

/* A message as zcrp_alloc_msg makes it, in memory that a peer on this host may map. The memory
 * comes from options.mapped_bytes, rounded up to pages. If that is used up, or the peer is on
 * another host, or this process is a child of the one that made the connection, the memory is
 * ordinary, and everything else is the same. It may be sent or received over any entity. NULL: no
 * memory.
 *
 * From one such message into another the library copies bytes without the kernel, 1.1 to 1.3 times
 * as fast as from one process's memory into another's. A peer that may not read this process's
 * memory (Yama; a process that is not dumpable) can still have these messages, and the others with
 * one copy more. A peer in another PID namespace cannot.
 *
 * It exposes memory. Until the connection is closed and its last message freed, a peer of this user
 * on this host can read all of this memory: messages of the other direction, bytes that are written
 * there later, and bytes of freed messages. It can write nowhere. A child of this process can read
 * and write it, too: after a fork, both processes have the same bytes in messages that were made
 * there before, and each sees what the other writes. */
ZCRP_PUBLIC struct zcrp_msg *zcrp_connection_alloc_msg(struct zcrp_connection *connection,
                                                       nlong size);

/* Writes the peer's authenticated identity: the identity of its pre-shared key, or "sha256:"
 * and the fingerprint of its public key (of a certificate: of that as a whole). 0, or
 * ZCRP_ERROR_SIZE if `size` bytes are too few (ZCRP_KEYS_IDENTITY_MOST + 1 are enough), _IDLE if
 * the connection has no keys, or has not authenticated its peer yet, _ARGUMENT, _FORKED, _TRACE. A
 * caller authenticates its peer before the connection is up: also if the listener has no room. */
ZCRP_PUBLIC int zcrp_connection_identity(const struct zcrp_connection *connection, char *text,
                                         size_t size);

/* The identity of the peer of a sender or a receiver with keys: over descriptors, or one half of a
 * connection. 0, or ZCRP_ERROR_SIZE, _IDLE, _ARGUMENT, _FORKED, _TRACE. */
ZCRP_PUBLIC int zcrp_identity(struct zcrp_entity *entity, char *text, size_t size);

/* Calls zcrp_interrupt for both halves. This ends the waits for their messages, the receiver's
 * zcrp_expect and the sender's zcrp_connection_wait. If no thread waits in a half, the half's next
 * wait returns ZCRP_ERROR_INTERRUPTED. So after a wait in one half was interrupted, expect one
 * interrupted wait in the other half. A signal handler may call it. 0, or ZCRP_ERROR_ARGUMENT,
 * _FORKED. */
ZCRP_PUBLIC int zcrp_connection_interrupt(struct zcrp_connection *connection);

/* Waits until all that was sent is acknowledged (options.linger_ns), tells the peer, and frees the
 * connection. Messages that are left fail with ZCRP_ERROR_CLOSED. 0, or ZCRP_ERROR_TIMEOUT if the
 * peer did not confirm, or _BUSY, as zcrp_close returns them, or ZCRP_ERROR_KEYS if one end refused
 * the other's keys. If both ends close at once, the peer may be gone before its confirmation
 * arrives: then the close takes 0.3 s longer, or eight round trips, but at most 2.6 s, and still
 * counts as confirmed. NULL is fine. */
ZCRP_PUBLIC int zcrp_connection_close(struct zcrp_connection *connection);

/* ---- Completion queues ----------------------------------------------------------------------
 *
 * For programs with events: one queue tells what has happened to any number of entities,
 * connections and listeners. It takes the place of zcrp_descriptor, zcrp_collect and
 * zcrp_listener_descriptor, of which a program with 200 connections would poll 400.
 *
 *     zcrp_queue_open(&q);
 *     zcrp_queue_add_listener(q, listener, NULL);
 *     while ((n = zcrp_queue_take(q, c, 64, -1)) >= 0)
 *         for (int i = 0; i < n; i++)
 *             switch (c[i].kind) {
 *             case ZCRP_PEER_CALLED:       accept, zcrp_queue_add_connection, post buffers
 *             case ZCRP_MESSAGE_ENDED:     c[i].message, c[i].code, c[i].context
 *             case ZCRP_CONNECTION_ENDED:  zcrp_connection_close(c[i].connection)
 *             }
 *     zcrp_queue_close(q);
 *
 * What is added stays the caller's. Messages are submitted, waited for and cancelled as without a
 * queue. Adding needs no memory, and no completion is lost for lack of it. */

struct zcrp_queue;

/* What a completion tells of. */
enum zcrp_completion_kind {
    ZCRP_MESSAGE_ENDED = 1, /* `message` has ended with `code`, as zcrp_error says */
    ZCRP_PEER_CALLED = 2, /* zcrp_accept would not wait: one completion for each caller. Accept with
                             a limit of 0, because the caller may be gone by then */
    ZCRP_CONNECTION_UP = 3, /* its peer was found. Comes only if zcrp_connection_status was BUSY at
                               the time of the add, as it may be just after zcrp_accept */
    ZCRP_CONNECTION_ENDED = 4, /* for the reason `code`, as zcrp_connection_status says; once, after
                                  all messages of both halves that have ended well by then: a
                                  program may close the connection, and misses none of them */
    ZCRP_OFFER_CAME = 5,       /* the peer has said the size of a message, or of several, which
                                  zcrp_expect with a limit of 0 tells; it may have told before */
};

/* Structs grow at their end. What does not belong to the kind is NULL or 0. */
struct zcrp_completion {
    int kind;      /* enum zcrp_completion_kind */
    int code;      /* of a message, or a connection that has ended */
    void *context; /* that was given when it was added */
    struct zcrp_msg *message;
    struct zcrp_entity *entity; /* that had the message, or the offer; a connection's half */
    struct zcrp_connection *connection; /* if it was added as one */
    struct zcrp_listener *listener;
};

/* Opens a queue. 0 and *queue, to be given to zcrp_queue_close; or ZCRP_ERROR_ARGUMENT, _MEMORY,
 * _SYSTEM, and *queue is NULL. */
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_queue_open(struct zcrp_queue **queue);

/* Adds an entity, which may be one half of a connection; a connection, with both of its halves; or
 * a listener. Each is in one queue at most. `context` is the caller's, and comes back with each
 * completion. From then on the queue tells what happens. It also tells at once what was there
 * before: callers in the backlog; that the connection has ended; first messages
 * (zcrp_connection_first) that have ended; and, if zcrp_descriptor was called, other messages that
 * wait to be collected. ZCRP_CONNECTION_UP and _ENDED are told only of what was added as a
 * connection. 0, or ZCRP_ERROR_ARGUMENT (NULL; in a queue already, as one half of a connection may
 * be), _FORKED: then nothing has changed. */
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_queue_add(struct zcrp_queue *queue, struct zcrp_entity *entity,
                                             void *context);
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_queue_add_connection(struct zcrp_queue *queue,
                                                        struct zcrp_connection *connection,
                                                        void *context);
ZCRP_PUBLIC ZCRP_MUST_USE int
zcrp_queue_add_listener(struct zcrp_queue *queue, struct zcrp_listener *listener, void *context);

/* Takes it out of the queue, by what it was added as. A zcrp_queue_take that is under way in
 * another thread may still return a completion that it took before. So free what the context points
 * to when no other thread takes. The queue drops completions that nobody has taken; zcrp_collect
 * still returns their messages, if zcrp_descriptor was called. 0, or ZCRP_ERROR_ARGUMENT (not in
 * this queue), _FORKED.
 *
 * Closing an entity, a connection or a listener removes it first. So no queue tells of messages
 * that end with the close: zcrp_error says how they ended.
 *
 * Each message is told once, by take or by zcrp_collect, whichever comes first, also if
 * zcrp_wait_for has waited for it. Freeing it, or submitting it again, withdraws a completion that
 * was not taken. */
ZCRP_PUBLIC int zcrp_queue_remove(struct zcrp_queue *queue, struct zcrp_entity *entity);
ZCRP_PUBLIC int zcrp_queue_remove_connection(struct zcrp_queue *queue,
                                             struct zcrp_connection *connection);
ZCRP_PUBLIC int zcrp_queue_remove_listener(struct zcrp_queue *queue,
                                           struct zcrp_listener *listener);

/* Takes up to `most` completions, at least 1, and returns their number. Where there is none it
 * waits for one, at most `timeout_ns` (negative: for ever; 0: not at all), and returns 0 when the
 * time is over. Messages of one entity come in the order in which they ended. Entities that have
 * several take turns, so none of them waits for ever.
 *
 * The calling thread receives for all links in the queue. With a limit of 0 it receives once for
 * each link that may have something; with a longer limit it sleeps on all links together. So a
 * program may spin on it: a call with a limit of 0 that finds nothing makes one system call at
 * most, however many links there are. Within a spin every ninth such call yields the processor
 * (sched_yield) and does not receive; a call that comes 200 us after the last one, or later, does
 * not yield. When no thread has taken for 2 ms, the library's threads receive until one takes
 * again. The library's threads always answer a listener's callers.
 *
 * If a take has returned several messages of a sender, take again soon: messages of up to 1 KiB
 * that the program submits to this sender in between wait for each other. They leave together with
 * the next take, once they are 256 or have 64 KiB, or after 1 ms. They do not wait if
 * zcrp_queue_descriptor was called.
 *
 * Any number of threads may take: each completion comes once, and one of the threads receives. Or a
 * code: ZCRP_ERROR_INTERRUPTED; _CLOSED (another thread closes the queue); _ARGUMENT, _FORKED.
 *
 *     int zcrp_queue_take(struct zcrp_queue *queue, struct zcrp_completion *completions, int most,
 *                         int64_t timeout_ns);
 *
 * This is a macro: it passes the size of the program's struct, also as the distance of the
 * completions. */
#define zcrp_queue_take(queue, completions, most, timeout_ns)                                      \
    zcrp_queue_take_sized(queue, completions, most, timeout_ns, sizeof(struct zcrp_completion))
ZCRP_PUBLIC ZCRP_MUST_USE int zcrp_queue_take_sized(struct zcrp_queue *queue,
                                                    struct zcrp_completion *completions, int most,
                                                    int64_t timeout_ns, size_t completion_size);

/* A descriptor that polls readable while there is something to take, or to receive; so a take may
 * find nothing. It is the queue's: never read or close it. It is for loops that wait for other
 * things, too: poll it (poll, select, epoll without EPOLLET), and then take with a limit of 0. Or
 * ZCRP_ERROR_ARGUMENT, _FORKED. */
ZCRP_PUBLIC int zcrp_queue_descriptor(struct zcrp_queue *queue);

/* Ends the calls of take that wait, or else the next one that would return nothing, with
 * ZCRP_ERROR_INTERRUPTED. A signal handler may call it. 0, or ZCRP_ERROR_ARGUMENT, _FORKED. */
ZCRP_PUBLIC int zcrp_queue_interrupt(struct zcrp_queue *queue);

/* Closes the queue. Calls of take that are under way return ZCRP_ERROR_CLOSED, or what they have;
 * the close waits for that. All that is in the queue is removed as above, and stays open. NULL is
 * fine. 0, or ZCRP_ERROR_TRACE. */
ZCRP_PUBLIC int zcrp_queue_close(struct zcrp_queue *queue);

#ifdef __cplusplus
}
#endif

#endif
