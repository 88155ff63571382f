#!/bin/sh
# stage: check-all
# zcrp-bench over a path that is narrower than the interfaces at its ends, between network namespaces
# with a router in the middle: every message arrives, and units end at what the path carries, whether
# the router says so or nobody does.
#
#     sender ---- MTU 9000 ---- router ---- MTU 1400 ---- receiver
#
# The namespaces have no names: they go with the processes that hold them, and those with this script.
# load: alone
set -u

. "$(dirname "$0")/../../support/bench.sh"

# Bytes of a datagram: the least that is tried blindly, and the largest unit of whole grains that fits.
BASE=1184
FULL=1344

# hold : a process in a network namespace of its own, $held.
hold() {
    setpriv --pdeathsig KILL unshare -n sleep 600 &
    held=$!
    eventually is_apart $held || { echo "FAIL there is no namespace"; exit 1; }
}

is_apart() {
    apart=$(readlink "/proc/$1/ns/net") && [ "$apart" != "$(readlink /proc/self/ns/net)" ]
}

# at PROCESS COMMAND... : in its network namespace.
at() {
    there=$1
    shift
    nsenter -t "$there" -n "$@"
}

# lays PROCESS COMMANDS : gives them to ip there; without success the script is skipped.
lays() {
    echo "$2" | at "$1" ip -batch - 2>"$place/said" && return
    echo "cannot lay links: $(head -n 1 "$place/said")"
    exit 77
}

# lay_path : processes $sender, $router and $receiver. TCP, which zcrp-bench gives its orders by, is
# told what fits.
lay_path() {
    hold && sender=$held
    hold && router=$held
    hold && receiver=$held
    lays "$router" "link add zcrp0 mtu 9000 type veth peer name zcrp0 mtu 9000 netns $sender
link add zcrp1 mtu 1400 type veth peer name zcrp0 mtu 9000 netns $receiver
address add 198.18.0.1/30 dev zcrp0
address add 198.18.0.5/30 dev zcrp1
link set zcrp0 up
link set zcrp1 up"
    lays "$sender" "address add 198.18.0.2/30 dev zcrp0
link set zcrp0 up
route add default via 198.18.0.1 advmss 1200"
    lays "$receiver" "address add 198.18.0.6/30 dev zcrp0
link set zcrp0 up
route add default via 198.18.0.5 advmss 1200"
    at "$router" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward' 2>"$place/said" ||
        { echo "cannot forward: $(head -n 1 "$place/said")"; exit 77; }
}

# lay_path6 : the same for IPv6, if there is any.
lay_path6() {
    [ -e /proc/net/if_inet6 ] || return
    lays "$router" "address add fd00:1::1/64 dev zcrp0 nodad
address add fd00:2::1/64 dev zcrp1 nodad"
    lays "$sender" "address add fd00:1::2/64 dev zcrp0 nodad
route add default via fd00:1::1 advmss 1200"
    lays "$receiver" "address add fd00:2::2/64 dev zcrp0 nodad
route add default via fd00:2::1 advmss 1200"
    at "$router" sh -c 'echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'
}

# complaints : how often the router said that something could not go on.
complaints() {
    at "$router" cat /proc/net/snmp /proc/net/snmp6 2>/dev/null | awk '
        $1 == "Icmp:" && at { sum += $at }
        $1 == "Icmp:" { for (i = 2; i <= NF; i++) if ($i == "OutDestUnreachs") at = i }
        $1 == "Icmp6OutPktTooBigs" { sum += $2 }
        END { print sum + 0 }'
}

cat >"$place/ended.py" <<'PYTHON'
import json, sys

base, full, path = map(int, sys.argv[2:])
for run in json.load(open(sys.argv[1]))["runs"]:
    at_end = run["sender"]["stats"]
    told = {name: at_end[name] for name in ("path_bytes", "unit_bytes", "path_falls", "path_probes")}
    assert run["verified"] and run["receiver"]["stats"]["messages"] == run["count"], run
    assert base < at_end["unit_bytes"] <= full, told
    assert at_end["unit_bytes"] <= at_end["path_bytes"] <= path, told
PYTHON

# crosses NAME HOST BASE PATH MESSAGES : messages to HOST, as many as these options say; units are of
# more than BASE bytes in the end, and the path is known to carry no more than PATH.
crosses() {
    : >"$place/listener"
    at "$receiver" setpriv --pdeathsig KILL "$bench" --listen :7000 --once 2>"$place/listener" &
    listener=$!
    eventually grep -q 'port 7000$' "$place/listener"
    check "$1" at "$sender" "$bench" --connect "$2:7000" --transport zcrp --size 1M $5 \
        --repeat 1 --verify --quiet --json "$place/json"
    kill "$listener" 2>/dev/null
    wait "$listener" 2>/dev/null
    check "$1: units fill the path" python3 "$place/ended.py" "$place/json" "$3" $FULL "$4"
}

for tool in ip nsenter setpriv unshare; do
    command -v $tool >/dev/null || { echo "no $tool"; exit 77; }
done
unshare -n true 2>/dev/null || { echo "needs the rights of root"; exit 77; }
lay_path

# ---- nobody says what fits: what the router itself sends goes nowhere, what it forwards does

if at "$router" ip rule add iif lo to 198.18.0.2 blackhole 2>"$place/said"; then
    # Who knows no round trip yet waits a third of a second for the first large probe.
    crosses "the router is silent" 198.18.0.6 $BASE $FULL "--duration 2"
    check "it was" test "$(complaints)" -eq 0
    at "$router" ip rule delete iif lo to 198.18.0.2 blackhole
else
    echo "the silent router is left out: $(head -n 1 "$place/said")"
fi

# ---- the router says it: 1372 bytes of UDP over IPv4, 1352 over IPv6

crosses "the router speaks" 198.18.0.6 $((FULL - 1)) 1372 "--duration 1"
told=$(complaints)
check "it did" test "$told" -gt 0
if lay_path6; then
    crosses "the router speaks IPv6" "[fd00:2::2]" $((FULL - 1)) 1352 "--duration 1"
    check "it did" test "$(complaints)" -gt "$told"
else
    echo "IPv6 is left out: this machine has none"
fi

conclude
