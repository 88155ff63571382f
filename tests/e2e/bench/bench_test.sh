#!/bin/sh
# zcrp-bench as its user meets it: table, JSON, files that arrive, and what it says to mistakes.
# load: asleep
set -u

. "$(dirname "$0")/../../support/bench.sh"

# ---- what it says of itself

check "help" "$bench" --help
for option in $(grep -o -e '--[a-z-]*' "$place/out" | sort -u); do
    [ "$option" != --trace ] || continue # writes a file called --help
    "$bench" "$option" --help >/dev/null 2>"$place/said"
    check "$option is known" sh -c "! grep -q unknown '$place/said'"
done
check "version" "$bench" --version

# ---- mistakes

complains 2 "unknown option '--bogus'" --bogus
complains 2 "--count needs a value" --count
complains 2 "--size: '0'" --size 0
complains 2 "--size: '12Q'" --size 12Q
complains 2 "--size: ''" --size 64,
complains 2 "--size: '99999999999999999999'" --size 99999999999999999999
complains 2 "--unit: '3' is not a number from 64" --unit 3
complains 2 "--congestion: 'vegas' is not none" --congestion vegas
complains 2 "'rdma' is none of zcrp, tcp, udp-limit, unix, pipe, srt" --transport rdma
complains 2 "'tcp' is there twice" --transport tcp,tcp
complains 2 "'zcrp:cubic': only tcp, tls and ktls have others" --transport zcrp:cubic
complains 2 "--ping: udp-limit only goes one way" --ping --transport zcrp,udp-limit
complains 2 "--ping has no --verify" --ping --verify
complains 2 "--keys is of ZCRP" --keys --transport tcp,udp-limit
complains 2 "over UDP only: --channel aal5-udp" --keys --channel aal5
for option in "--loss 1%" "--trace $place/file"; do
    complains 2 "--keys has no ${option%% *}" --keys $option
done
complains 2 "--keys is for the connecting end" --listen :0 --keys
complains 2 "--mtu needs --netns" --mtu 1500
complains 2 "--connect has no --netns" --netns --connect localhost:1
complains 2 "--pin needs a core for each end" --pin 0
complains 2 "'x' is not the number of a core" --pin x,0
core=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
complains 1 "cannot run on core 1000: no such core" --pin "1000,$core"
complains 1 "cannot run on core 1000: no such core" --pin "$core,1000"
complains 2 "unexpected argument 'extra'" extra
complains 2 "one end each" --listen :1 --connect :1
complains 2 "--size is for the connecting end" --listen :0 --size 1
complains 2 "--count has no --bytes" --count 1 --bytes 1
complains 1 "cannot write '$place/none/json'" --json "$place/none/json"
complains 2 "'127.0.0.1:65536' is not HOST:PORT" --listen 127.0.0.1:65536
complains 2 "'localhost:0': nobody listens at port 0" --connect localhost:0
complains 2 "doctor: unknown argument 'extra'" doctor there extra
complains 2 "doctor: unknown option '--bogus'" doctor --bogus
check "the doctor's help" sh -c "'$bench' doctor --help | grep -q 'Usage: zcrp-bench doctor'"
complains 2 "--channel: 'atm' is not auto, udp, memory, mapped, aal5 or aal5-udp" --channel atm
complains 2 "--loss is of sockets" --channel memory --loss 1%
complains 2 "no --netns" --channel memory --netns
complains 2 "--count: 'x' is not a number from 1 on" --count x
complains 2 "--bytes: '-1' is not a number from 1 on" --bytes -1
complains 2 "--repeat: '10001' is not a number from 1 to 10000" --repeat 10001
complains 2 "--memory: 'some' is not a number from 1 on" --memory some
complains 2 "--depth: '0' is not a number from 1" --depth 0
complains 2 "--window: '0' is not a number from 1 on" --window 0
complains 2 "--buffers: '3G' is not a number from 1 to 2147483647" --buffers 3G
complains 2 "--mtu: '575' is not a number from 576" --netns --mtu 575
complains 2 "--timeout: '0' is not a number of seconds" --timeout 0
check "short options" "$bench" -t zcrp -s 1K -n 9 -r 1 -v -q

# talks LINE : what listens at $port says nothing but this.
talks() {
    rm -f "$place/port"
    python3 -c 'import socket, sys
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], file=open(sys.argv[1] + "~", "w"), flush=True)
import os; os.rename(sys.argv[1] + "~", sys.argv[1])
end = server.accept()[0]
end.sendall(sys.argv[2].encode() + b"\n")
while end.recv(1000): pass' "$place/port" "$1" &
    talker=$!
    until [ -s "$place/port" ]; do sleep 0.1; done
    port=$(cat "$place/port")
}
talks "zcrp-bench 2"
complains 1 "another version of zcrp-bench: it speaks 'zcrp-bench 2'" --connect "127.0.0.1:$port"
wait "$talker"
talks "HTTP/1.0 400 Bad Request"
complains 1 "the other end is no zcrp-bench: it says 'HTTP/1.0 400" --connect "127.0.0.1:$port"
wait "$talker"
complains 1 "no TCP congestion control 'zz'" --transport tcp --tcp-cc zz
complains 1 "no TCP congestion control 'reno+64K'" --transport tcp:reno+64K
complains 1 "nobody answers at 127.0.0.1:1" --connect 127.0.0.1:1 --timeout 1

# ---- table, JSON

check "table" "$bench" --size 64,1K,100000 --count 50 --repeat 3 \
    --json "$place/json"
cp "$place/out" "$place/table"
check "six lines in the table" test "$(grep -c '^\(zcrp\|tcp\) ' "$place/table")" -eq 6
cat >"$place/compare.py" <<'PYTHON'
import json, statistics, sys

results = json.load(open(sys.argv[1]))
runs, summary = results["runs"], results["summary"]
assert [run["transport"] for run in runs] == ["zcrp", "tcp"] * 9, "in turns"
assert [run["size"] for run in runs] == [64] * 6 + [1024] * 6 + [100000] * 6
for run in runs:
    assert run["count"] == 50 and run["verified"] is None and run["seconds"] > 0
    assert abs(run["msg_per_s"] * run["seconds"] - 50) < 1e-3
    assert abs(run["gbit_per_s"] * run["seconds"] * 1e9 / 8 - 50 * run["size"]) < 1
    for end in "sender", "receiver":
        assert run[end]["cpu_s"] >= 0 and run[end]["cpu_s_per_gb"] >= 0
        assert (run[end]["stats"] is None) == (run["transport"] == "tcp")
    assert run["round_trip_us"] is None
    for name in "units", "repeated_units", "in_place_units", "moved_bytes", "system_calls_per_gb":
        assert (run[name] is None) == (run["transport"] == "tcp"), name
    if run["transport"] == "zcrp":
        assert run["units"] >= 50 and run["in_place_units"] <= run["units"]
        assert run["sender"]["stats"]["messages"] == run["receiver"]["stats"]["messages"] == 50
assert len(summary) == 6
for line in summary:
    def rates(transport):
        return [run["gbit_per_s"] for run in runs
                if run["size"] == line["size"] and run["transport"] == transport]
    own = rates(line["transport"])
    ratio = statistics.median(a / b for a, b in zip(own, rates("tcp")))
    assert abs(line["gbit_per_s"] / statistics.median(own) - 1) < 1e-6
    assert abs(line["ratio_to_tcp"] / ratio - 1) < 1e-6, "median of the paired ratios"
PYTHON
check "json" python3 "$place/compare.py" "$place/json"
check "json to standard output" "$bench" --transport zcrp --size 1K --count 9 --repeat 2 --json
cp "$place/out" "$place/json"
check "nothing but json" python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$place/json"
check "quiet" "$bench" --size 1K --count 9 --repeat 1 --quiet
check "quiet is quiet" test ! -s "$place/out"

# ---- several TCPs, the bare channel, round trips, what was counted

check "all transports" "$bench" --transport tcp,udp-limit,tcp:default,tcp:reno,zcrp --size 1000,3M \
    --bytes 9M --memory 9M --repeat 1
shows "one write a message" '^tcp:default +tcp/[a-z]+ +3M '
shows "the named congestion control" '^tcp:reno +tcp/reno'
shows "the bare channel loses nothing here" '^udp-limit +udp +3M .*100 % +0'
for name in none reno cubic bbr; do
    check "congestion control $name" "$bench" --transport zcrp --congestion $name --size 1K \
        --count 9 --repeat 1
done
check "pinned TCP" "$bench" --transport tcp --tcp-cc reno --size 1K --count 9 --repeat 1
shows "pinned TCP is named" '^tcp +tcp/reno'
check "exact TCP" "$bench" --transport tcp:reno+128K,tcp:reno+whole --size 1M --count 9 --repeat 1
shows "small writes" '^tcp:reno\+128K +tcp/reno\+128K '
shows "whole messages" '^tcp:reno\+whole +tcp/reno '
check "joined TCP" "$bench" --transport tcp:reno+joined,tcp:default+joined --size 64 --count 999 --repeat 1
shows "writes that the kernel joins" '^tcp:reno\+joined +tcp/reno\+joined +64 '
shows "of the machine's congestion control, too" '^tcp:default\+joined +tcp/[a-z]+\+joined +64 '

cat >"$place/trips.py" <<'PYTHON'
import json, sys

results = json.load(open(sys.argv[1]))
assert [run["transport"] for run in results["runs"]] == ["zcrp", "tcp"] * 6
for run in results["runs"] + results["summary"]:
    trip = run["round_trip_us"]
    assert 0 < trip["min"] <= trip["median"] <= trip["p99"], trip
PYTHON
check "round trips" "$bench" --ping --size 64,100000 --count 200 --repeat 3 --json "$place/json"
shows "table of round trips" '^tcp +tcp/[a-z]+ +64 .* 1\.00$'
check "json of round trips" python3 "$place/trips.py" "$place/json"

check "what was counted" "$bench" --stats --transport zcrp --size 64K --count 50 --repeat 1 --pin 0,0 \
    --no-spin --buffers 212992 --json "$place/json"
shows "units were counted" '^  units +[0-9]+ +[0-9]+ '
check "nobody counts allocations" grep -F '"allocations": null, "peak_bytes": null' "$place/json"
check "small units" "$bench" --transport zcrp --size 1M --count 20 --repeat 1 --unit 1472
check "without offloads" env ZCRP_NO_OFFLOAD=1 "$bench" --transport zcrp,udp-limit --size 1M \
    --count 20 --unit 1472 --repeat 1
check "the doctor has an opinion" "$bench" doctor
shows "of the buffers" net.core.rmem_max
shows "of UDP" '^ok +UDP: a message came from one process to another$'
shows "of what the kernel cuts" '^ok +UDP_SEGMENT: bursts that the kernel cuts arrive over loopback$'
shows "of memory that nobody wants" "no process of this user reads another's: ZCRP_NO_MEMORY is set"
shows "of Yama" '^(ok|could be better) +kernel.yama.ptrace_scope: '
lowly=$(unshare -U true 2>/dev/null && echo unshare -U)
check "it misses gnuplot, and rights" $lowly env PATH=/nowhere "$bench" doctor
[ -z "$lowly" ] || shows "what raw sockets take" 'may not open raw sockets$'
shows "what pictures take" '^ +apt-get install gnuplot-nox$'
sed -n 's/^ \{18\}//p' "$place/out" | grep -E '^(sysctl|ip|echo|apt-get) ' >"$place/advice"
check "a shell takes its commands as they are" sh -n "$place/advice"

if unshare -n true 2>/dev/null; then
    complaint "a doctor without a network" 1 "UDP does not work here" unshare -n "$bench" doctor
    check "between namespaces" "$bench" --netns --mtu 1400 --transport zcrp,tcp,udp-limit \
        --size 100K --count 100 --repeat 1 --verify
    check "what the link carries" "$bench" --netns --transport zcrp --size 1440 --count 10 \
        --repeat 1 --stats
    # On a busy machine some are sent again; with smaller units there would be twenty.
    shows "a unit a message at an MTU of 1500" '^  units +1[0-9] +1[0-9] '
    complaint "namespaces without ip" 1 "needs ip: apt install iproute2" env PATH=/nowhere "$bench" --netns \
        --transport zcrp --size 1440 --count 10 --repeat 1
fi

# ---- every byte

check "verified" "$bench" --verify --size 1,63,65,4097,70001 --count 77 --repeat 2 --memory 1M
check "few at once" \
    "$bench" --verify --size 5000 --count 300 --repeat 2 --depth 3
check "small units, no offload" env ZCRP_NO_SEGMENT=1 ZCRP_NO_GRO=1 "$bench" --verify \
    --transport zcrp --size 40000 --count 20 --unit 1472 --repeat 1

# ---- one end each

listen
check "the sending end" "$bench" --connect "127.0.0.1:$port" --size 1M --count 9 --repeat 1 --verify
ends 0

listen
check "the doctor at a path" "$bench" doctor "127.0.0.1:$port"
shows "what the path carries" '^ok +127\.0\.0\.1:[0-9]+: [0-9.]+ Gbit/s, a round trip of [0-9.]+ ms$'
ends 0

listen
complains 1 "cannot listen at 127.0.0.1:$port: Address already in use" --listen "127.0.0.1:$port"
kill "$listener"
wait "$listener" 2>/dev/null

# ---- an end that dies

start_endless
kill -9 "$receiver"
wait "$sender"
status=$?
check "status when the receiving process was killed" test $status -eq 1
check "complaint when the receiving process was killed" grep "process was killed" "$place/said"

start_endless
kill -9 "$sender"
wait "$sender" 2>/dev/null
check "no child is left behind" eventually sh -c "! grep 'State:.[^Z]' /proc/$receiver/status"

conclude
