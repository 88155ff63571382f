#!/bin/sh
# zcrp-bench: lines while a measurement is under way.
# load: asleep
set -u

. "$(dirname "$0")/../../support/bench.sh"

complains 2 "--interval: '0'" --interval 0
complains 2 "--interval: 'often'" --interval often
complains 2 "--ping has no --interval" --ping --interval 1
complains 2 "--interval is for the connecting end" --listen 127.0.0.1:0 --interval 1

# At full speed both ends would take what other tests could have of the processors.
rate="--rate 100M"

# lines : how many lines of intervals the last output has.
lines() {
    grep -cE "^ +[0-9.]+  +[0-9.k]+  +[0-9-]+  " "$place/out"
}

# has_lines LEAST ARGUMENT... : a measurement writes so many. A busy machine may let it write fewer: hence the tries.
has_lines() {
    least=$1
    shift
    for try in 1 2 3; do
        check "zcrp-bench $*" "$bench" "$@"
        count=$(lines)
        [ "$count" -lt "$least" ] || break
    done
}

has_lines 5 $rate --transport zcrp --size 64K --duration 0.7 --repeat 1 --interval 0.1 --depth 64
shows "of what" "^zcrp, messages of 64K$"
shows "with the round trip, the window and the work" "[0-9]+ +[0-9.]+ +[0-9]+ +[0-9]+ %$"
check "lines" test "$count" -ge 5

has_lines 3 $rate --transport tcp:default --size 64K --duration 0.5 --repeat 1 --interval 0.1
shows "as much of tcp" "^ +[0-9.]+ +[0-9.]+ +[0-9]+ +[0-9.]+ +[0-9]+ +[0-9]+ %$"
check "lines of tcp" test "$count" -ge 3

check "uneven" "$bench" $rate --transport tcp:default --size 64K --duration 0.4 --repeat 1 --interval 0.125
shows "times are not rounded to tenths" "^ +0\.125 "

check "udp-limit" "$bench" $rate --transport udp-limit --size 64K --duration 0.5 --repeat 1 --interval 0.1
shows "what cannot be seen is a dash" "^ +[0-9.]+ +[0-9.]+ +- +- +- +[0-9]+ %$"

check "short" "$bench" --transport zcrp --size 1K --count 1 --repeat 1 --interval 60
check "no headings without lines" sh -c "! grep -q seconds '$place/out'"

check "json" "$bench" $rate --transport zcrp --size 64K --duration 0.4 --repeat 1 --interval 0.1 --json
cp "$place/out" "$place/json"
check "nothing but json" python3 -m json.tool "$place/json"

# One end killed in the midst of lines: the other complains, and does not hang.
listen
"$bench" --connect "127.0.0.1:$port" $rate --transport zcrp --size 64K --duration 30 --interval 0.1 \
    >/dev/null 2>"$place/said" &
sender=$!
sleep 3 # it is in the midst by then, on a busy machine, too
kill "$listener"
wait "$listener" 2>/dev/null
wait "$sender"
check "the sending end fails" test $? -eq 1
check "and says why" grep -E "hung up|gone|says nothing" "$place/said"

conclude
