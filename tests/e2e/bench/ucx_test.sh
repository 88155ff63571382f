#!/bin/sh
# The memory channel beside UCX: both are measured, and the log has the table.
# load: alone
# stage: check-all
set -u

. "$(dirname "$0")/../../support/script.sh"
unset ZCRP_NO_MEMORY

needs "$build/zcrp-bench"
command -v ucx_perftest >/dev/null || { echo "no ucx_perftest: sh tools/setup check-all"; exit 77; }

export ZCRP_BUILD="$build"
check "both are measured" tools/lab/bench-tables --only "beside UCX" --print --repeat 1
grep 'beside UCX |' "$place/out" | tee "$place/rows"
check "each row has a ratio" test "$(grep -c '| \*\*[0-9.]*\*\* |' "$place/rows")" -eq 5
conclude
