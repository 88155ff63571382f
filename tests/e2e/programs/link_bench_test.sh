#!/bin/sh
# ZCRP and TCP between two network namespaces over a link that loses, reorders, doubles and corrupts:
# every byte verified. The programs are in $ZCRP_BUILD.
# load: asleep
set -u

. "$(dirname "$0")/../../support/script.sh"

needs_link

# counts WHAT FILE : its sum over all places where the JSON has it is not 0.
counts() {
    test "$(grep -o "\"$1\": [0-9]*" "$2" | awk '{ sum += $2 } END { print sum }')" -gt 0
}

# carries CONDITION... : over such a link messages arrive, and the link has done something.
carries() {
    conditions=$*
    what=$1
    shift
    check "messages over $conditions" "$build/zcrp-link" --rate 100M --delay 1ms "$@" --port 7000 --wait 20s \
        --json "$place/link" -- \
        "$build/zcrp-bench" --connect 198.18.0.2:7000 --size 256K --count 16 --repeat 1 --verify \
        --transport zcrp,tcp:default --json "$place/bench" -- "$build/zcrp-bench" --listen 0.0.0.0:7000 --once
    check "both transports over $conditions" test "$(grep -c '"verified": true' "$place/bench")" -eq 2
    check "$what of $conditions" counts "$what" "$place/link"
}

carries arrived_packets
carries lost --loss 1%
carries reordered --reorder 3% --reorder-by 4
carries corrupted --corrupt 1% --duplicate 5%
carries dropped --queue 20p
carries lost --loss 1% --reorder 2% --duplicate 1% --corrupt 0.5% --jitter 200us --mtu 9180

conclude
