# What scripts that test zcrp-bench share; read with `.`. The program is in $ZCRP_BUILD, files belong
# in $place. A script ends with `conclude`.

bench=${ZCRP_BUILD:-build}/zcrp-bench
place=$(mktemp -d "${TMPDIR:-/tmp}/bench_test.XXXXXX")
checks=0
failures=0
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT TERM

[ -x "$bench" ] || { echo "no $bench: run make first"; exit 77; }

# check NAME COMMAND... : the command has to succeed. Its output stays in $place/out and err.
check() {
    name=$1
    shift
    checks=$((checks + 1))
    "$@" >"$place/out" 2>"$place/err" && return
    failures=$((failures + 1))
    echo "FAIL $name: $*"
    sed 's/^/    /' "$place/out" "$place/err"
}

# shows NAME PATTERN : the last output that was checked has such a line.
shows() {
    cp "$place/out" "$place/shown"
    check "$1" grep -E -e "$2" "$place/shown"
    cp "$place/shown" "$place/out"
}

# complains STATUS TEXT ARGUMENT... : zcrp-bench exits with STATUS, and says TEXT on standard error.
complains() {
    wanted=$1
    text=$2
    shift 2
    "$bench" "$@" >/dev/null 2>"$place/said"
    got=$?
    check "status of $*" test "$got" -eq "$wanted"
    check "complaint of $*" grep -F -e "$text" "$place/said"
    [ -s "$place/out" ] || cat "$place/said"
}

# listen ARGUMENT... : starts a receiving end, process $listener, at $port.
listen() {
    "$bench" --listen 127.0.0.1:0 "$@" 2>"$place/listener" &
    listener=$!
    port=
    tries=0
    while [ -z "$port" ] && [ $tries -lt 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
        port=$(sed -n 's/.*port \([0-9]*\)$/\1/p' "$place/listener")
    done
}

# ends STATUS : the receiving end is over, with this status.
ends() {
    wait "$listener"
    got=$?
    check "status of the receiving end" test "$got" -eq "$1"
}

# start_endless : two ends alone with much to do, processes $sender and $receiver.
start_endless() {
    "$bench" --size 64K --count 100000000 --repeat 1 2>"$place/said" &
    sender=$!
    sleep 1
    receiver=$(tr -d ' ' <"/proc/$sender/task/$sender/children")
}

# conclude : says how it went; the script's status.
conclude() {
    echo "$((checks - failures)) of $checks checks passed"
    [ "$failures" -eq 0 ]
}
