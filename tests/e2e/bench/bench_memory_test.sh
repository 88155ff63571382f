#!/bin/sh
# zcrp-bench between two ends on this host: from memory to memory, over UDP, and what the table calls it.
# load: asleep
set -u
. "$(dirname "$0")/../../support/bench.sh"
unset ZCRP_NO_MEMORY

# May one process read the memory of another of the same user here?
"$bench" --transport zcrp --size 64K --count 9 --repeat 1 --channel memory --quiet 2>"$place/said" || {
    grep -q "out of reach" "$place/said" && echo "no process may read another's memory here" && exit 77
    cat "$place/said"
}

# once TEXT : an assertion about the runs of $place/json, in Python.
once() {
    check "$1" python3 -c "
import json
runs = json.load(open('$place/json'))['runs']
once = [run['receiver']['stats']['bytes_copied_once'] for run in runs]
assert $1, (once, runs)"
}

some="--transport zcrp --count 200 --repeat 2"
# Small messages in such a number that the ends meet before the last one, on a busy machine, too.
check "small as it comes" "$bench" $some --count 20000 --size 64,1K --verify
for size in 64 1K; do
    shows "memory at $size" "^zcrp +memory +$size "
done
check "as it comes" "$bench" $some --size 64K,1M --verify --memory 8M --json "$place/json"
for size in 64K 1M; do
    shows "memory at $size" "^zcrp +memory +$size "
done
once "sum(bytes > run['bytes'] / 2 for bytes, run in zip(once, runs)) == 4"
check "required" "$bench" $some --size 64,64K --channel memory
shows "its name" "^zcrp +memory +64K "
check "over UDP" "$bench" $some --size 64,64K --channel udp --json "$place/json"
shows "its name" "^zcrp +udp +64K "
once "not any(once)"
check "small units" "$bench" $some --size 64K --unit 1472 --verify
shows "are copied twice, by memory" "^zcrp +memory +64K "
check "round trips" "$bench" --ping --transport zcrp --size 64K --count 200 --repeat 1
shows "their name" "^zcrp +memory +64K "
check "the other way" "$bench" $some --size 64K --reverse
shows "its name" "^zcrp +memory +64K "
check "flows" "$bench" $some --size 64K --parallel 2
shows "their name" "^zcrp +memory +64K "
check "connections" "$bench" --peers 4 --transport zcrp --size 64K --duration 0.2 --repeat 1
shows "their name" "^zcrp +memory +64K "
check "messages that both map" "$bench" --peers 4 --transport zcrp --size 64,64K --duration 0.2 --repeat 1 \
    --channel mapped
shows "their name" "^zcrp +mapped +64K "
complains 2 "it needs --peers" --channel mapped
check "connections over UDP" "$bench" --peers 4 --transport zcrp --size 64K --duration 0.2 --repeat 1 --channel udp
shows "their name" "^zcrp +udp +64K "

# ---- where it cannot be had, or would hide what was asked for

check "the doctor tries it" "$bench" doctor
shows "that it may" '^ok +memory: a process of this user may read another'
check "by the environment" env ZCRP_NO_MEMORY=1 "$bench" $some --size 64K
shows "UDP" "^zcrp +udp +64K "
complaint "required, and forbidden" 1 "out of reach" env ZCRP_NO_MEMORY=1 "$bench" $some --size 64K --channel memory
check "loss" "$bench" $some --size 64K --loss 1% --json "$place/json"
shows "is of UDP" "^zcrp +udp +64K "
once "not any(once)"

# One end that wants none.
listen
check "one end wants it" env ZCRP_NO_MEMORY=1 "$bench" --connect "127.0.0.1:$port" $some --size 64K
shows "UDP" "^zcrp +udp +64K "
ends 0

conclude
