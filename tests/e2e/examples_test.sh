#!/bin/sh
# The examples, and the program in the README, as their reader runs them: each pair of ends over
# loopback. What arrives is what was sent, and what fails says why. The examples are in
# $ZCRP_BUILD/examples, built by make; the README's program is compiled here.
set -u

. "$(dirname "$0")/../support/script.sh"

root=$(dirname "$0")/../..
needs "$build/examples/sender"

# The receiver has told its port on standard error. Port 0 makes the kernel choose it.
has_port() {
    port=$(sed -n 's/.*: port //p' "$place/port")
    test -n "$port"
}

# receives COMMAND... : starts the receiving end, whose output stays in $place/received.
receives() {
    : >"$place/port"
    "$@" >"$place/received" 2>"$place/port" &
    running=$!
    check "$*: has a port" eventually has_port
}

# ended : the receiving end succeeds.
ended() {
    check "the receiving end" wait "$running"
    running=
}

# compiled PROGRAM FILE : as a user would, with the warnings that a careful one has on.
compiled() {
    ${CC:-cc} -Wall -Wextra -Werror -I"$root/include" "$2" -o "$1" -L"$build" -lzcrp
}

# ---- sender and receiver: a file of several messages, an exact multiple of them, an empty one

for bytes in 5000000 2097152 0; do
    head -c "$bytes" /dev/urandom >"$place/file"
    receives "$build/examples/receiver" 127.0.0.1 0
    "$build/examples/sender" 127.0.0.1 "$port" <"$place/file" >"$place/sent" 2>&1
    check "sender of $bytes bytes" test $? -eq 0
    ended
    check "$bytes bytes arrive" cmp "$place/file" "$place/received"
    check "sender prints nothing" test ! -s "$place/sent"
done

# ---- the poll loop, and computing beside communication: both ends are one program

# pair PROGRAM SENT RECEIVED : what its two ends print.
pair() {
    receives "$build/examples/$1" receive 127.0.0.1 0
    "$build/examples/$1" send 127.0.0.1 "$port" >"$place/sent" 2>&1
    check "$1 send" test $? -eq 0
    ended
    check "$1 send prints" test "$(cat "$place/sent")" = "$2"
    check "$1 receive prints" test "$(cat "$place/received")" = "$3"
}

pair poll "10000 messages, the sum of their numbers is 49995000" \
    "10000 messages, the sum of their numbers is 49995000"
pair overlap "200 frames sent" "200 frames received, their sum is 20866662400"

# ---- connections: one server, one client after the other

receives "$build/examples/echo" serve 127.0.0.1 0
for text in "how far is it?" "" "$(head -c 20000 /dev/zero | tr '\0' x)"; do
    check "echo ask" "$build/examples/echo" ask 127.0.0.1 "$port" "$text"
    check "echo answers with ${#text} bytes" test "$(cat "$place/out")" = "$text"
done
kill "$running"
wait "$running" 2>/dev/null
running=

# ---- mistakes

for name in sender receiver poll overlap echo; do
    complaint "$name without arguments" 2 "usage: $name" "$build/examples/$name"
done
for command in sender receiver "poll send" "poll receive" "overlap send" "overlap receive" "echo serve"; do
    complaint "$command" 1 '"70000" is no port: that is a number from ' \
        "$build/examples/"$command 127.0.0.1 70000
done

# ---- the README's program: its first block of C. The port is in its text, so another program may
# have it: then both ends are tried again with the next.

sed -n '/^```c$/,/^```$/{/^```/d;p;};/^```$/q' "$root/README.md" >"$place/example.c"
check "the README has a program" grep -q main "$place/example.c"
readme_port=$(sed -n 's/.*zcrp_udp_listen([^,]*, *"\([0-9]*\)").*/\1/p' "$place/example.c")
check "the README's program has a port" test -n "$readme_port"

# example PORT : the README's program with that port in it; its receiving end says what arrived.
example() {
    sed "s/\"$readme_port\"/\"$1\"/g" "$place/example.c" >"$place/other.c"
    compiled "$place/example" "$place/other.c" || return
    "$place/example" receive >"$place/received" &
    running=$!
    "$place/example" send && wait "$running" && running= &&
        grep '^1048576 bytes: a megabyte, in place$' "$place/received"
}

# example_works : on one of five ports.
example_works() {
    for number in 1 2 3 4 5; do
        ! example $((29000 + ($$ + number * 97) % 3000)) || return 0
        test -z "$running" || kill "$running"
        running=
    done
    return 1
}

export LD_LIBRARY_PATH="$build"
check "the README's program as it is" compiled "$place/example" "$place/example.c"
check "the README's program" example_works

# says_why : of two receiving ends at one port one has to go.
says_why() {
    "$place/example" receive >"$place/received" 2>"$place/why" &
    running=$!
    timeout 2 "$place/example" receive 2>"$place/why too"
    kill "$running" 2>/dev/null
    running=
    grep '^listen: .' "$place/why" "$place/why too"
}
check "the README's program at a port that is taken" says_why

conclude
