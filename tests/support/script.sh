# What shell scripts that test programs share; read with `.`. The programs are in $build, files belong
# in $place, which goes when the script ends, and so does the process $running if that is set. A script
# ends with `conclude`.

build=${ZCRP_BUILD:-build}
place=$(mktemp -d "${TMPDIR:-/tmp}/$(basename "$0" .sh).XXXXXX")
checks=0
failures=0
running=
export ZCRP_NO_MEMORY="${ZCRP_NO_MEMORY-1}" # a script about memory unsets it
trap 'test -z "$running" || kill "$running" 2>/dev/null; rm -rf "$place"' EXIT
trap 'exit 130' INT TERM

# needs PROGRAM... : without one of them the script is skipped.
needs() {
    for needed; do
        [ -x "$needed" ] || { echo "no $needed: run make first"; exit 77; }
    done
}

# needs_link : two namespaces and a link between them; without the right to have them it is skipped.
needs_link() {
    needs "$build/zcrp-link"
    "$build/zcrp-link" --quiet --wait 0 -- true -- true 2>"$place/said"
    [ $? -ne 125 ] || { cat "$place/said"; exit 77; }
}

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

# complaint NAME STATUS TEXT COMMAND... : it ends with STATUS, and says TEXT on standard error.
complaint() {
    complaint=$1
    wanted=$2
    text=$3
    shift 3
    "$@" >/dev/null 2>"$place/said"
    got=$?
    check "status of $complaint" test "$got" -eq "$wanted"
    check "complaint of $complaint" grep -F -e "$text" "$place/said"
    [ -s "$place/out" ] || cat "$place/said"
}

# complains STATUS TEXT ARGUMENT... : the same of $program, the one that the script tests.
complains() {
    wanted=$1
    text=$2
    shift 2
    complaint "$*" "$wanted" "$text" "$program" "$@"
}

# eventually COMMAND... : succeeds within ten seconds.
eventually() {
    tries=0
    until "$@" 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || return 1
        sleep 0.1
    done
}

# block KIND PAGE : the first block of this language in a Markdown page.
block() {
    awk -v fence="\`\`\`$1" '$0 == fence { inside = 1; next } inside && /^```$/ { exit } inside' "$2"
}

# conclude : says how it went; the script's status.
conclude() {
    echo "$((checks - failures)) of $checks checks passed"
    [ "$failures" -eq 0 ]
}
