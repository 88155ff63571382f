#!/bin/sh
# zcrp-bench over sizes: sweeps, their pictures, and what it shows on a terminal meanwhile.
set -u

. "$(dirname "$0")/../../support/bench.sh"

complains 2 "--size: '64..' is no sweep" --size 64..
complains 2 "--size: '64..1M*1' is no sweep" --size '64..1M*1'
complains 2 "--size: '64..1M*x' is no sweep" --size '64..1M*x'
complains 2 "--size: '1K..64' is no sweep" --size 1K..64
complains 2 "more than 64 sizes" --size 1..1G,1..1G,1..1G

# sizes TEXT SIZE... : this --size means these sizes.
sizes() {
    text=$1
    shift
    check "sweep $text" "$bench" --transport zcrp --size "$text" --count 3 --memory 1M --repeat 1 \
        --json "$place/json"
    check "sizes of $text" test "$(sed -n 's/^    {"transport.*"size": \([0-9]*\), "count".*/\1/p' \
        "$place/json" | tr '\n' ' ')" = "$* "
}

sizes '64..1000' 64 128 256 512
sizes '64..64' 64
sizes '7,100..2500*5,1K' 7 100 500 2500 1024

plot=$build/zcrp-plot
if [ -x "$plot" ] && command -v gnuplot >/dev/null; then
    check "a sweep" "$bench" --transport zcrp,tcp:default,udp-limit --size '1K..64K*4' --count 20 \
        --memory 1M --repeat 2 --json "$place/json"
    check "its picture" "$plot" "$place/json"
    for text in '<svg' '>zcrp<' '>tcp:default<' '>throughput, Gbit/s<' '>message size' '>16K<'; do
        check "the picture has $text" grep -F -e "$text" "$place/json.svg"
    done
    check "its processor time" "$plot" "$place/json" --figure processor --log --output "$place/processor.svg"
    check "is another figure" grep -F '>processor time of both ends, s/GB<' "$place/processor.svg"
    check "for dark schemes, too" grep -F '(prefers-color-scheme: dark)' "$place/processor.svg"
    complaint "no such figure" 2 "invalid choice: 'nothing'" "$plot" "$place/json" --figure nothing
    check "two files" "$plot" "$place/json" "$place/json" --output "$place/both.svg"
    check "name the channel" grep -F '>zcrp/' "$place/both.svg"
    printf '%s\n' '{"ylabel": "share, %", "groups": [{"label": "a\n1 % lost", "bars": [{"name": "zcrp", "values": [7]}]}]}' \
        >"$place/bars"
    check "bars" "$plot" "$place/bars"
    check "have labels" grep -F '1 % lost<' "$place/bars.svg"
    check "round trips" "$bench" --ping --size 64,1K --count 20 --repeat 1 --json "$place/json"
    check "their picture" "$plot" "$place/json" --output "$place/it's.svg"
    check "a time" grep -F '>round trip, us<' "$place/it's.svg"
    echo '{"runs": 3}' >"$place/json"
    complaint "no results" 1 "not the results of zcrp-bench" "$plot" "$place/json"
fi

# Progress is for terminals.
run="$bench --transport zcrp --size 1K --count 9 --repeat 3"
check "on a terminal" script -qec "$run" /dev/null
shows "time left" '2 of 3, about [0-9]+ s left: zcrp, messages of 1K: '
check "quiet on a terminal" script -qec "$run --quiet" /dev/null
check "is quiet" test ! -s "$place/out"
$run 2>"$place/said" >/dev/null
check "nothing where there is no terminal" test ! -s "$place/said"

conclude
