/* Hellos: what each does to the session, and how it is answered. */
#ifndef ZCRP_CORE_RECEIVER_HELLO_H
#define ZCRP_CORE_RECEIVER_HELLO_H

#include "receiver_state.h"

/* A hello arrived. */
void receiver_on_hello(struct receiver *r, instant now, const struct hello *hello);

/* A hello of another version arrived, of which only the numbers at its end are known. */
void receiver_on_foreign_hello(struct receiver *r, struct pairing echoed);

#endif
