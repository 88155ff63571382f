#!/bin/sh
# zcrp-bench beside competitors for the processor.
set -u

. "$(dirname "$0")/../support/bench.sh"

# competitors : how many zcrp-load run that were told to be 7 processes: nobody else asks for that.
competitors() {
    cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' | grep -o '[z]crp-load --processes 7 ' | wc -l
}

complains 2 "--load: '0'" --load 0
complains 2 "--load: '1025'" --load 1025

cp "$bench" "$place/alone"
check "without zcrp-load" sh -c \
    "! PATH=/nowhere '$place/alone' --load 1 --size 1K --count 1 --transport zcrp 2>'$place/said'"
check "says so" grep "cannot run zcrp-load: No such file" "$place/said"

"$bench" --transport zcrp --size 1K --count 100000000 --repeat 1 --load 7 >/dev/null 2>&1 &
sender=$!
tries=0
while [ "$(competitors)" -lt 16 ] && [ $tries -lt 100 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
check "competitors of both ends, and their parents" test "$(competitors)" -eq 16
kill "$sender"
wait "$sender" 2>/dev/null
tries=0
while [ "$(competitors)" -gt 0 ] && [ $tries -lt 100 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
check "nobody is left behind" test "$(competitors)" -eq 0

check "under load" "$bench" --transport zcrp,tcp:default --size 64K --count 50 --repeat 1 --load 1 \
    --verify

conclude
