/* Numbers on the wire, and the 64-bit number that one stands for. The rules are those of
 * tests/fuzz/wire_fuzz.c.
 *
 * bound: any numbers, any bytes
 * sources: none
 * unwind: 9
 * stage: quick
 */
#include "proof.h"

#include "tests/support/wire_rules.h"

int main(void)
{
    uint8_t bytes[8];

    wire_rule_of_copies(bytes);
    wire_rule_of_expand(nondet_u32(), nondet_u64() >> 1);
    REACHED();
}
