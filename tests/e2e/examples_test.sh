#!/bin/sh
# The examples, and the program in C of the README, as their reader runs them: each pair of ends over
# loopback. What arrives is what was sent, and what fails says why. The examples are in
# $ZCRP_BUILD/examples, built by make; the README's program is compiled here. Its program in Python is
# run by python_test.sh.
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

# ---- sender with a tap: the same file, and a capture of more bytes than it has

head -c 3000000 /dev/urandom >"$place/file"
receives "$build/examples/receiver" 127.0.0.1 0
check "tap" "$build/examples/tap" 127.0.0.1 "$port" "$place/capture" <"$place/file"
ended
check "the file arrives" cmp "$place/file" "$place/received"
check "the capture" python3 -c '
import struct, sys
data = open(sys.argv[1], "rb").read()
magic, major, minor, link = struct.unpack_from("=IHH12xI", data)
assert (major, minor) == (2, 4)
at, outward, inward = 24, 0, 0
while at < len(data):
    length, = struct.unpack_from("=12xI", data, at)
    source, target, datagram = struct.unpack_from(">HHH", data, at + 16 + 20)
    assert length == datagram + 20 and {source, target} == {7000, 7001}
    outward += (source == 7001) * datagram
    inward += source == 7000
    at += 16 + length
assert (magic, link, at) == (0xa1b23c4d, 101, len(data)) and outward > 3000000 and inward > 0' "$place/capture"
receives "$build/examples/receiver" 127.0.0.1 0
complaint "a capture that cannot be written" 1 "/dev/full" "$build/examples/tap" 127.0.0.1 "$port" /dev/full \
    <"$place/file"
ended

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

# ---- a queue: 100 peers of one server

receives "$build/examples/crowd" serve 127.0.0.1 0
check "crowd ask" "$build/examples/crowd" ask 127.0.0.1 "$port"
check "crowd ask prints" test "$(cat "$place/out")" = "100 peers answered 100 questions each"
kill "$running"
wait "$running" 2>/dev/null
running=

# ---- mistakes

for name in sender receiver tap poll overlap echo crowd; do
    complaint "$name without arguments" 2 "usage: $name" "$build/examples/$name"
done
for command in sender receiver "poll send" "poll receive" "overlap send" "overlap receive" "echo serve" "crowd serve"; do
    complaint "$command" 1 '"70000" is no port: that is a number from ' \
        "$build/examples/"$command 127.0.0.1 70000
done

# ---- the README's program, with a key. The port is in its text, so another program may have it: then
# both ends are tried again with the next.

block c "$root/README.md" >"$place/first.c"
check "the README has a program" grep -q main "$place/first.c"
readme_port=$(sed -n 's/.*zcrp_listen([^,]*, [^,]*, *"\([0-9]*\)".*/\1/p' "$place/first.c")
check "the README's program has a port" test -n "$readme_port"

# first PORT : the README's program with that port in it; its receiving end says what arrived.
first() {
    port=$1
    sed "s/\"$readme_port\"/\"$port\"/g" "$place/first.c" >"$place/other.c"
    compiled "$place/first" "$place/other.c" || return
    "$place/first" receive >"$place/received" &
    running=$!
    eventually is_taken && "$place/first" send && wait "$running" && running= &&
        grep '^1048576 bytes: a megabyte, in place$' "$place/received"
}

# is_taken : somebody has the UDP port $port.
is_taken() {
    grep -q "^ *[0-9]*: [0-9A-F]*:$(printf %04X "$port") " /proc/net/udp
}

# first_works : on one of five ports.
first_works() {
    for number in 1 2 3 4 5; do
        ! first $((29000 + ($$ + number * 97) % 3000)) || return 0
        test -z "$running" || kill "$running"
        running=
    done
    return 1
}

# says WHY END : an end that cannot go on ends with 1, and says why.
says() {
    complaint "the README's program: $2" 1 "first: $1" timeout 20 "$place/first" "$2"
}

root=$(cd "$root" && pwd)
build=$(cd "$build" && pwd)
export LD_LIBRARY_PATH="$build"
cd "$place" || exit 1
check "the README's program as it is" compiled "$place/first" "$place/first.c"
if [ -x "$build/zcrp-keys" ]; then
    says "first.key: No such file" receive
    check "a key" "$build/zcrp-keys" generate psk first first.key
    check "the README's program" first_works
    "$place/first" receive >"$place/received" &
    running=$!
    check "an end that listens" eventually is_taken
    says "port $port is in use" receive
else
    says "the library was built without keys" receive
fi

conclude
