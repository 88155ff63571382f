#!/bin/sh
# zcrp-bench writes the life of a transfer, and zcrp-plot draws it.
set -u

. "$(dirname "$0")/../../support/bench.sh"

plot=${ZCRP_BUILD:-build}/zcrp-plot

# told TEXT : an assertion about the trace's lines, in Python.
told() {
    check "$1" python3 -c "
import json
lines = [json.loads(line) for line in open('$place/trace')]
heads = [line for line in lines if 'measurement' in line]
events = [line for line in lines if 'measurement' not in line]
total = lambda key: sum(line.get(key, 0) for line in events)
assert $1, (heads, len(events), events[-3:])"
}

complains 2 "--trace is of ZCRP" --transport tcp --trace "$place/trace"
complains 2 "--trace is for the connecting end" --listen 127.0.0.1:0 --trace "$place/trace"
complains 1 "cannot write '/nowhere/trace'" --transport zcrp --size 1K --count 1 \
    --trace /nowhere/trace
complains 1 "cannot write '/dev/full'" --transport zcrp --size 1K --count 1 --trace /dev/full

check "a trace" env ZCRP_NO_OFFLOAD=1 "$bench" --transport tcp:default,zcrp --size 64K --count 40 --repeat 2 --unit 1472 \
    --loss 2% --trace "$place/trace" --json "$place/json"
told "[head['measurement'] for head in heads] == [1, 2]"
told "all(head['size'] == 65536 and head['flows'] == 1 for head in heads)"
told "max(line['arrived'] for line in events) == 40 * 65536"
told "total('messages') == 80"
told "all(line['window'] > 0 for line in events)"
told "any(line['transit'] > 0 for line in events) and any(line['rtt'] > 0 for line in events)"
told "total('lost') > 0 and total('repeated') > 0"
check "as it was counted" python3 -c "
import json
runs = [run for run in json.load(open('$place/json'))['runs'] if run['transport'] == 'zcrp']
events = [json.loads(line) for line in open('$place/trace')]
for key, name in (('sent', 'units'), ('repeated', 'units_repeated'), ('lost', 'units_lost')):
    assert sum(line.get(key, 0) for line in events) == sum(
        run['sender']['stats'][name] for run in runs), key"

if [ -x "$plot" ] && command -v gnuplot >/dev/null; then
    check "drawn" "$plot" "$place/trace"
    check "a picture" python3 -c "
import xml.etree.ElementTree as tree
assert tree.parse('$place/trace.svg').getroot().tag.endswith('svg')"
    check "has its panels" grep -c "round trip" "$place/trace.svg"
    check "the second measurement, to standard output" sh -c \
        "'$plot' - --measurement 2 <'$place/trace' | grep -q 'measurement 2'"
    check "no such measurement" sh -c \
        "'$plot' '$place/trace' --measurement 3 2>&1 | grep -q 'no measurement 3'"
    check "the version" sh -c "'$plot' --version | grep -q '[0-9]'"
fi

check "of flows" "$bench" --transport zcrp --size 64K --count 10 --repeat 1 --parallel 2 \
    --trace "$place/trace"
told "heads[0]['flows'] == 2 and {line['flow'] for line in events} == {0, 1}"
if [ -x "$plot" ] && command -v gnuplot >/dev/null; then
    check "flows drawn" sh -c "'$plot' '$place/trace' --output - | grep -q 'flow 1'"
fi

conclude
