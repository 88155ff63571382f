#!/bin/sh
# zcrp-bench over a channel that it makes lose: everything arrives, and most of it in place.
# load: asleep
set -u

. "$(dirname "$0")/../../support/bench.sh"

for percent in 1 100% 91%; do
    complains 2 "--loss is 90% at most" --loss "$percent"
done
for percent in x% -1% % 101%; do
    complains 2 "--loss: '$percent' is not a share" --loss "$percent"
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
check "loss, each unit by itself" env ZCRP_NO_OFFLOAD=1 "$bench" --transport zcrp,tcp:default --loss 1% --size 1M \
    --count 20 --memory 4M --unit 1472 --repeat 1 --verify --json "$place/json"
check "19 of 20 units in place" python3 "$place/landed.py" "$place/json" 0.95
check "loss of bursts" "$bench" --transport zcrp --loss 20% --size 100K --count 50 --memory 4M \
    --unit 1472 --repeat 1 --verify --json "$place/json"
check "everything arrived" python3 "$place/landed.py" "$place/json" 0
check "cells lost, at AAL5's usual MTU" env ZCRP_AAL5=loss=10000,seed=7 "$bench" --channel aal5-udp \
    --transport zcrp --size 64M --count 1 --repeat 1 --timeout 100 --verify --json "$place/json"
check "everything arrived" python3 "$place/landed.py" "$place/json" 0

conclude
