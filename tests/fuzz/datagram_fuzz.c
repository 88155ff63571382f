/* The input is a datagram, offered to every decoder: at most one takes it, none reads beside it,
 * and what is taken encodes to the same bytes. */
#include "script.h"

#include "../support/round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t size)
{
    if (size < ROUND_TRIP_MOST)
        round_trip_accepted(in, size);
    return 0;
}
