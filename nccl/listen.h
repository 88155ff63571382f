/* The listening end. A device has one listener of libzcrp, on its address and a free port, while
 * NCCL listens there any number of times. A handle's ticket says which of these listens a caller
 * means, and the caller's first message repeats it:
 *
 *     zcrp_accept --> [ callers of the device ] --hello, by ticket--> [ callers of a listen ] -->
 * comm
 *                              |
 *                              +--> another first message, or its listen is closed: closed
 *
 * A caller that says nothing stays among the callers, and takes one of the listener's places, of
 * which libzcrp leaves some to each host. */
#ifndef NCCL_LISTEN_H
#define NCCL_LISTEN_H

/* Writes a handle, and makes what NCCL calls a listen comm. */
int listen_open(int device, void *handle, void **listener);

/* Takes a caller: `*receiver` is its comm, or NULL: there is none yet. Never waits, but up to a
 * second for a caller that has to be turned away and does not answer. */
int listen_accept(void *listener, void **receiver);

/* Turns its callers away that were not accepted. */
int listen_close(void *listener);

#endif
