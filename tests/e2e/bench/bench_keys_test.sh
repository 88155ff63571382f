#!/bin/sh
# zcrp-bench with keys, between two ends here and between one end each: every byte arrives, both ways,
# in several flows, and the report says that there were keys.
# load: asleep
set -u

. "$(dirname "$0")/../../support/bench.sh"

if ! "$bench" --keys --size 1 --count 1 --repeat 1 --transport zcrp --quiet 2>"$place/said"; then
    check "the library was built without keys" grep -F "built without keys" "$place/said"
    complains 1 "zcrp: cannot make keys" --keys --transport zcrp --size 64 --count 1
    conclude
    exit
fi

check "every byte" "$bench" --keys --verify --size 1,63,1024,70001,3M --count 99 --memory 9M --repeat 2 \
    --json "$place/json"
shows "the table says so" '^zcrp +udp\+keys +70001 '
shows "and nothing of TCP" '^tcp +tcp/'
check "the json, too" grep -F '"keys": "psk"' "$place/json"
check "units and what was sealed" python3 -c "
import json
runs = [run for run in json.load(open('$place/json'))['runs'] if run['transport'] == 'zcrp']
assert len(runs) == 10
for run in runs:
    assert run['channel'] == 'udp+keys' and run['verified'] and run['units'] > 0, run
    for end in 'sender', 'receiver':
        assert run[end]['stats']['drop_forged'] == run[end]['stats']['drop_replayed'] == 0, run
        assert run[end]['stats']['messages'] == run['count'], run"
check "without keys" "$bench" --transport zcrp --size 1K --count 9 --repeat 1 --json "$place/json"
check "the json says that, too" grep -F '"keys": null' "$place/json"

check "round trips" "$bench" --keys --ping --size 64,100000 --count 200 --repeat 1
shows "of keys" '^zcrp +udp\+keys +64 '
check "round trips by a schedule" "$bench" --keys --ping --transport zcrp --size 1K --rate 10M \
    --duration 0.3 --repeat 1
check "the way back" "$bench" --keys --reverse --verify --size 1M --count 20 --repeat 1
check "several flows" "$bench" --keys --verify --parallel 3 --transport zcrp --size 64K --count 50 --repeat 1
check "for a time" "$bench" --keys --transport zcrp --size 64K --duration 0.3 --interval 0.1 --repeat 1
check "small units" "$bench" --keys --verify --transport zcrp --size 1M --count 20 --unit 1472 --repeat 1
check "AAL5" "$bench" --keys --verify --transport zcrp --channel aal5-udp --size 100K --count 20 --repeat 1
shows "with keys" '^zcrp +aal5-udp\+keys '
check "by memory, where nothing is sealed" env -u ZCRP_NO_MEMORY "$bench" --keys --verify --transport zcrp --channel memory \
    --size 64,1M --count 50 --repeat 1
shows "both" '^zcrp +memory\+keys '
check "round trips by memory" env -u ZCRP_NO_MEMORY "$bench" --keys --ping --transport zcrp --channel memory \
    --size 64 --count 200 --repeat 1
if unshare -n true 2>/dev/null; then
    check "between namespaces" "$bench" --keys --netns --mtu 1400 --verify --transport zcrp --size 100K \
        --count 100 --repeat 1
fi

check "a key log" "$bench" --keys --transport zcrp --size 1K --count 9 --repeat 1 --key-log "$place/log"
check "of its owner's" test "$(stat -c %a "$place/log")" = 600
check "with secrets" grep -qE '^CLIENT_TRAFFIC_SECRET_0 [0-9a-f]{64} [0-9a-f]{64}$' "$place/log"
check "of several connections" "$bench" --keys --peers 3 --transport zcrp --size 1K --duration 0.1 --repeat 1 \
    --key-log "$place/log"
check "behind the others" test "$(grep -c '^CLIENT_TRAFFIC_SECRET_0' "$place/log")" -ge 4
chmod 640 "$place/log"
complains 1 "zcrp: cannot make keys: $place/log is open to users other than its owner: its mode is 0640" \
    --keys --transport zcrp --size 64 --count 1 --key-log "$place/log"
complains 1 "zcrp: cannot make keys: $place/none/log: No such file or directory" \
    --keys --transport zcrp --size 64 --count 1 --key-log "$place/none/log"
complains 2 "--key-log needs --keys" --transport zcrp --size 64 --count 1 --key-log "$place/log"
rm "$place/log"
listen --key-log "$place/log"
check "of the listening end" "$bench" --connect "127.0.0.1:$port" --keys --transport zcrp --size 1K --count 9 --repeat 1
ends 0
check "one connection" test "$(grep -c '^SERVER_TRAFFIC_SECRET_0' "$place/log")" = 1
rm "$place/log"
check "the environment says nothing" env SSLKEYLOGFILE="$place/log" "$bench" --keys --transport zcrp --size 1K \
    --count 9 --repeat 1
check "no file" test ! -e "$place/log"

conclude
