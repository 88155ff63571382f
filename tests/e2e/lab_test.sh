#!/bin/sh
# The experiments of the laboratory run, and say what they should.
set -u

. "$(dirname "$0")/../support/script.sh"

lab=$build/lab
needs "$lab/latch_latency" "$lab/overlap" "$lab/connections" "$lab/first_message"

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

if "$build/zcrp-keys" generate psk lab "$place/key" 2>"$place/said" &&
    "$build/zcrp-link" --quiet --wait 0 -- true -- true 2>"$place/said"; then
    check "first messages" "$build/zcrp-link" --quiet --delay 5ms --wait 9s --port 7000 \
        -- "$lab/first_message" 198.18.0.2 10 -- "$lab/first_message" 198.18.0.2
    cp "$place/out" "$place/first"
    for figure in 'ZCRP: .* there' 'TLS: .* there' 'ZCRP: .* here' 'TLS: .* here'; do
        check "$figure" grep -E "^$figure \([0-9.]+\.\.[0-9.]+\)$" "$place/first"
    done
fi
complaint "no address" 2 "usage: first_message" "$lab/first_message"

conclude
