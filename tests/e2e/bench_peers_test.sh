#!/bin/sh
# zcrp-bench: many connections at once, beside TCP with epoll.
# load: busy
set -u

. "$(dirname "$0")/../support/bench.sh"

complains 2 "--peers: '0'" --peers 0
complains 2 "--peers: '10001'" --peers 10001
complains 2 "--peers has both processes here" --peers 2 --netns
complains 2 "--peers has both processes here" --peers 2 --connect 127.0.0.1:7000
complains 2 "--peers is for the connecting end" --peers 2 --listen 127.0.0.1:0
complains 2 "--peers lasts for a time" --peers 2 --count 10
complains 2 "--peers has no --parallel" --peers 2 --ping
complains 2 "--peers has no --input" --peers 2 --verify
complains 2 "no --peers" --peers 2 --memory all
complains 2 "zcrp and tcp only" --peers 2 --transport udp-limit

check "twenty peers" "$bench" --peers 20 --size 64,64K --duration 0.3 --repeat 1 --json "$place/json"
shows "what peers cost" "threads +a peer"
check "figures" python3 -c "
import json
runs = json.load(open('$place/json'))['runs']
for run in runs:
    assert run['flows'] == 20 and run['count'] > 0, run
    assert run['bytes'] == run['count'] * run['size'] or run['transport'] == 'tcp', run
    assert 1 / 20 <= run['fairness'] <= 1 + 1e-9, run
    assert run['sender_threads'] == run['receiver_threads'] == (5 if run['transport'] == 'zcrp' else 0), run
    assert run['sender']['cpu_s'] > 0 and run['receiver']['cpu_s'] > 0, run"

conclude
