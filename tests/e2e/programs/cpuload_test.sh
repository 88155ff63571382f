#!/bin/sh
# stage: check-all
# zcrp-cpuload as its user meets it: a short evaluation, as table and JSON, and what it says to
# mistakes. How fast anything is does not matter here. The program is in $ZCRP_BUILD.
# load: asleep
set -u

. "$(dirname "$0")/../../support/script.sh"

cpuload=$build/zcrp-cpuload
program=$cpuload
needs "$cpuload"

check "help" "$cpuload" --help
check "version" "$cpuload" --version
complains 2 "unrecognized arguments: --bogus" --bogus
complains 2 "there is no tcp to compare with" --transport zcrp
complains 2 "'udx' is none of" --transport tcp,udx
complains 2 "unknown option '--bogus'" -- --bogus
complains 2 "'1Q' is not a number" --size 1Q
complains 2 "'1K,2K' is more than one size" --size 1K,2K
complains 2 "'1K..2K' is more than one size" --size 1K..2K
complains 2 "1024 at most" --processes 5000
complains 2 "--size: not behind --" -- --size 4K
complains 2 "--duration: not behind --" -- --no-gso --duration=1
complains 1 "cannot run on core 1000" --pin 1000,1000
complains 1 "cannot write '$place/none/json'" --json "$place/none/json"

core=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
short="--duration 0.1 --repeat 1 --size 16K --transport zcrp,tcp:default --pin $core,$core"

check "table and json" "$cpuload" $short --rate 10M --json "$place/json" -- --memory 1M
cp "$place/out" "$place/table"
check "four phases of two" test "$(grep -c -E '^(full|paced)' "$place/table")" -eq 8
check "how fast they were paced" grep -F "paced to 0.01 Gbit/s" "$place/table"
cat >"$place/compare.py" <<'PYTHON'
import json, sys

results = json.load(open(sys.argv[1]))
(setting,) = results["settings"]
assert setting["path"] == sys.argv[2] and setting["cores"][0] == setting["cores"][1]
counts = setting["counter_alone_per_s"]["median"] > 0  # else others took the core
keys = [(line["phase"], line["transport"]) for line in setting["summary"]]
phases = ["full", "full, loaded", "paced", "paced, loaded"]
assert keys == [(phase, name) for phase in phases for name in ("zcrp", "tcp:default")], keys
for line in setting["summary"]:
    is_loaded = line["phase"].endswith("loaded")
    assert line["gbit_per_s"]["low"] <= line["gbit_per_s"]["median"] <= line["gbit_per_s"]["high"]
    assert (line["counter_kept"] is None) != (is_loaded and counts)
    assert (line["host_ms_per_gb"] is None) == is_loaded
assert len(setting["measurements"]) == 2 + 8, "the idle machine, the counter, the others"
for figures in setting["measurements"][2:]:
    assert figures["seconds"] > 0 and figures["intervals"]
    assert figures["own_ms_per_gb"] > 0 or figures["gbit_per_s"] > 0
PYTHON
check "json" python3 "$place/compare.py" "$place/json" loopback
path=loopback
unshare -n true 2>/dev/null && path=veth
check "json to standard output" "$cpuload" $short --path $path --json - -- --memory 1M
cp "$place/out" "$place/json"
check "nothing but json" python3 "$place/compare.py" "$place/json" $path

# ---- runs that fail: the rest is measured, what is missing is told. Runs are numbered from the one
# with --help on; the real zcrp-bench is run unless the number is in $place/failing.

mkdir "$place/stand"
cp "$cpuload" "$build/zcrp-load" "$place/stand/"
cat >"$place/stand/zcrp-bench" <<SHELL
#!/bin/sh
echo >>"$place/runs"
number=\$(wc -l <"$place/runs")
! grep -qw "\$number" "$place/failing" || { echo "zcrp-bench: run \$number went wrong" >&2; exit 1; }
exec "$(realpath "$build")/zcrp-bench" "\$@"
SHELL
chmod +x "$place/stand/zcrp-bench"

# fails STATUS NUMBER... : these runs of zcrp-bench fail; it ends with this status.
fails() {
    wanted=$1
    shift
    rm -f "$place/runs"
    echo "$@" >"$place/failing"
    "$place/stand/zcrp-cpuload" $short --rate 10M --json "$place/json" -- --memory 1M \
        >"$place/table" 2>"$place/said"
    got=$?
    check "status when $* fail" test "$got" -eq "$wanted"
}

fails 0 4
check "once is no harm" test ! -s "$place/said"
check "nothing is missing" python3 "$place/compare.py" "$place/json" loopback
fails 0 4 5
check "one is missing" grep -F "zcrp-cpuload: 1 of 10 runs failed twice" "$place/said"
check "which" grep -E "^zcrp-cpuload: zcrp-bench .*--json.*: zcrp-bench: run 5 went wrong$" "$place/said"
check "a dash" grep -E "^full +zcrp +- +- +- " "$place/table"
check "and why" grep -F "Missing, for it failed twice: zcrp, full: zcrp-bench" "$place/table"
check "json has it" python3 -c 'import json, sys
(one,) = json.load(open(sys.argv[1]))["settings"][0]["missing"]
assert (one["transport"], one["phase"]) == ("zcrp", "full"), one' "$place/json"
fails 0 2 3
check "a trial is missing" grep -F "Missing, for it failed twice: zcrp, trial" "$place/table"
fails 1 4 5 6 7
check "two are more than a tenth" grep -F "2 of 10 runs" "$place/said"
check "the rest is there" grep -E "^paced +zcrp" "$place/table"
fails 1 2 3 4 5
check "no transport works" grep -x "zcrp-cpuload: zcrp-bench: run 5 went wrong" "$place/said"

# ---- interrupted: nothing is left behind

"$cpuload" $short --repeat 1000 -- --memory 1M >/dev/null 2>&1 &
running=$!
sleep 1
children=$(cat "/proc/$running/task/$running/children")
kill -TERM "$running"
wait "$running"
check "status when it was ended" test $? -eq 143
running=
for child in $children; do
    check "no child is left behind" eventually sh -c "! grep -s 'State:.[^Z]' /proc/$child/status"
done

conclude
