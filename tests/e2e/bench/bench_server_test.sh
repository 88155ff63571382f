#!/bin/sh
# zcrp-bench: a listening end that stays, messages from there (--reverse), round trips by a schedule,
# and what the results say of themselves.
# load: asleep
set -u

. "$(dirname "$0")/../../support/bench.sh"

# json TEXT : an assertion about $place/json, in Python.
json() {
    check "$1" python3 -c "
import json
results = json.load(open('$place/json'))
runs, summary = results['runs'], results['summary']
assert $1, results"
}

# ---- mistakes

complains 2 "--once needs --listen" --once
complains 2 "'1:2:3' is not HOST:PORT" --listen 1:2:3
complains 2 "--reverse has no --interval" --reverse --interval 1
complains 2 "no --reverse" --ping --reverse
complains 2 "--reverse is for the connecting end" --listen 127.0.0.1:0 --reverse

# ---- a server that stays: two runs, one that fails, one more

"$bench" --listen 127.0.0.1:0 2>"$place/listener" &
running=$!
eventually grep -q 'port [0-9]*$' "$place/listener"
port=$(sed -n 's/.*port \([0-9]*\)$/\1/p' "$place/listener")
for way in "" --reverse; do
    check "a run $way" "$bench" --connect "127.0.0.1:$port" $way --transport zcrp,tcp --size 64K \
        --count 50 --repeat 1 --verify
done
complains 1 "no TCP congestion control 'zz'" --connect "127.0.0.1:$port" --transport tcp:zz
check "it still serves" "$bench" --connect "127.0.0.1:$port" --transport tcp:default --size 1K \
    --count 9 --repeat 1 --parallel 3
check "settings are not said twice: channels are as large as the first say" python3 -c "
import socket, struct
peer = socket.create_connection(('127.0.0.1', $port), 20).makefile('rwb')
peer.write(peer.readline() + b'settings\n' + struct.pack('<16Q', 0, 0, 9, 0, 10**10, *[0] * 7, 1, *[0] * 3) + b'settings\n')
peer.flush()
said = [peer.readline() for _ in range(2)]
assert said[0] == b'settled\n' and said[1].startswith(b'failed the sending end says nonsense'), said"

check "flows that were not opened cannot be measured" python3 -c "
import socket, struct
peer = socket.create_connection(('127.0.0.1', $port), 20).makefile('rwb')
peer.write(peer.readline() + b'settings\n' + struct.pack('<16Q', 0, 0, 9, 0, 10**10, *[0] * 7, 2, *[0] * 3) +
           b'measure\n' + struct.pack('<11Q', 0, 9, 9, 9, 9, *[0] * 6))
peer.flush()
said = [peer.readline() for _ in range(2)]
assert said[0] == b'settled\n' and said[1].startswith(b'failed the sending end says nonsense'), said"

# Who comes while a run is under way waits, or is told, and comes again.
served_in_the_end() {
    until "$bench" --connect "127.0.0.1:$port" --transport zcrp --size 1K --count 9 --repeat 1 --timeout 60 2>"$place/told"; do
        grep -q "busy with another run" "$place/told" || { cat "$place/told"; return 1; }
        sleep 0.2
    done
}
"$bench" --connect "127.0.0.1:$port" --transport zcrp,tcp --size 64K --rate 100M --duration 1 --repeat 1 \
    --quiet &
first=$!
sleep 0.3
check "a second client is served later" served_in_the_end
wait "$first"
check "the first one, too" test $? -eq 0
kill "$running"
wait "$running" 2>/dev/null
running=

# ---- the other way round

check "reverse" "$bench" --reverse --transport zcrp,tcp,udp-limit --size 1000,3M --bytes 9M \
    --repeat 2 --verify --json "$place/json"
json "all(run['seconds'] > 0 for run in runs)"
json "all(run['verified'] for run in runs if run['transport'] != 'udp-limit')"
check "reverse, for a time, paced" "$bench" --reverse --transport zcrp,tcp --size 10000 --rate 80M \
    --duration 0.3 --memory 6M --repeat 1 --json "$place/json"
json "all(0.29 < run['seconds'] < 20 and run['count'] < 700 for run in runs)"
json "runs[0]['sender']['stats']['messages'] == runs[0]['count']"
check "reverse flows" "$bench" --reverse --transport zcrp --size 64K --count 20 --repeat 1 --parallel 2

# ---- round trips

check "percentiles and histogram" "$bench" --ping --size 64 --count 500 --repeat 2 --json "$place/json"
json "[run['transport'] for run in runs] == ['zcrp', 'tcp'] * 2"
check "ordered" python3 -c "
import json
for run in json.load(open('$place/json'))['runs']:
    trips = run['round_trip_us']
    keys = ('min', 'median', 'p90', 'p99', 'p99_9', 'max')
    assert all(trips[a] <= trips[b] * 1.02 for a, b in zip(keys, keys[1:])), trips
    assert trips['count'] == sum(part[2] for part in trips['histogram']) == 500, trips
    assert all(part[0] < part[1] for part in trips['histogram']), trips"
check "by a schedule" "$bench" --ping --size 1000 --rate 8M --duration 0.5 --repeat 1 --json "$place/json"
json "all(run['round_trip_us']['count'] == 500 and 0.4 < run['seconds'] < 30 for run in runs)"
check "more than can be" "$bench" --ping --transport tcp --size 64K --rate 900G --count 2000 --repeat 1 \
    --json "$place/json"
# All are due at once, so the last one's trip takes as long as the run.
json "runs[0]['round_trip_us']['max'] > 0.5e6 * runs[0]['seconds']"

# ---- what results say of themselves

check "a table with a spread" "$bench" --transport zcrp --size 64K --count 20 --repeat 3 \
    --json "$place/json"
shows "least and most" '^zcrp +udp +64K +[0-9.]+ +[0-9.]+\.\.[0-9.]+ '
json "summary[0]['least'] <= summary[0]['gbit_per_s'] <= summary[0]['most']"
json "results['version'] == '$("$bench" --version | cut -d' ' -f2)'"
json "results['kernel'] == '$(uname -r)' and results['cores'] >= 1 and isinstance(results['processor'], str)"
json "results['command'][1:3] == ['--transport', 'zcrp'] and results['date'].endswith('Z')"
check "a name with a quote" "$bench" --transport zcrp --size 1K --count 2 --repeat 1 \
    --json "$place/a\"b"
check "is json" python3 -m json.tool "$place/a\"b"

conclude
