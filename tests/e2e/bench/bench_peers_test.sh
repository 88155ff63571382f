#!/bin/sh
# zcrp-bench: many connections at once, beside TCP with epoll.
# load: asleep
set -u

. "$(dirname "$0")/../../support/bench.sh"

complains 2 "--peers: '0'" --peers 0
complains 2 "--peers: '10001'" --peers 10001
complains 2 "--peers is for the connecting end" --peers 2 --listen 127.0.0.1:0
for option in "--connect 127.0.0.1:7000" "--parallel 2" --ping --verify "--trace $place/file" "--interval 1" \
    "--loss 1%" --no-spin; do
    complains 2 "--peers has no ${option%% *}" --peers 2 $option
done
complains 2 "AAL5 over UDP only: --channel aal5-udp" --peers 2 --channel aal5
complains 2 "--mtu needs --netns" --peers 2 --mtu 1500
complains 2 "--pin needs a core for each end" --peers 2 --pin 0
complains 2 "--once needs --listen" --peers 2 --once
complains 2 "zcrp and tcp only" --peers 2 --transport udp-limit

check "twenty peers" "$bench" --peers 20 --size 64,64K --duration 0.1 --repeat 1 --json "$place/json"
shows "what peers cost" "threads +a peer"
check "figures" python3 -c "
import json
runs = json.load(open('$place/json'))['runs']
is_watched = 'tsan' in '$build' # which has threads of its own
for run in runs:
    assert run['flows'] == 20 and run['count'] > 0, run
    assert run['bytes'] == run['count'] * run['size'] or run['transport'] == 'tcp', run
    assert 1 / 20 <= run['fairness'] <= 1 + 1e-9, run
    threads = 5 if run['transport'] == 'zcrp' else 0
    assert is_watched or run['sender_threads'] == run['receiver_threads'] == threads, run
    assert run['sender']['cpu_s'] > 0 and run['receiver']['cpu_s'] > 0, run"

# ---- what the settings say reaches the connections

one="--peers 4 --transport zcrp --size 1M --duration 0.05 --repeat 1 --quiet"
short="--peers 4 --transport zcrp --size 64K --duration 0.05 --repeat 1 --quiet"
# They go at a twentieth of the rate. On a busy machine one run may look otherwise.
units_of_64_bytes_are_slower() {
    for _ in 1 2 3 4 5; do
        "$bench" $short --json "$place/usual" && "$bench" $short --unit 64 --json "$place/unit" && python3 -c "
import json
slow, usual = [json.load(open('$place/' + name))['runs'][0]['gbit_per_s'] for name in ('unit', 'usual')]
assert slow < usual / 3, (slow, usual)" 2>"$place/slower" && return
    done
    cat "$place/slower"
    return 1
}
check "units of 64 bytes are slower" units_of_64_bytes_are_slower
check "the others" "$bench" $one --window 1M --buffers 1M --congestion cubic --timeout 20

if "$bench" --keys --size 1 --count 1 --repeat 1 --transport zcrp --quiet 2>"$place/said"; then
    check "with keys" "$bench" --peers 5 --keys --transport zcrp,tcp --size 64,64K --duration 0.05 --repeat 1
    shows "which the table says" '^zcrp +udp\+keys +64 '
    check "with keys over AAL5" "$bench" $one --keys --channel aal5-udp
else
    check "there are no keys" grep -F "built without keys" "$place/said"
fi

check "TCPs" "$bench" --peers 4 --transport tcp,tcp:reno,tcp:reno+128K --tcp-cc reno --size 1M \
    --duration 0.05 --repeat 1
shows "plain TCP has the congestion control of --tcp-cc" '^tcp +tcp/reno +1M '
shows "a named one" '^tcp:reno +tcp/reno +1M '
shows "small writes" '^tcp:reno\+128K +tcp/reno\+128K +1M '
complains 1 "no TCP congestion control 'zz'" --peers 2 --transport tcp --tcp-cc zz

check "AAL5" "$bench" $one --channel aal5-udp --json "$place/cells"
check "AAL5 that loses cells" env ZCRP_AAL5=loss=1000 "$bench" $one --channel aal5-udp --json "$place/loss"
check "loses units by them" python3 -c "
import json
loss, cells = [json.load(open('$place/' + name))['runs'][0] for name in ('loss', 'cells')]
assert loss['channel'] == cells['channel'] == 'aal5-udp', (loss, cells)
assert loss['repeated_units'] > 0, loss"
check "AAL5 in small PDUs" env ZCRP_AAL5=mtu=1200 "$bench" $one --channel aal5-udp

# ---- what other measurements have

check "so many messages, with counters" "$bench" --peers 4 --transport zcrp,tcp --size 64K --count 100 --repeat 2 \
    --stats --json "$place/json"
shows "counters" '^  messages +100 +100 '
check "no more, no fewer" python3 -c "
import json
assert all(run['count'] == 100 for run in json.load(open('$place/json'))['runs'])"
check "at a rate" "$bench" --peers 4 --size 1000 --rate 8M --duration 0.2 --repeat 1 --json "$place/json"
check "is slow" python3 -c "
import json
assert all(run['count'] < 240 for run in json.load(open('$place/json'))['runs'])"
check "the other way" "$bench" --peers 4 --size 64K --duration 0.05 --repeat 1 --reverse
if unshare -n true 2>/dev/null; then
    check "between namespaces" "$bench" --peers 4 --size 64K --duration 0.05 --repeat 1 --netns
fi

# stops TRANSPORT TEXT SECONDS : the receiving process stands still so long after it began, and the sending one
# does not wait for much longer than --timeout says.
limit=${CK_TIMEOUT_MULTIPLIER:-1}
stops() {
    "$bench" --peers 2 --transport "$1" --size 64K --rate 80M --duration 100 --repeat 1 --timeout "$limit" --quiet \
        2>"$place/said" &
    running=$!
    receiver=
    while [ -z "$receiver" ] && kill -0 "$running"; do
        sleep 0.1
        receiver=$(first_child "$(first_child "$running")")
    done 2>/dev/null
    sleep "$3"
    kill -STOP "$receiver"
    wait "$running"
    check "status of $1 when the other end stands still" test $? -eq 1
    running=
    check "complaint of $1 then" grep -E -e "$2" "$place/said"
}
stops zcrp "nothing has arrived from the peer|acknowledged nothing|nothing moves|says nothing" "$limit"
stops tcp "nothing moves|says nothing" "$limit"
stops tcp "nothing moves|says nothing" 0

conclude
