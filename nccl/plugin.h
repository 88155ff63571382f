/* The plugin's state, which plugin.c sets up once, and NCCL's log. All parts of the plugin use
 * both. */
#ifndef NCCL_PLUGIN_H
#define NCCL_PLUGIN_H

#include "interfaces.h"
#include "net.h"

#include <zcrp.h>

enum {
    PLUGIN_COMMS_MOST = 16384,     /* that a listener takes */
    PLUGIN_MESSAGE_MOST = 1 << 30, /* bytes: NCCL asks for sizes as int */
};

struct plugin {
    net_logger log; /* NULL: none yet */
    struct interface device[INTERFACES_MOST];
    int device_count;
    struct zcrp_keys *keys; /* NULL: nothing is encrypted */
    bool tells_watched;     /* NCCL says which receives are watched (net.h), from version 9 on */
};

extern struct plugin plugin; /* constant from the first init on */

/* Options of a listener, and of a connection to one. */
struct zcrp_options plugin_options(void);

/* Writes a line to NCCL's log. */
__attribute__((format(printf, 4, 5))) void plugin_log(int level, const char *where, int line,
                                                      const char *format, ...);

#define plugin_warn(...) plugin_log(NET_LOG_WARN, __FILE__, __LINE__, __VA_ARGS__)
#define plugin_inform(...) plugin_log(NET_LOG_INFO, __func__, __LINE__, __VA_ARGS__)

/* What NCCL is told of a code of libzcrp: an enum net_result. */
int plugin_result(int code);

#endif
