#include "first_messages.h"

#include "core/check.h"

#include <stdlib.h>

bool first_messages_make(struct first_messages *f, uint32_t count, nlong bytes)
{
    *f = (struct first_messages){.count = 0};
    if (count == 0)
        return true;
    f->message = calloc(count, sizeof(struct message *));
    if (f->message == NULL)
        return false;
    for (; f->count < count; f->count++) {
        struct message *m = message_create(bytes);
        if (m == NULL) {
            first_messages_free(f);
            return false;
        }
        m->is_lent = true;
        f->message[f->count] = m;
    }
    return true;
}

/* The table has room for them all (options.c). */
void first_messages_post(struct first_messages *f, struct zcrp_entity *receiver)
{
    if (f->count == 0)
        return;
    entity_enter(receiver);
    instant now = clock_now();
    for (uint32_t i = 0; i < f->count; i++) {
        struct message *m = f->message[i];
        message_begin(m, receiver, m->public.message_size);
        CHECK(machine_submit(&receiver->machine, now, m));
    }
    entity_leave(receiver);
}

void first_messages_free(struct first_messages *f)
{
    for (uint32_t i = 0; i < f->count; i++) {
        struct message *m = f->message[i];
        CHECK(m != NULL);
        m->is_lent = false;
        if (!message_is_in_flight(m))
            message_destroy(m);
    }
    free(f->message);
    *f = (struct first_messages){.count = 0};
}
