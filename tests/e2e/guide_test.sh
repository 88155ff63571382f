#!/bin/sh
# The C and C++ of docs/guide.md: its listings are put together in their order, compiled with a main
# that calls them (guide/), and both ends run against each other.
set -u

. "$(dirname "$0")/../support/script.sh"

here=$(dirname "$0")
root=$here/../..
needs "$build/zcrp-keys"
export LD_LIBRARY_PATH="$build"

# listings LANGUAGE : what is in the page's fences of that language, with the page's line numbers.
listings() {
    awk -v fence="\`\`\`$1" '
        /^```/ { is_in = !is_in && $0 == fence; if (is_in) print "#line", NR + 1, "\"docs/guide.md\""; next }
        is_in' "$root/docs/guide.md"
}

# compiled COMPILER LANGUAGE STANDARD : as a user would, with the warnings that a careful one has on.
compiled() {
    listings "$2" >"$place/guide.$2"
    "$1" -std="$3" -Wall -Wextra -Werror -I"$place" -I"$root/include" "$here/guide/main.$2" \
        -o "$place/main-$2" -L"$build" -lzcrp
}

has_port() {
    port=$(sed -n 's/^main: port //p' "$place/port")
    test -n "$port"
}

# listens PROGRAM WHAT ARGUMENT... : the listening end runs at a port that the kernel chooses.
listens() {
    listening=$place/main-$1
    what=$2
    shift 2
    : >"$place/port"
    "$listening" "$what" 0 "$@" >"$place/printed" 2>"$place/port" &
    running=$!
    check "$what has a port" eventually has_port
}

# prints TEXT : the listening end succeeds, and printed that; ports of callers are of no matter.
prints() {
    check "$what ends well" wait "$running"
    running=
    sed 's/127\.0\.0\.1:[0-9]*/CALLER/' "$place/printed" >"$place/without ports"
    check "$what prints" test "$(cat "$place/without ports")" = "$1"
}

# names PATTERN : what the page names that way, once each.
names() {
    grep -o -E "$1" "$root/docs/guide.md" | sort -u
}

# The codes are those in the first column of the page's table.
codes=$(sed -n 's/^| \(`[A-Z].*`\) |.*|.*|$/\1/p' "$root/docs/guide.md" | tr -d '`,')
check "the page has a table of codes" test -n "$codes"
for code in $codes; do
    check "there is ZCRP_ERROR_$code" grep -q "X($code," "$root/include/zcrp.h"
done
for called in $(names 'ZCRP_ERROR_[A-Z_]+' | sed 's/ZCRP_ERROR_//'); do
    check "there is ZCRP_ERROR_$called" grep -q "X($called," "$root/include/zcrp.h"
done
for called in $(names 'zcrp_[a-z_]+|ZCRP_[A-Z_]+' | grep -v ERROR) $(names 'options\.[a-z_]+' | sed 's/.*\.//'); do
    check "the header has $called" grep -q -e "$called" "$root/include/zcrp.h"
done
for called in units_repeated units_moved drop_socket memory_refused; do
    check "the page explains $called" grep -q "\`$called\`" "$root/docs/guide.md"
    check "there is a statistic $called" grep -q "X($called," "$root/include/zcrp.h"
done

check "the C compiles" compiled "${CC:-cc}" c c11
check "the C++ compiles" compiled "${CXX:-c++}" cpp c++17
[ "$failures" -eq 0 ] || { conclude; exit; }

listens c serve
check "ask" "$place/main-c" ask "$port" "how far is it?"
check "ask prints the answer" test "$(cat "$place/out")" = "how far is it?"
prints "the peer has closed"

listens c serve
check "frame" "$place/main-c" frame "$port" "in pieces"
check "frame prints the answer" test "$(cat "$place/out")" = "fram|e 1: in pieces"
prints "the peer has closed"

listens c hub 2
"$place/main-c" push "$port" >"$place/beside" 2>&1 &
beside=$!
check "push" "$place/main-c" push "$port"
reported=$(sed "s/, [0-9]* of [0-9]* units/, N of N units/" "$place/out")
check "push reports" test "$reported" = "1000 messages, N of N units repeated"
check "push, beside it" wait "$beside"
prints "CALLER: 65536000 bytes, the peer has closed
CALLER: 65536000 bytes, the peer has closed"

if "$build/zcrp-keys" generate psk detector "$place/detector.key" 2>"$place/said"; then
    listens c hub 1 "$place/detector.key"
    complaint "a caller without the key" 1 "connect: $(sed -n 's/.*X(KEYS, "\(.*\)").*/\1/p' "$root/include/zcrp.h")" \
        "$place/main-c" push "$port"
    check "push with the key" "$place/main-c" push "$port" "$place/detector.key"
    prints "detector: 65536000 bytes, the peer has closed"
    listens c first "$place/detector.key"
    check "call with the key" "$place/main-c" call "$port" "at once" "$place/detector.key"
    prints "at once"
fi

listens c first
check "call" "$place/main-c" call "$port" "without keys"
prints "without keys"

listens c drain
check "scatter" "$place/main-cpp" scatter "$port"
prints "4000 bytes
8 bytes
the peer has closed"

listens cpp gather
check "scatter" "$place/main-cpp" scatter "$port"
prints "4000 bytes in place, of 0.5
8 bytes
complete"

conclude
