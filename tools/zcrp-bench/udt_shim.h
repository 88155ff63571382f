/* What of UDT, a library of C++, transport_udt.c needs. A socket is a number; negative: none, with
 * udt_shim_reason as why. */
#ifndef BENCH_UDT_SHIM_H
#define BENCH_UDT_SHIM_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why the last call of this thread failed. */
const char *udt_shim_reason(void);

/* Once in a process, before anything else and behind everything. 0 or -1. */
int udt_shim_startup(void);
void udt_shim_cleanup(void);

/* A socket of a stream, bound to `here`, with the operating system's buffers of `buffer` bytes and
 * UDT's own of twice that at least; reading and writing wait for pause_ms at most. */
int udt_shim_open(const struct sockaddr *here, socklen_t length, int buffer, int pause_ms);
void udt_shim_close(int socket);

/* 0 or -1. */
int udt_shim_listen(int socket);
int udt_shim_connect(int socket, const struct sockaddr *there, socklen_t length);

/* The next connection; waits for it. */
int udt_shim_accept(int socket);

/* Where a socket is, into `here`. 0 or -1. */
int udt_shim_here(int socket, struct sockaddr *here, socklen_t length);

/* How much of `size` bytes was moved; 0 if nothing for pause_ms, -1 if nothing will be. */
ssize_t udt_shim_write(int socket, const void *bytes, size_t size);
ssize_t udt_shim_read(int socket, void *bytes, size_t size);

#ifdef __cplusplus
}
#endif

#endif
