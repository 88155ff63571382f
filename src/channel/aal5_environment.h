/* ZCRP_AAL5 in the environment: options of AAL5 for programs that know nothing of it, and for
 * tests.
 *
 *     ZCRP_AAL5=mtu=1500,loss=10000,seed=7 */
#ifndef ZCRP_CHANNEL_AAL5_ENVIRONMENT_H
#define ZCRP_CHANNEL_AAL5_ENVIRONMENT_H

#include "channel.h"

/* Overrules what the variable names: mtu, loss, tagged, tagged_loss, swapped, merged, congested,
 * discard, seed. False if there is another word in it, or no number. */
__attribute__((warn_unused_result)) bool aal5_environment(struct channel_aal5 *options);

#endif
