/* The options of an entity: made complete, and as options of its channels. */
#ifndef ZCRP_LINK_OPTIONS_H
#define ZCRP_LINK_OPTIONS_H

#include "transport/channel.h"
#include "zcrp.h"

#include <stdbool.h>

/* Flags of complete options, beside the user's (enum zcrp_option_flags). */
enum {
    OPTIONS_CONNECT_SAID = 1 << 30, /* the user has said how long to look for a peer */
    OPTIONS_OWN_KEYS = 1 << 29, /* the keys are of the environment's file: see options_release */
};

/* The longest time of complete options: 146 years, as good as no limit. It may be added to any
 * reading of the clock. */
#define OPTIONS_LONGEST (NEVER / 2)

/* Copies the user's options, of a struct of `size` bytes (NULL: none), with every 0 replaced by its
 * default, but for unit_bytes, whose default is the path's, and aal5.vci_control, whose default
 * depends on what the channel is for. Times longer than OPTIONS_LONGEST become that. ZCRP_OK, or
 * ZCRP_ERROR_ARGUMENT if one is out of its range, or the struct has something that this library
 * does not know; the reason names it (reason.h). Or as zcrp_keys_read: the keys of the environment,
 * if the user wants them. */
__attribute__((warn_unused_result)) int
options_complete(struct zcrp_options *complete, const struct zcrp_options *given, size_t size);

/* Whatever was to be made with complete options is made, and holds the keys, or could not be made.
 */
void options_release(struct zcrp_options *complete);

/* ZCRP_ERROR_ARGUMENT: a channel of AAL5 refuses complete options, because of them or of ZCRP_AAL5
 * in the environment. Says which of their values it is, also of a half of a connection. */
int options_refuse_aal5(const struct zcrp_options *o, bool is_half);

/* What complete options say about one channel of the entity, a sender's or a receiver's, on this
 * descriptor. No tap. Over AAL5 units and control have a circuit each, which may be the same. Over
 * a connection, of which this is a half, both go both ways, and a circuit takes the pieces of one
 * sender only: control has a circuit of its own, the next one, unless the options name another, and
 * the receiver has both to receive from. */
struct channel_options options_of_channel(const struct zcrp_options *o, bool is_sender,
                                          bool is_half, int fd);

#endif
