/* NCCL's interface for network plugins, in declarations of this project's own. The source is NCCL
 * 2.30 (github.com/NVIDIA/nccl): plugins/net/README.md says what each call does, and
 * src/include/plugin/net/net_v8.h to net_v12.h have the layouts, which tests/nccl/interface_test.c
 * keeps.
 *
 * A plugin exports one table for each version that it speaks, ncclNetPlugin_v8 to _v12. NCCL takes
 * the newest one that it knows: v8 came with NCCL 2.20, v9 with 2.24, v10 with 2.26, v11 with 2.28,
 * v12 with 2.30.
 * A call returns an enum net_result. NCCL drives one sender or receiver from one thread at a time,
 * and different ones from any threads. */
#ifndef NCCL_NET_H
#define NCCL_NET_H

#include <stddef.h>
#include <stdint.h>

enum net_result {
    NET_OK = 0,
    NET_SYSTEM_ERROR = 2,     /* a system call failed, or there is no memory */
    NET_INTERNAL_ERROR = 3,   /* NCCL, or the plugin, did what it must not */
    NET_INVALID_ARGUMENT = 4, /* a handle that is none */
    NET_INVALID_USAGE = 5,    /* wrong settings, or sizes that differ between ranks */
    NET_REMOTE_ERROR = 6,     /* the peer is gone, or cannot be reached */
};

enum {
    NET_HANDLE_BYTES = 128, /* of a handle that a listening rank gives to a connecting one */
    NET_REQUESTS_MOST = 32, /* under way at once, for each sender and receiver */
    NET_MEMORY_HOST = 1,    /* a kind of memory; this plugin takes no other */
    NET_UNKNOWN = -1,
};

/* From version 9 on this lies where the request of a receive is to go, if NCCL's kernels look at
 * the memory itself, and do not wait until the receive has ended: with the protocols LL and LL128.
 * The user can switch that off (NCCL_NET_OPTIONAL_RECV_COMPLETION=0). */
#define NET_END_IS_OPTIONAL ((void *)(uintptr_t)1)

enum { NET_LOG_WARN = 2, NET_LOG_INFO = 3 };
enum { NET_LOG_OF_INIT = 1, NET_LOG_OF_NET = 16 }; /* subsystems, or-ed */

/* NCCL's logger: level, subsystems, file or function, line, and what printf takes. */
typedef void (*net_logger)(int level, unsigned long subsystems, const char *where, int line,
                           const char *format, ...);

/* ---- what a device is ---- */

struct net_identity {
    char *name;
    char *pci_path; /* in /sys; NULL: a virtual interface */
    uint64_t guid;
    int memory_kinds;           /* NET_MEMORY_HOST */
    int registration_is_global; /* one registration serves all senders and receivers */
};

struct net_limits {
    int speed_mbps;
    int port;
    float latency_us; /* 0: not known */
    int comms_most;
    int receives_most; /* of one request */
    int offload_kind;  /* 0: none */
    int offload_version;
};

/* The devices that were merged into this one. */
struct net_merged {
    int count;
    int device[4];
};

struct net_merged_v12 {
    int count;
    int device[8];
};

struct net_properties_v8 {
    struct net_identity identity;
    struct net_limits limits;
};

/* Also of version 10. */
struct net_properties_v9 {
    struct net_identity identity;
    int must_flush;
    struct net_limits limits;
    struct net_merged merged;
    size_t point_to_point_most; /* bytes of one message */
    size_t collective_most;
};

struct net_properties_v11 {
    struct net_properties_v9 before;
    int requests_joined_most;
};

struct net_properties_v12 {
    struct net_identity identity;
    int must_flush;
    struct net_limits limits;
    struct net_merged_v12 merged;
    size_t point_to_point_most;
    size_t collective_most;
    int requests_joined_most;
    int16_t rail, plane; /* NET_UNKNOWN */
};

/* ---- the calls that all versions have, in the order of the tables ---- */

typedef int (*net_accept)(void *listener, void **receiver, void **offload);

struct net_registration {
    int (*add)(void *comm, void *memory, size_t size, int kind, void **registration);
    int (*add_dma_buffer)(void *comm, void *memory, size_t size, int kind, uint64_t offset, int fd,
                          void **registration);
    int (*remove)(void *comm, void *registration);
};

struct net_endings {
    int (*flush)(void *receiver, int count, void **memory, int *sizes, void **registrations,
                 void **request);
    int (*test)(void *request, int *is_done, int *sizes);
    int (*close_sender)(void *sender);
    int (*close_receiver)(void *receiver);
    int (*close_listener)(void *listener);
    int (*registration_on_device)(void *comm, void *registration, void **on_device);
    int (*consumed)(void *receiver, int count, void *request);
};

/* ---- the tables ---- */

struct net_v8 {
    const char *name;
    int (*init)(net_logger log);
    int (*devices)(int *count);
    int (*properties)(int device, struct net_properties_v8 *properties);
    int (*listen)(int device, void *handle, void **listener);
    int (*connect)(int device, void *handle, void **sender, void **offload);
    net_accept accept;
    struct net_registration registration;
    int (*send)(void *sender, void *memory, int size, int tag, void *registration, void **request);
    int (*receive)(void *receiver, int count, void **memory, int *sizes, int *tags,
                   void **registrations, void **request);
    struct net_endings endings;
};

struct net_v9 {
    const char *name;
    int (*init)(net_logger log);
    int (*devices)(int *count);
    int (*properties)(int device, struct net_properties_v9 *properties);
    int (*listen)(int device, void *handle, void **listener);
    int (*connect)(int device, void *handle, void **sender, void **offload);
    net_accept accept;
    struct net_registration registration;
    int (*send)(void *sender, void *memory, size_t size, int tag, void *registration,
                void **request);
    int (*receive)(void *receiver, int count, void **memory, size_t *sizes, int *tags,
                   void **registrations, void **request);
    struct net_endings endings;
    int (*merge)(int *device, struct net_merged *merged);
};

/* From version 10 on a request may have a handle of NCCL's profiler. */
typedef int (*net_send)(void *sender, void *memory, size_t size, int tag, void *registration,
                        void *profile, void **request);
typedef int (*net_receive)(void *receiver, int count, void **memory, size_t *sizes, int *tags,
                           void **registrations, void **profiles, void **request);

struct net_v10 {
    const char *name;
    int (*init)(net_logger log, void *profiler);
    int (*devices)(int *count);
    int (*properties)(int device, struct net_properties_v9 *properties);
    int (*listen)(int device, void *handle, void **listener);
    int (*connect)(int device, void *config, void *handle, void **sender, void **offload);
    net_accept accept;
    struct net_registration registration;
    net_send send;
    net_receive receive;
    struct net_endings endings;
    int (*merge)(int *device, struct net_merged *merged);
};

/* Also of version 12, whose properties are those of that version. A context is made for each of
 * NCCL's communicators. */
struct net_v11 {
    const char *name;
    int (*init)(void **context, uint64_t communicator, void *config, net_logger log,
                void *profiler);
    int (*devices)(int *count);
    int (*properties)(int device, void *properties);
    int (*listen)(void *context, int device, void *handle, void **listener);
    int (*connect)(void *context, int device, void *handle, void **sender, void **offload);
    net_accept accept;
    struct net_registration registration;
    net_send send;
    net_receive receive;
    struct net_endings endings;
    int (*merge)(int *device, void *merged);
    int (*finalize)(void *context);
    int (*set_attributes)(void *context, void *attributes);
};

#endif
