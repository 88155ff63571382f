#!/bin/sh
# zcrp-link as its user meets it: where the commands find themselves, what its status is, what it says,
# and that nothing remains however it ends. The program is in $ZCRP_BUILD.
# load: asleep
set -u

. "$(dirname "$0")/../../support/script.sh"

link=$build/zcrp-link
needs_link

# ends STATUS ARGUMENT... : so does zcrp-link. What it prints stays in $place/printed and said.
ends() {
    wanted=$1
    shift
    "$link" --wait 0 "$@" >"$place/printed" 2>"$place/said"
    got=$?
    check "status of $*: $got" test "$got" -eq "$wanted"
}

printed() {
    check "printed" grep -E -e "$1" "$place/printed"
}

said() {
    check "said" grep -E -e "$1" "$place/said"
}

# Every process of a zcrp-link has the mark in its environment. (A namespace's number tells nothing:
# the kernel gives it to the next one.)
mark=LINK_TEST=$$
nothing_remains() {
    ! is_marked
}
is_marked() {
    grep -qsza -Fx "$mark" /proc/[0-9]*/environ
}

# ---- where the commands are

ends 0 -- sh -c 'echo A $ZCRP_HERE $ZCRP_THERE' -- sh -c 'echo B $ZCRP_HERE $ZCRP_THERE'
printed '^A 198.18.0.1 198.18.0.2$'
printed '^B 198.18.0.2 198.18.0.1$'
said '^zcrp-link: A to B: 0 packets, .*: 0 arrived'
said '^zcrp-link: seed [0-9]+$'

ends 0 --mtu 9180 --quiet -- sh -c 'cat /proc/net/dev; ip link show zcrp0' -- true
printed 'zcrp0:.* mtu 9180'
check "quiet" test ! -s "$place/said"
check "A has one interface besides loopback" test "$(grep -c '^ *[a-z][a-z0-9]*:' "$place/printed")" -eq 2

echo "from outside" | "$link" --quiet -- cat -- cat >"$place/printed"
check "standard input is A's" test "$(cat "$place/printed")" = "from outside"

ends 0 --quiet -- sh -c 'test "$(readlink /proc/self)" != "" && printf "%s\n" /proc/[0-9]*' -- true
printed '^/proc/1$'

# ---- whose status it is

ends 3 --quiet -- sh -c 'exit 3' -- sleep 100
ends 0 --quiet --linger 0 -- true -- sleep 100
ends 4 --quiet --linger 20s -- true -- sh -c 'sleep 1.5; exit 4'
ends 3 --quiet -- sh -c 'exit 3' -- sh -c 'sleep 1.2; exit 4'
ends 0 --quiet -- true -- sh -c 'trap "" TERM; while :; do sleep 0.1; done'
ends 143 -- sh -c 'kill $$' -- sleep 100
ends 127 -- no-such-command -- sleep 100
said "cannot run 'no-such-command': No such file"
ends 126 -- / -- sleep 100
ends 5 --wait 20s -- sh -c 'echo A ran' -- sh -c 'exit 5'
said 'B ended with status 5 before A was started'
check "A did not run" test ! -s "$place/printed"
ends 2 --loss 101% -- true -- true
said "Try 'zcrp-link --help'"
said "loss: '101%' is not a share, as 1% or 0.01"
ends 2 --rate fast -- true -- true
said "rate: 'fast' is not a rate, as 64k, 155M or 2.5G"
ends 0 --help
printed '^  -r, --rate=RATE'
ends 0 --version
printed '^zcrp-link [0-9]'
ends 125 --pin 1000 -- true -- true
said 'cannot run on core 1000'
ends 125 --json /no/such/folder -- echo A ran -- true
said 'cannot write /no/such/folder: No such file'
check "it did not run in vain" test ! -s "$place/printed"
ends 0 -- true -- true
said 'A to B: 0 packets, 0 B: 0 arrived'
ends 125 --json /dev/full -- true -- true
said 'cannot write /dev/full: No space left on device$'

# ---- what may be missing

if unshare -m true 2>/dev/null; then
    unshare -m sh -c "mount -t tmpfs none /dev/net && '$link' -- true -- true" 2>"$place/said"
    check "status without the device" test $? -eq 125
    said 'there is no /dev/net/tun .*mknod'
fi
if setpriv --bounding-set=-all true 2>/dev/null; then
    setpriv --bounding-set=-all "$link" -- true -- true 2>"$place/said"
    check "status without rights" test $? -eq 125
    said 'needs the rights of root'
fi
if unshare -r true 2>/dev/null && [ -w /dev/net/tun ]; then
    unshare -r "$link" --wait 0 -- sh -c 'echo A $ZCRP_HERE' -- true >"$place/printed" 2>"$place/said"
    check "status in a user namespace" test $? -eq 0
    printed 'A 198'
fi

# ---- nothing remains

# start : both commands, each with a child of its own in another session. $started is zcrp-link.
start() {
    rm -f "$place/a" "$place/b"
    busy='echo >'$place'/$0; setsid sleep 100 & sleep 100'
    env $hears "$mark" "$link" --wait 0 --json "$place/json" -- sh -c "$busy" a -- sh -c "$busy" b \
        >"$place/printed" 2>"$place/said" &
    started=$!
    eventually test -s "$place/a" -a -s "$place/b"
}

# gone STATUS : zcrp-link is over with this status, and so is everything else.
gone() {
    wait "$started" 2>/dev/null
    got=$?
    check "status $got of $ending" test "$got" -eq "$1"
    check "nothing remains after $ending" eventually nothing_remains
}

# What started this test may ignore SIGHUP.
hears=
! env --default-signal=HUP true 2>/dev/null || hears=--default-signal=HUP

start
check "while it runs, something is there" is_marked
for signal in TERM:143 INT:130 HUP:129; do
    ending="a signal ${signal%:*}"
    kill -s "${signal%:*}" "$started"
    gone "${signal#*:}"
    said 'A to B'
    start
done

ending="kill -9 of zcrp-link"
kill -9 "$started"
gone 137

start
ending="kill -9 of the first process of the namespace"
for child in $(cat "/proc/$started/task/$started/children"); do
    ! grep -qs zcrp-link-init "/proc/$child/comm" || kill -9 "$child"
done
gone 137

start
ending="the second of two signals"
kill -s INT "$started" # which shells in the background ignore
sleep 0.2
kill "$started"
gone 130
check "the second signal kills" grep '"status_a": 137, "status_b": 137' "$place/json"

start
ending="kill -9 of both commands"
for child in $(cat "/proc/$started/task/$started/children"); do
    grep -qs zcrp-link-init "/proc/$child/comm" || kill -9 "$child" 2>/dev/null
done
gone 137
check "the status of A is told" grep '"status_a": 137' "$place/json"

# ---- what the program that starts it ignores

nohup env "$mark" "$link" --quiet --wait 0 -- sh -c 'echo >"$0"; sleep 1' "$place/begun" -- sleep 100 >/dev/null 2>&1 &
started=$!
eventually test -s "$place/begun"
ending="a hangup under nohup"
kill -s HUP "$started"
gone 0
if env --ignore-signal=CHLD true 2>/dev/null; then
    timeout 60 env --ignore-signal=CHLD "$link" --quiet --wait 0 -- sh -c 'exit 3' -- sleep 100
    got=$?
    check "status $got where SIGCHLD is ignored" test "$got" -eq 3
fi

conclude
