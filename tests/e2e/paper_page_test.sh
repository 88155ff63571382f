#!/bin/sh
# stage: check-all
# The paper's evaluation, as small as it gets: two machines, their link, a page; and that nothing is
# left of an evaluation that is ended. How fast anything is does not matter here. The programs are in
# $ZCRP_BUILD.
# load: asleep
set -u

. "$(dirname "$0")/../support/script.sh"

export ZCRP_BUILD="$build"
link=

for program in python3 gnuplot; do
    command -v "$program" >/dev/null || { echo "no $program"; exit 77; }
done
needs_link

# paper ARGUMENT... : exec, so that a signal reaches it.
paper() {
    exec python3 -B tools/lab/paper.py "$@"
}

# groups_of PID : control groups that it has made.
groups_of() {
    find /sys/fs/cgroup -maxdepth 2 -type d -name "zcrp-paper.$1.*" 2>/dev/null
}

check "a page" sh -c 'exec python3 -B tools/lab/paper.py --scale least --output "$0"' "$place/page"
cp "$place/out" "$place/findings"
check "findings are said" grep -F "ZCRP's throughput is almost unchanged" "$place/findings"
for number in 18 25 29; do
    check "figure $number" grep -F "### Figure $number:" "$place/page/index.md"
    check "picture $number" grep -F "message size" "$place/page/figure$number.svg"
done
cat >"$place/compare.py" <<'PYTHON'
import json, sys

results = json.load(open(sys.argv[1]))
assert [figure["number"] for figure in results["figures"]] == [18, 25, 29]
for figure in results["figures"]:
    lines = sorted((run["transport"], run["channel"].partition("/")[0], run["size"])
                   for run in figure["runs"])
    assert lines == [(transport, channel, size)
                     for transport, channel in (("tcp", "tcp"), ("zcrp", "aal5-udp"), ("zcrp", "udp"))
                     for size in (1024, 65536)], lines
    assert all(run["mbit_per_s"] > 0 for run in figure["runs"])
PYTHON
check "what was measured" python3 "$place/compare.py" "$place/page/paper.json"

# ---- runs that fail: the rest is measured, what is missing is told. The link and zcrp-bench are
# stand-ins: the one runs what sends, the other fails in its n-th run for the n in $place/failing.

mkdir "$place/stand"
cat >"$place/stand/zcrp-link" <<'SHELL'
#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
SHELL
cat >"$place/stand/zcrp-bench" <<'PYTHON'
#!/usr/bin/env -S python3 -IS
import json, os, sys

place = os.path.join(os.path.dirname(__file__), "..")
with open(os.path.join(place, "runs"), "a+") as runs:
    runs.write("x")
    number = runs.tell()
if str(number) in open(os.path.join(place, "failing")).read().split():
    sys.exit(f"zcrp-bench: run {number} went wrong")
given = {name: sys.argv[sys.argv.index(name) + 1]
         for name in ("--transport", "--size", "--repeat", "--channel", "--json")}
end = {"cpu_s_per_gb": 1.0}
with open(given["--json"], "w") as file:
    json.dump({"runs": [{
        "transport": transport, "channel": "tcp" if "tcp" in transport else given["--channel"],
        "size": int(size), "bytes": 1, "seconds": 1.0, "gbit_per_s": 0.1, "sender": end,
        "receiver": end, "repeated_units": 0}
        for size in given["--size"].replace("K", "000").split(",")
        for transport in given["--transport"].split(",")
        for _ in range(int(given["--repeat"]))]}, file)
PYTHON
printf '#!/bin/sh\n' | tee "$place/stand/zcrp-load" >"$place/stand/zcrp-plot"
chmod +x "$place"/stand/*

# fails SCALE STATUS NUMBER... : these runs of zcrp-bench fail; the page is $place/page, with this
# status.
fails() {
    scale=$1
    wanted=$2
    shift 2
    rm -rf "$place/page" "$place/runs"
    echo "$@" >"$place/failing"
    ZCRP_BUILD="$place/stand" python3 -B tools/lab/paper.py --scale "$scale" --output "$place/page" \
        >"$place/findings" 2>"$place/said"
    got=$?
    check "status when $* fail" test "$got" -eq "$wanted"
}

# runs COUNT : so often was zcrp-bench run.
runs() {
    check "$1 runs" test "$(wc -c <"$place/runs")" -eq "$1"
}

fails quick 0 2 5 6
runs 67
check "once is no harm, twice is missing" grep -F "paper: 1 of 65 runs failed twice" "$place/said"
check "which" grep -E "^paper: zcrp-link .* -- zcrp-bench .* --transport zcrp,.*: zcrp-bench: run 6" \
    "$place/said"
check "the page says why" grep -F "run 6 went wrong" "$place/page/index.md"
python3 -B tools/lab/page.py "$place/page" docs/evaluation.md "$place/evaluation.md"
check "so does the document" grep -F "zcrp-bench: run 6 went wrong" "$place/evaluation.md"
fails least 1 1 2
check "one of seven is more than a tenth" grep -F "1 of 7 runs" "$place/said"
check "the best TCP is not known" grep -F "which TCP is the best" "$place/page/index.md"
fails least 1 $(seq 14)
check "nothing at all" grep -F "paper: nothing could be measured: zcrp-bench: run 14" "$place/said"
check "no page" test ! -e "$place/page"

# ---- ended: nothing is left

paper --scale full --output "$place/none" >"$place/said" 2>&1 &
running=$!
tries=0
while [ -z "$link" ] && [ $tries -lt 100 ]; do
    sleep 0.1
    tries=$((tries + 1))
    for child in $(cat "/proc/$running/task/$running/children"); do
        ! grep -qsx zcrp-link "/proc/$child/comm" || link=$child
    done
done
check "it was at work" test -n "$link"
kill -TERM "$running"
wait "$running"
check "status when it was ended" test $? -eq 143
check "no page" test ! -e "$place/none"
check "no control group is left" test -z "$(groups_of "$running")"
check "no link is left" sh -c "! grep -s 'State:.[^Z]' /proc/$link/status"
running=

conclude
