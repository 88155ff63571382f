/* Drives the plugin as NCCL does, whatever the version of its interface: loads it, and calls it
 * through that version's table. What must succeed ends the program if it does not. */
#ifndef ZCRP_TESTS_NCCL_DRIVER_H
#define ZCRP_TESTS_NCCL_DRIVER_H

#include "../../nccl/net.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define must(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                  \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Each version of the interface, for rows of a test. */
static const int driver_versions[] = {8, 9, 10, 11, 12};

struct driver {
    int version;
    const void *table;
    void *context;
};

/* The lines that the plugin has written to NCCL's log; the last ones. */
extern char driver_log[4096];

/* Loads the plugin of $ZCRP_BUILD (build), or only looks up the table. */
struct driver driver_find(int version);
int driver_init(struct driver *d);
struct driver driver_load(int version);
void driver_finalize(const struct driver *d);

/* What the version does not say is 0. */
struct net_properties_v12 driver_properties(const struct driver *d, int device);

/* The device that has this name. */
int driver_device(const struct driver *d, const char *name);

/* One call each, as the table's; a result of NCCL's. */
int driver_listen(const struct driver *d, void *handle, void **listener);
int driver_connect(const struct driver *d, void *handle, void **sender);
int driver_send(const struct driver *d, void *sender, void *memory, size_t size, void **request);
int driver_receive(const struct driver *d, void *receiver, int count, void *memory, size_t size,
                   void **request);
int driver_accept(const struct driver *d, void *listener, void **receiver);
struct net_registration driver_registration(const struct driver *d);
struct net_endings driver_endings(const struct driver *d);

/* Until there is a comm, or for 40 s; its result, and NULL. */
int driver_connect_fully(const struct driver *d, void *handle, void **sender);
int driver_accept_fully(const struct driver *d, void *listener, void **receiver);

/* Tests until the request has ended, for 40 s; its result, and its size. */
int driver_end(const struct driver *d, void *request, int *size);

#endif
