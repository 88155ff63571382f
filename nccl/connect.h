/* The connecting end. NCCL calls connect again and again with one handle until there is a sender;
 * so what is under way is an attempt, whose number this end keeps in the handle. A number that a
 * peer put there names no attempt of this process. */
#ifndef NCCL_CONNECT_H
#define NCCL_CONNECT_H

/* Begins to connect to the handle's listen, or goes on. `*sender` is the comm, or NULL: not yet.
 * Never waits. An error ends the attempt. */
int connect_advance(int device, void *handle, void **sender);

/* Ends the attempts that NCCL has given up. */
void connect_end_attempts(void);

#endif
