#!/bin/sh
# zcrp-top as its user meets it: beside a zcrp-bench that runs, beside nothing, and beside files that are
# not what they should be. The programs are in $ZCRP_BUILD.
# load: asleep
set -u

. "$(dirname "$0")/../../support/script.sh"

top=$build/zcrp-top
program=$top
needs "$top" "$build/zcrp-bench"
boards=$place/boards
mkdir "$boards"

# entities NUMBER : so many are offered now.
entities() {
    "$top" --json --count 1 --directory "$boards" >"$place/seen" &&
        test "$(grep -o '"entity": ' "$place/seen" | wc -l)" -eq "$1"
}

# holds NUMBER : so many names are in the folder.
holds() {
    test "$(ls "$boards" | wc -l)" -eq "$1"
}

# shows NAME PATTERN : the last output that was checked has such a line.
shows() {
    cp "$place/out" "$place/shown"
    check "$1" grep -E -e "$2" "$place/shown"
    cp "$place/shown" "$place/out"
}

# ---- what it says of itself, and to mistakes

check "help" "$top" --help
for option in $(grep -o -e '--[a-z]*' "$place/out" | sort -u); do
    "$top" --help "$option" >/dev/null 2>"$place/said"
    check "$option is known" sh -c "! grep -q unknown '$place/said'"
done
check "version" "$top" --version
complains 2 "unknown option '--bogus'" --bogus
complains 2 "--delay: '0' is not a number of seconds" --delay 0
complains 2 "--count: '0' is not a number" --count 0
complains 2 "--width: '19' is not a number from 20 to 1000" --width 19
complains 2 "--directory needs a value" --directory
complains 2 "the name is empty" --directory ''
if [ -c /dev/full ]; then
    complaint "a full disk" 1 "cannot write to standard output" sh -c "'$top' -b -n 1 '$boards' >/dev/full"
fi

# ---- nothing there

check "nothing offers statistics" "$top" --batch --count 1 "$boards"
shows "it says how to switch them on" "ZCRP_STATS=1"
shows "and where it looked" "^No program offers statistics in $boards\.$"
check "a folder that is not there" "$top" --batch --count 1 "$place/none"
shows "may come" "^No program offers statistics in $place/none\.$"
touch "$place/file"
complains 1 "$place/file cannot be looked into: Not a directory" --batch --count 1 "$place/file"
check "that is all of it" test "$("$top" --batch --count 1 "$place/file" 2>&1 | wc -l)" -eq 1
check "a folder beside it" sh -c "'$top' --batch --count 1 '$boards' '$place/file'; test \$? = 1"
shows "has its table" "^No program offers statistics in $boards\.$"
shows "beside the reason" "^$place/file cannot be looked into: Not a directory\.$"
complains 1 "$place/file cannot be looked into: Not a directory" --json --count 1 "$boards" "$place/file"
complains 2 "'-n' is behind the first word" "$boards" -n 1
check "nothing, in JSON" "$top" --json --count 1 "$boards"
shows "has no entities" '"processes": 0, "left_out": 0, "entities": \[\]'
check "the usual folder" env XDG_RUNTIME_DIR="$place" "$top" --batch --count 1
shows "is below the session's" "in $place/zcrp\.$"

# ---- two ends of zcrp-bench

ZCRP_STATS=$boards "$build/zcrp-bench" --transport zcrp --size 100K --rate 80M --duration 60 --repeat 1 \
    >"$place/bench" 2>&1 &
running=$!
check "both ends are there" eventually entities 2
check "each has a file" holds 2
check "for its user alone" sh -c "test -z \"\$(find '$boards' -type f ! -perm 600)\""
check "three tables" "$top" --batch --count 3 --delay 0.5 "$boards"
cp "$place/out" "$place/tables"
check "have three heads" test "$(grep -c '^zcrp-top .* 2 processes, 2 entities ' "$place/tables")" -eq 3
check "and two lines each" test "$(grep -c ' zcrp-bench .* udp .*' "$place/tables")" -eq 6
# 10 MB/s, where nothing else takes the processor for long.
has_rate() {
    "$top" --batch --count 2 --delay 0.7 "$boards" | tail -n 2 | grep -qE ' (8|9|10|11|12)\.[0-9]+M '
}
check "the rate is as asked for" eventually has_rate
check "no line is too wide" "$top" --batch --count 1 --width 60 "$boards"
shows "it has the peer" "PEER"
cp "$place/out" "$place/tables"
check "and sixty columns at most" sh -c "! grep -q '^.\{61\}' '$place/tables'"
check "entities" "$top" --batch --count 1 --entities "$boards"
shows "one sends" "zcrp-bench .* out "
shows "one receives" "zcrp-bench .* in "
if command -v python3 >/dev/null; then
    cat >"$place/judge.py" <<'END'
import json, sys
tables = [json.loads(line) for line in sys.stdin]
assert len(tables) == 3
for before, after in zip(tables, tables[1:]):
    assert after["time"] > before["time"]
sender, receiver = sorted(tables[-1]["entities"], key=lambda e: e["kind"], reverse=True)
assert sender["kind"] == "sender" and receiver["kind"] == "receiver"
for entity in sender, receiver:
    assert entity["program"] == "zcrp-bench" and entity["channel"] == "udp" and not entity["keys"]
    assert 7e6 < entity["bytes_per_s"] < 13e6, entity["bytes_per_s"]
    assert 70 < entity["messages_per_s"] < 130, entity["messages_per_s"]
    assert 0 < entity["age_s"] < 60 and len(entity["stats"]) > 50
assert sender["stats"]["rtt_smoothed_ns"] > 0
END
    check "JSON" eventually sh -c "'$top' --json --count 3 --delay 0.7 '$boards' | python3 '$place/judge.py'"
fi

# ---- a terminal

if command -v script >/dev/null; then
    check "q ends it" sh -c "(sleep 0.3; printf e; for i in 1 2 3 4 5 6 7 8 9; do sleep 0.5; printf q; done) |
        timeout 20 script -qec 'stty cols 70 rows 20; \"$top\" \"$boards\"' /dev/null"
    shows "the terminal has a table" "zcrp-bench"
    shows "and is given back" "1049l"
fi
"$top" --batch "$boards" >"$place/written" &
running_top=$!
check "it writes tables" eventually grep -q . "$place/written"
kill "$running_top"
wait "$running_top"
check "SIGTERM ends it well" test $? -eq 0

# ---- files that are not what they should be

mkfifo "$boards/11.stats"
ln -s /dev/zero "$boards/12.stats"
mkdir "$boards/13.stats"
: >"$boards/14.stats"
head -c 5000 /dev/urandom >"$boards/15.stats"
printf 'ZCRPSTAT' >"$boards/16.stats"
for board in "$boards"/*[0-9].stats; do
    number=$(basename "$board" .stats)
    [ "$number" -le 16 ] || cp "$board" "$boards/4194304.stats" # more than any process has
done
printf 'no board' >"$boards/notes.txt"
check "the rest is there still" eventually entities 2
check "boards of nobody are removed" test ! -e "$boards/4194304.stats" -a ! -e "$boards/16.stats"
check "and nothing else" holds 8

# ---- processes that end

kill -9 "$running" $(cat "/proc/$running/task/$running/children")
wait "$running" 2>/dev/null
running=
check "nothing is offered any more" eventually entities 0
check "what was left is removed" holds 6
check "a program that ends" env ZCRP_STATS="$boards" "$build/zcrp-bench" --transport zcrp --size 64 --count 10 --repeat 1
check "leaves nothing" holds 6
check "one without ZCRP_STATS" env XDG_RUNTIME_DIR="$place" "$build/zcrp-bench" --transport zcrp --size 64 \
    --count 10 --repeat 1
check "makes nothing" test ! -e "$place/zcrp"

conclude
