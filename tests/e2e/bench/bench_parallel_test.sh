#!/bin/sh
# zcrp-bench: flows at once.
# load: asleep
set -u

. "$(dirname "$0")/../../support/bench.sh"

complains 2 "--parallel: '0'" --parallel 0
complains 2 "--parallel: '65'" --parallel 65
complains 2 "--ping has no --parallel" --ping --parallel 2
complains 2 "circuits for one flow" --parallel 2 --channel aal5 --transport zcrp
complains 2 "--parallel is for the connecting end" --listen 127.0.0.1:0 --parallel 2

# json TEXT : an assertion about the runs of $place/json, in Python.
json() {
    check "$1" python3 -c "
import json
runs = json.load(open('$place/json'))['runs']
assert $1, runs"
}

check "three flows" "$bench" --parallel 3 --transport zcrp,tcp:default --size 64K --count 20 \
    --repeat 2 --verify --json "$place/json"
shows "the index has a column" "to TCP +index$"
shows "every byte" "every byte verified"
json "all(run['flows'] == 3 and run['count'] == 60 for run in runs)"
json "all(run['bytes'] == 60 * 65536 for run in runs)"
json "all(1 / 3 <= run['fairness'] <= 1 + 1e-9 for run in runs)"
json "all(run['receiver']['stats']['bytes_arrived'] == run['bytes'] for run in runs[::2])"

check "one flow" "$bench" --transport zcrp --size 64K --count 20 --repeat 1 --json "$place/json"
check "no column" sh -c "! grep -q index '$place/out'"
json "runs[0]['flows'] == 1 and runs[0]['fairness'] == 1"

check "for a time, with lines" "$bench" --parallel 2 --rate 100M --transport zcrp --size 64K --duration 0.5 \
    --repeat 1 --interval 0.1
shows "lines" "^ +0.2 "

listen
"$bench" --connect "127.0.0.1:$port" --parallel 3 --rate 100M --transport zcrp --size 64K --duration 30 \
    >/dev/null 2>"$place/said" &
sender=$!
sleep 3 # it runs by then, on a busy machine, too
kill "$sender"
wait "$sender" 2>/dev/null
ends 1
check "the other end says why" grep -E "hung up|closed|nothing has arrived" "$place/listener"

conclude
