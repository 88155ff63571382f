/* What the Python package calls: connections and listeners that bear what happens in Python.
 *
 * libzcrp's handles must not be used during or after their close. In Python several threads share
 * an object, the garbage collector drops it at any time, and a fork copies it. A door is a handle
 * that may be used at any time, by any thread, until it is freed:
 *
 *     OPEN --door_close--> CLOSING --------------> CLOSED
 *      calls pass           calls return            the library's handle is gone
 *                           ZCRP_ERROR_CLOSED       zcrp_connection_close has a thread of its own
 *
 * But for the lookup of a name nothing here waits longer than its time limit, so that Python can
 * look for signals in between. Interruptions of the library are this file's own: no call returns
 * ZCRP_ERROR_INTERRUPTED.
 *
 * I1  the library's handle is closed once, when no call has it
 * I2  a post is freed when none of its messages is in flight, and no take of a queue reads it */
#ifndef ZCRP_DOOR_H
#define ZCRP_DOOR_H

#include <stdbool.h>
#include <stdint.h>
#include <zcrp.h>

struct door;

/* A completion queue that bears the same. */
struct door_queue;

/* Messages that one call posts, each over a buffer of the caller's: a message, or a batch. The
 * buffers have to live until all of them have ended. */
struct door_post;

enum door_half { DOOR_RECEIVER = 0, DOOR_SENDER = 1 };

/* ---- doors */

/* Listens. As zcrp_listen; also ZCRP_ERROR_MEMORY. */
int door_listen(struct door **result, const char *host, const char *port,
                const struct zcrp_options *options);

/* Connects, and does not wait for the peer. As zcrp_connect with a time limit of 0. */
int door_connect(struct door **result, const char *host, const char *port,
                 const struct zcrp_options *options);

/* As zcrp_accept. */
int door_accept(struct door *listener, struct door **result, int64_t timeout_ns);

/* As the functions of zcrp.h that these are called after; ZCRP_ERROR_CLOSED after door_close. */
int door_connection_wait(struct door *door, int64_t timeout_ns);
int door_connection_status(struct door *door);
int door_connection_peer(struct door *door, char *text, size_t size);
int door_connection_local(struct door *door, char *text, size_t size);
int door_connection_identity(struct door *door, char *text, size_t size);
int door_expect(struct door *door, uint64_t *size, int64_t timeout_ns);
int door_send_copy(struct door *door, const void *bytes, uint64_t size);
int door_stats(struct door *door, int half, struct zcrp_stats *stats);

/* Waits for the end of zcrp_connection_first, as zcrp_wait_for, and says its length. The copy is
 * for one that has ended well with this length. ZCRP_ERROR_ARGUMENT: there is no such message. */
int door_first_end(struct door *door, uint32_t index, int64_t timeout_ns, uint64_t *length);
int door_first_copy(struct door *door, uint32_t index, void *buffer, uint64_t length);

/* As zcrp_connection_alloc_msg: *message has the memory, which outlives the door, and is given to
 * zcrp_free_msg. It is not submitted itself. ZCRP_OK or ZCRP_ERROR_CLOSED, _MEMORY. */
int door_alloc(struct door *door, uint64_t size, struct zcrp_msg **message, void **memory);

int door_listener_port(struct door *door);
int door_listener_stats(struct door *door, struct zcrp_listener_stats *stats);

/* Begins to close: calls return ZCRP_ERROR_CLOSED, those that wait at once. Returns at once; a
 * second call does nothing. In a child of the process that opened it, the copy is freed. */
void door_close(struct door *door);

/* Waits until it is closed. ZCRP_OK, and *code is that of zcrp_connection_close; or
 * ZCRP_ERROR_TIMEOUT, also when a signal came. */
int door_closed(struct door *door, int64_t timeout_ns, int *code);

/* Readable once the door is closed; the door's. ZCRP_ERROR_SYSTEM if there is no descriptor left.
 */
int door_closed_descriptor(struct door *door);

/* Gives the door back, closing it if nobody has. No other call has it. NULL is fine. */
void door_free(struct door *door);

/* The same of what a call has put there, if it has. */
void door_free_made(struct door **made);

/* ---- posts */

/* A post of so many messages. NULL: no memory. */
struct door_post *door_post_new(int count);

/* A post of one message that lies in these pieces: zcrp_wrap_iov. NULL: errno says why. */
struct door_post *door_post_of_pieces(const struct iovec *pieces, int count);

/* Takes back what is in flight, and frees the post. NULL is fine. */
void door_post_free(struct door_post *post);

/* Submits all of the messages, or none: those that were submitted before one that could not be are
 * taken back. None is in flight. A queue tells `id`. ZCRP_OK or a code of zcrp_submit. */
int door_submit(struct door *door, int half, struct door_post *post, uint64_t id,
                void *const buffers[], const uint64_t sizes[]);

/* The same for a post of one message. */
int door_submit_one(struct door *door, int half, struct door_post *post, uint64_t id, void *buffer,
                    uint64_t size);

/* The same for a post of door_post_of_pieces, once. */
int door_submit_pieces(struct door *door, int half, struct door_post *post, uint64_t id);

/* Submits a post of one message, and waits for its end. As door_post_end. */
int64_t door_pass(struct door *door, int half, struct door_post *post, void *buffer, uint64_t size,
                  int64_t timeout_ns);

/* Waits for the end of a post of one message. Its length if it ended well, else as door_post_wait.
 */
int64_t door_post_end(struct door_post *post, int64_t timeout_ns);

/* Waits until all have ended. The first code that is not ZCRP_OK, in the order of the messages; or
 * ZCRP_ERROR_TIMEOUT: some are in flight. No message ends with that code. */
int door_post_wait(struct door_post *post, int64_t timeout_ns);

/* Have all of them ended? */
bool door_post_is_over(const struct door_post *post);

/* The code of a message, and its length. */
int door_post_code(const struct door_post *post, int index);
uint64_t door_post_length(const struct door_post *post, int index);

/* The first code that is not ZCRP_OK, and all lengths. */
int door_post_result(const struct door_post *post, uint64_t lengths[]);

/* Cancels what is in flight. ZCRP_OK: nothing is, and *has_cancelled is true if a message had not
 * ended, else as it was. ZCRP_ERROR_BUSY: the peer may still write to a message, which ends as
 * cancelled afterwards. Messages before the fourth such one are in flight still. Another call goes
 * on, and says when nothing is in flight. It takes 800 ms at most. */
int door_post_cancel(struct door_post *post, bool *has_cancelled);

/* As zcrp_wait_any over the messages of several posts that have not ended: ZCRP_OK if any has. */
int door_wait_any(struct door_post *const posts[], int count, int64_t timeout_ns);

/* ---- queues */

/* What a queue tells: a completion of zcrp.h. */
struct door_completion {
    int kind;        /* as in zcrp.h; ZCRP_MESSAGE_ENDED: a post has wholly ended */
    int code;        /* of a connection that has ended, or of a first message */
    bool is_first;   /* a message of zcrp_connection_first has ended: it has no post */
    uint64_t member; /* whose it is: as it was added */
    uint64_t post;   /* the id of the post; 0: of one that nobody asks for */
};

/* As zcrp_queue_open. */
int door_queue_open(struct door_queue **result);

/* Adds a connection or a listener, to be told of as `member`; removes it. As zcrp_queue_add_...,
 * zcrp_queue_remove_...; ZCRP_ERROR_CLOSED after door_queue_close, or door_close. When it has been
 * removed no take tells of it any more. */
int door_queue_add(struct door_queue *queue, struct door *door, uint64_t member);
int door_queue_remove(struct door_queue *queue, struct door *door);

/* Takes up to `room` completions, and waits for one. Their number; 0: the time is over, or a signal
 * came. Or ZCRP_ERROR_CLOSED, _INTERRUPTED, _FORKED. */
int door_queue_take(struct door_queue *queue, struct door_completion completions[], int room,
                    int64_t timeout_ns);

/* As the functions of zcrp.h; ZCRP_ERROR_CLOSED after door_queue_close. */
int door_queue_descriptor(struct door_queue *queue);
int door_queue_interrupt(struct door_queue *queue);

/* Closes: calls that wait return ZCRP_ERROR_CLOSED. A second call does nothing. */
void door_queue_close(struct door_queue *queue);

/* Gives it back, closing it if nobody has. No other call has it. NULL is fine. */
void door_queue_free(struct door_queue *queue);

#endif
