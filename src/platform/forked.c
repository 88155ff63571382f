#include "forked.h"

#include "core/check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static _Atomic uint32_t generation;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void (*on_child)(void);

uint32_t forked_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

static void be_child(void)
{
    atomic_fetch_add(&generation, 1);
    on_child();
}

static void watch(void)
{
    CHECK(pthread_atfork(NULL, NULL, be_child) == 0);
}

void forked_watch(void (*child)(void))
{
    on_child = child;
    CHECK(pthread_once(&once, watch) == 0);
}
