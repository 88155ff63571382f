#!/bin/sh
# stage: check-all
# A caller with keys behind a translator of addresses that forgets, or whose own address changes, in
# the middle of 200 MB: all arrives, and nothing pauses for a second. Programs are in $ZCRP_BUILD.
# load: asleep
set -u

. "$(dirname "$0")/../../support/script.sh"

needs "$build/lab/moves"
unset ZCRP_NO_MEMORY
ZCRP_BUILD=$build tools/lab/move-paths 200 >"$place/said" 2>&1
status=$?
[ $status -ne 77 ] || { cat "$place/said"; exit 77; }
cat "$place/said"
check "status" test $status -eq 0
check "the address changes" test "$(grep -c '^address, .*MB verified' "$place/said")" -eq 2
check "forgotten, or not tried" grep -q '^flushed' "$place/said"
check "no pause of a second" sh -c "! grep -E 'pause [0-9]{4,} ms' '$place/said'"
conclude
