#!/bin/sh
# zcrp-bench over a channel that it makes lose: everything arrives, and most of it in place.
set -u

. "$(dirname "$0")/../support/bench.sh"

for percent in 1 100% x% -1% %; do
    complains 2 "--loss: '$percent' is not from 0% to 90%" --loss "$percent"
done

complains 2 "--loss: udp-limit does not repeat what is lost" --loss 1% --transport zcrp,udp-limit

cat >"$place/landed.py" <<'PYTHON'
import json, sys

for run in json.load(open(sys.argv[1]))["runs"]:
    assert run["verified"]
    if run["transport"] == "zcrp":
        assert run["repeated_units"] > 0, run
        assert run["in_place_units"] >= float(sys.argv[2]) * run["units"], run
PYTHON
check "loss, each unit by itself" "$bench" --transport zcrp,tcp:default --loss 1% --size 1M \
    --count 20 --memory 4M --unit 1472 --no-offload --repeat 1 --verify --json "$place/json"
check "19 of 20 units in place" python3 "$place/landed.py" "$place/json" 0.95
check "loss of bursts" "$bench" --transport zcrp --loss 20% --size 100K --count 50 --memory 4M \
    --unit 1472 --repeat 1 --verify --json "$place/json"
check "everything arrived" python3 "$place/landed.py" "$place/json" 0
check "cells lost, at AAL5's usual MTU" "$bench" --channel aal5-udp --transport zcrp \
    --cell-loss 10000 --size 64M --count 1 --repeat 1 --verify --json "$place/json"
check "everything arrived" python3 "$place/landed.py" "$place/json" 0

# ---- a seed: so far as packets come in the same order, the same are lost

complains 2 "--seed: '0' is not a number from 1 to 4294967295" --loss 1% --seed 0
complains 2 "--seed: '1x' is not a number" --loss 1% --seed 1x
complains 2 "--seed is of --loss or --cell-loss" --seed 1
cells="--channel aal5-udp --transport zcrp --cell-loss 10000 --size 1M --count 4 --repeat 1"
check "cells lost by a seed" "$bench" $cells --seed 7 --verify --json "$place/json"
check "the seed of cells" grep -x '  "seed": 7,' "$place/json"
check "no seed" "$bench" $cells --json "$place/json"
check "null without a seed" grep -x '  "seed": null,' "$place/json"

# may_lose_so COMMAND... : whether zcrp-bench may give the kernel its filter, started so.
may_lose_so() {
    "$@" "$bench" --loss 1% --seed 1 --transport zcrp --size 1K --count 1 --repeat 1 --quiet 2>"$place/said"
}
if may_lose_so env; then
    check "loss by a seed" "$bench" --transport zcrp,tcp:default --loss 2% --seed 7 --size 1M \
        --count 20 --memory 4M --unit 1472 --no-offload --repeat 1 --parallel 2 --verify \
        --json "$place/json"
    check "everything arrived" python3 "$place/landed.py" "$place/json" 0.8
    check "the seed" grep -x '  "seed": 7,' "$place/json"
    if [ "$(cat /proc/sys/kernel/unprivileged_bpf_disabled 2>/dev/null || echo 0)" -ne 0 ] &&
        setpriv --bounding-set -bpf,-sys_admin true 2>/dev/null; then
        may_lose_so setpriv --bounding-set -bpf,-sys_admin
        check "status without the right" test $? -eq 1
        check "what it takes" grep -F "takes CAP_BPF at both ends" "$place/said"
    fi
else
    check "what it takes" grep -F "takes CAP_BPF at both ends" "$place/said"
fi

conclude
