/* How a program's thread sleeps until a completion queue or a counter has something: on a
 * descriptor that is readable when zcrp's queue has something, so that the sleeper makes progress
 * itself, or when another thread has made that progress and rings.
 *
 * Ringing costs a system call, so only the first ring after waker_arm is one. Within the domain's
 * mutex, but waker_sleep. */
#ifndef FABRIC_WAKER_H
#define FABRIC_WAKER_H

#include "domain.h"

#include <rdma/fi_eq.h>

struct waker {
    struct domain *domain;
    enum fi_wait_obj kind; /* (c) what fi_control tells */
    int descriptor;        /* (c) -1 with FI_WAIT_NONE */
    int bell;              /* (c) an eventfd */
    bool is_armed;
};

/* 0, -FI_ENOSYS for a kind that there is not, or a system's error. */
int waker_init(struct waker *w, struct domain *d, enum fi_wait_obj kind);
void waker_fini(struct waker *w);

/* Somebody is going to sleep, and will look once more behind this. */
void waker_arm(struct waker *w);
void waker_ring(struct waker *w);

/* At most `timeout_ms` (-1: for ever). */
void waker_sleep(const struct waker *w, int timeout_ms);

/* FI_GETWAIT and FI_GETWAITOBJ of fi_control. */
int waker_control(const struct waker *w, int command, void *argument);

/* The time left of a time limit in ms that began at `began_ns`; -1: no limit. */
int64_t waker_now(void);
int waker_left(int64_t began_ns, int timeout_ms);

/* A sleeper looks this long before it sleeps: a short wait costs less so. */
#define WAKER_SPIN_NS 20000

#endif
