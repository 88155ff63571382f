#!/bin/sh
# zcrp-bench over AF_UNIX streams and pipes: every byte arrives, round trips come back, an end that dies or
# stands still is told, and options that make no sense with them are refused.
# load: asleep
# stage: check-all
set -u

. "$(dirname "$0")/../../support/bench.sh"

# is_moving : both processes have read more than they need to begin.
is_moving() {
    receiver=$(first_child "$sender")
    [ -n "$receiver" ] || return 1 # not yet, or it has ended already
    read=$(cat "/proc/$sender/io" "/proc/$receiver/io" | awk '/^rchar/ { sum += $2 } END { print sum }')
    [ "$read" -gt 8000000 ]
}

# Beside much other work it takes long. If it does not move, all that is known of it is shown.
soon_is_moving() {
    eventually is_moving || eventually is_moving || eventually is_moving && return
    for process in "$sender" "$receiver"; do
        echo "process $process:" && grep -h -e State -e switches -e rchar -e wchar "/proc/$process/status" \
            "/proc/$process/io"
    done
    cat "$place/said"
    return 1
}

# begin ARGUMENT... : a run with much to do, processes $sender and $receiver; returns when it is under way.
begin() {
    "$bench" "$@" --size 64K --count 100000000 --memory 2M --repeat 1 --quiet 2>"$place/said" &
    sender=$!
    check "it begins: $*" soon_is_moving
}

# fails NAME TEXT : it fails, and says so.
fails() {
    [ -n "$receiver" ] || kill -9 "$sender" # nobody was stopped
    wait "$sender"
    got=$?
    check "status: $1" test $got -eq 1
    check "complaint: $1" grep -F "$2" "$place/said"
}

for kind in unix pipe; do
    check "$kind: every byte" "$bench" --transport $kind --verify --size 1,1400,70001,3M --count 77 \
        --memory 7M --repeat 2 --json "$place/json"
    shows "$kind: its buffer" "^$kind +$kind/[0-9]+[KM] +3M "
    check "$kind: its json" python3 -c "
import json
for run in json.load(open('$place/json'))['runs']:
    assert run['verified'] and run['count'] == 77 and run['units'] is None, run
    assert run['sender']['cpu_s'] > 0 and run['receiver']['cpu_s'] > 0, run"
    check "$kind: many small ones" "$bench" --transport $kind --verify --size 1,64 --count 30000 --repeat 1
    check "$kind: the way back" "$bench" --transport $kind --verify --reverse --size 1M --count 20 --repeat 1
    check "$kind: several flows" "$bench" --transport $kind --verify --parallel 3 --size 64K --count 50 \
        --repeat 1
    check "$kind: for a time, with a rate" "$bench" --transport $kind --size 64K --rate 100M --duration 0.3 \
        --interval 0.1 --repeat 1
    check "$kind: round trips" "$bench" --ping --transport $kind --size 64,100000 --count 200 --repeat 2
    shows "$kind: their table" "^$kind +$kind/[0-9]+[KM] +64 "
    check "$kind: round trips by a schedule" "$bench" --ping --transport $kind --size 1000 --rate 8M \
        --duration 0.3 --repeat 1
    check "$kind: more round trips than can be" "$bench" --ping --transport $kind --size 64K --rate 900G \
        --count 1000 --repeat 1
    begin --transport $kind
    kill -9 "$receiver"
    fails "$kind: the receiving process was killed" "process was killed"
    for way in "" --ping "--ping --rate 100M" --reverse; do
        [ $kind = unix ] || [ "$way" = "" ] || [ "$way" = --ping ] || continue # how an end waits is the same
        begin --transport $kind $way --timeout 3
        kill -STOP "$receiver"
        fails "$kind $way: the receiving process stands still" "$kind: nothing moves"
    done

    complains 2 "--connect: $kind is for two ends on one host" --connect localhost:1 --transport tcp,$kind
    complains 2 "--netns: $kind is for two ends on one host" --netns --transport $kind
    complains 2 "--loss: $kind does not repeat what is lost" --loss 1% --transport zcrp,$kind
    complains 2 "--peers: zcrp and tcp only, not $kind" --peers 2 --transport $kind
    complains 2 "--keys is of ZCRP" --keys --transport $kind
    complains 2 "of ZCRP: there is none in --transport" --trace "$place/file" --transport $kind
    complains 2 "'$kind:cubic': only tcp, tls and ktls have others" --transport $kind:cubic
    complains 2 "'$kind' is there twice" --transport $kind,$kind
done

check "a buffer of one's own" "$bench" --transport unix,pipe --buffers 64K --size 1M --count 9 --repeat 1
shows "doubled by the kernel" '^unix +unix/128K '
shows "as it is" '^pipe +pipe/64K '
check "beside the others" "$bench" --transport zcrp,tcp:default,unix,pipe --size 64K --count 20 --repeat 1
shows "with a ratio" '^unix .*[0-9.]+$'
check "beside ZCRP with keys, or why not" sh -c "'$bench' --keys --transport zcrp,unix --size 1K --count 9 \
    --repeat 1 --quiet 2>'$place/said' || grep -q 'built without keys' '$place/said'"

conclude
