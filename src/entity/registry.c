#include "registry.h"

#include "entity.h"

#include <sys/socket.h>

static struct mutex mutex = {PTHREAD_MUTEX_INITIALIZER};
static struct zcrp_entity *first;

uint64_t registry_cookie(int fd)
{
    uint64_t cookie = 0;
    socklen_t size = sizeof(cookie);

    return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

static bool has_socket(const struct registry_entry *entry, uint64_t socket)
{
    return socket != 0 && (entry->socket[0] == socket || entry->socket[1] == socket);
}

static bool are_rivals(const struct zcrp_entity *a, const struct zcrp_entity *b)
{
    return a->machine.role == b->machine.role && (has_socket(&a->registry, b->registry.socket[0]) ||
                                                  has_socket(&a->registry, b->registry.socket[1]));
}

bool registry_add(struct zcrp_entity *e)
{
    mutex_lock(&mutex);
    const struct zcrp_entity *other = first;
    while (other != NULL && !are_rivals(e, other))
        other = other->registry.next;
    if (other == NULL) {
        e->registry.next = first;
        first = e;
    }
    mutex_unlock(&mutex);
    return other == NULL;
}

void registry_remove(struct zcrp_entity *e)
{
    mutex_lock(&mutex);
    struct zcrp_entity **at = &first;
    while (*at != e)
        at = &(*at)->registry.next;
    *at = e->registry.next;
    mutex_unlock(&mutex);
}

void registry_after_fork(void)
{
    mutex_init(&mutex);
    first = NULL;
}
