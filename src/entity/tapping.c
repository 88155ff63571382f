/* The user's tap, behind the channel's. */
#include "turns.h"

#include "channel/channel.h"

static void see(void *context, const struct channel *c, const struct channel_crossing *crossing)
{
    const struct zcrp_entity *e = context;

    e->options.tap(e->options.tap_context, &(struct zcrp_crossing){
                                               .time_ns = crossing->time_ns,
                                               .descriptor = entity_given(e, c),
                                               .is_outward = crossing->is_outward,
                                               .bytes = crossing->bytes,
                                               .piece_count = crossing->count,
                                               .pieces = crossing->pieces,
                                               .is_pdu = crossing->is_pdu,
                                               .vpi = (uint8_t)crossing->circuit.vpi,
                                               .vci = (uint16_t)crossing->circuit.vci,
                                           });
}

struct channel_tap tapping_of(struct zcrp_entity *e)
{
    return (struct channel_tap){.see = e->options.tap != NULL ? see : NULL, .context = e};
}
