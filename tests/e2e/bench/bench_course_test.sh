#!/bin/sh
# zcrp-bench over time: jobs that last so long, and jobs that keep to a rate.
# load: asleep
set -u

. "$(dirname "$0")/../../support/bench.sh"

# ---- mistakes

complains 2 "--duration: '0' is not a number of seconds" --duration 0
complains 2 "--duration: '1x'" --duration 1x
complains 2 "--duration: '99999999'" --duration 99999999
complains 2 "--rate: '-1' is not a rate, as 64k, 155M or 2.5G" --rate -1
complains 2 "--rate: '1..5M'" --rate 1..5M
complains 2 "--rate: '0.0'" --rate 0.0
complains 2 "--duration has no --count" --duration 1 --count 1
complains 2 "--duration has no --bytes" --duration 1 --bytes 1
complains 2 "--ping with --duration needs --rate" --ping --duration 1

# ---- a time, not a count: each end knows how many there were, and they are the ones that were sent

cat >"$place/lasted.py" <<'PYTHON'
import json, sys

least, most = float(sys.argv[2]), float(sys.argv[3])
for run in json.load(open(sys.argv[1]))["runs"]:
    assert run["bytes"] == run["count"] * run["size"]
    assert 1 <= run["depth"] <= 1024, run
    assert run["seconds"] >= least, run
    assert run["count"] <= most, run
    if run["transport"] == "zcrp":
        ends = run["sender"]["stats"], run["receiver"]["stats"]
        assert [end["messages"] for end in ends] == [run["count"]] * 2, ends
PYTHON
check "for a time" "$bench" --transport zcrp,tcp:default,udp-limit --size 64,10000,3M \
    --duration 0.1 --memory 6M --repeat 2 --json "$place/json"
check "lasted" python3 "$place/lasted.py" "$place/json" 0.099 inf
cat >"$place/ratio.py" <<'PYTHON'
import json, sys

results = json.load(open(sys.argv[1]))
runs, summary = results["runs"], results["summary"]
for line in summary:
    ratio = line["gbit_per_s"] / next(other["gbit_per_s"] for other in summary if
                                      other["size"] == line["size"] and "tcp" in other["transport"])
    assert abs(line["ratio_to_tcp"] / ratio - 1) < 1e-6, line
PYTHON
check "for a time, once" "$bench" --transport zcrp,tcp:default --size 64,64K --duration 0.05 \
    --memory 6M --repeat 1 --json "$place/json"
check "the ratio is of speeds" python3 "$place/ratio.py" "$place/json"
check "for a time, verified" "$bench" --transport zcrp,tcp:default --size 1,70001 --duration 0.05 \
    --memory 6M --repeat 2 --verify --json "$place/json"
check "every byte" python3 -c 'import json, sys
assert all(run["verified"] for run in json.load(open(sys.argv[1]))["runs"])' "$place/json"
check "one message at a time" "$bench" --size 1M --duration 0.05 --memory 6M --repeat 1 --depth 1 \
    --json "$place/json"
check "one under way" python3 -c 'import json, sys
assert all(run["depth"] == 1 for run in json.load(open(sys.argv[1]))["runs"])' "$place/json"

# ---- a rate: what is sent in a time is bounded by it, whatever the machine does

check "paced, for a time" "$bench" --transport zcrp,tcp:default,udp-limit --size 1000 --rate 8M \
    --duration 0.2 --memory 6M --repeat 1 --json "$place/json"
check "at most 200 messages, and those ahead" python3 "$place/lasted.py" "$place/json" 0.199 240
check "paced, so many" "$bench" --transport zcrp,tcp:default,udp-limit --size 10K --rate 8.192M \
    --count 20 --memory 6M --repeat 1 --json "$place/json"
check "20 messages take 20 intervals" python3 "$place/lasted.py" "$place/json" 0.199 20

listen
check "the sending end decides" "$bench" --connect "127.0.0.1:$port" --rate 0.8G --duration 0.1 \
    --transport zcrp,tcp:default --size 10000 --memory 6M --repeat 1
ends 0

conclude
