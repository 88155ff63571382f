#!/bin/sh
# The experiments of the laboratory run, and say what they should.
set -u

. "$(dirname "$0")/../support/script.sh"

lab=$build/lab
needs "$lab/latch_latency" "$lab/overlap" "$lab/connections"

# told PATTERN : the last output that was checked has such a line.
told() {
    cp "$place/out" "$place/told"
    check "it says $1" grep -E "$1" "$place/told"
}

for way in "" two; do
    check "waking a waiter $way" "$lab/latch_latency" $way
    told 'us: 10 % [0-9]+, median [0-9]+, 90 % [0-9]+, most [0-9]+$'
done
complaint "no such way" 2 "usage: latch_latency" "$lab/latch_latency" three

check "computing meanwhile" "$lab/overlap" 50
told '^50 messages: .*; both over the longer: median [0-9.]+ \([0-9.]+\.\.[0-9.]+\)$'
complaint "too few messages" 2 "usage: overlap" "$lab/overlap" 1

check "connections" "$lab/connections" 20 65536
told '^20 connections: .* 5 threads; each [0-9.]+ KiB, 1\.[0-9]+ descriptors$'
complaint "too many connections" 2 "usage: connections" "$lab/connections" 20000

conclude
