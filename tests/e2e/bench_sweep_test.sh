#!/bin/sh
# zcrp-bench over sizes: sweeps, pictures, and what it shows on a terminal meanwhile.
set -u

. "$(dirname "$0")/../support/bench.sh"

complains 2 "--size: '64..' is no sweep" --size 64..
complains 2 "--size: '64..1M*1' is no sweep" --size '64..1M*1'
complains 2 "--size: '64..1M*x' is no sweep" --size '64..1M*x'
complains 2 "--size: '1K..64' is no sweep" --size 1K..64
complains 2 "more than 64 sizes" --size 1..1G,1..1G,1..1G
check "without gnuplot" sh -c "PATH=/nowhere; ! '$bench' --plot '$place/x.svg' 2>'$place/said'"
check "says so" grep "needs gnuplot" "$place/said"

# sizes TEXT SIZE... : this --size means these sizes.
sizes() {
    text=$1
    shift
    check "sweep $text" "$bench" --transport zcrp --size "$text" --count 3 --memory 1M --repeat 1 \
        --csv "$place/csv"
    check "sizes of $text" test "$(sed 1d "$place/csv" | cut -d, -f3 | tr '\n' ' ')" = "$* "
}

sizes '64..1000' 64 128 256 512
sizes '64..64' 64
sizes '7,100..2500*5,1K' 7 100 500 2500 1024

if command -v gnuplot >/dev/null; then
    check "plot" "$bench" --transport zcrp,tcp:default,udp-limit --size '1K..64K*4' --count 20 \
        --memory 1M --repeat 2 --plot "$place/it's.svg"
    for text in '<svg' '>zcrp<' '>tcp:default<' '>throughput, Gbit/s<' '>message size' '>16K<'; do
        check "the picture has $text" grep -F -e "$text" "$place/it's.svg"
    done
    check "plot of round trips" "$bench" --ping --size 64,1K --count 20 --repeat 1 \
        --plot "$place/trips.svg"
    check "a time" grep -F '>round trip, us<' "$place/trips.svg"
    complains 1 "cannot write '$place/none/x.svg'" --size 1K --count 1 --repeat 1 \
        --transport zcrp --plot "$place/none/x.svg"
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
