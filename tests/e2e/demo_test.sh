#!/bin/sh
# The demo as a stranger meets it, as small as it gets: what it says, what it leaves, and that the
# commands that it names work as they are written. The programs are in $ZCRP_BUILD.
# load: asleep
set -u

. "$(dirname "$0")/../support/script.sh"

cd "$(dirname "$0")/../.." || exit 1
needs "$build/zcrp-bench" "$build/zcrp-link" "$build/zcrp-top" "$build/examples/sender"
export ZCRP_DEMO=quick ZCRP_BUILD="$build" TMPDIR="$place/tmp"
unset ZCRP_NO_MEMORY
mkdir "$TMPDIR"
demo="timeout 60 sh tools/demo"

# shows NAME PATTERN : the demo has said so.
shows() {
    check "$1" grep -E -e "$2" "$place/demo"
}

# leaves_nothing NAME : no file, and no process that has one of its files.
leaves_nothing() {
    check "$1 leaves no files" test -z "$(ls "$TMPDIR")"
    check "$1 leaves no processes" eventually is_quiet
}
is_quiet() {
    ! grep -lsF "$TMPDIR/zcrp-demo" /proc/[0-9]*/cmdline >/dev/null
}

# ---- all of it

check "the demo" $demo
cp "$place/out" "$place/demo"
shows "a file" "3 MB arrived and were written to disk in [0-9.]+ seconds"
shows "which is the same" "cmp finds no difference"
shows "small messages" "^   64 bytes +[0-9.]+ [GM]bit/s +[0-9.]+ [GM]bit/s   ((ZCRP|TCP): [0-9.]+ times|about the same)$"
shows "large messages" "^   1 MiB +[0-9.]+ [GM]bit/s"
shows "a path, or what is missing for one" "^   (TCP, [a-z0-9]+ +[0-9.]+ [GM]bit/s|Left out, for want of a right: .+)"
shows "what to try next" "^What to try next:$"
leaves_nothing "the demo"

# ---- what to try next

sed -n '/^What to try next/,$s/^   \([^ ].*\)/\1/p' "$place/demo" >"$place/next"
check "three commands" test "$(wc -l <"$place/next")" -eq 3
while read -r command; do
    check "$command" env XDG_RUNTIME_DIR="$place" timeout 60 sh -c "$command; wait"
    cp "$place/out" "$place/demo"
    case $command in
    *zcrp-top*) shows "it is seen live" "zcrp-bench .* out " ;;
    *receiver*) shows "all of it arrives" "^$(wc -c <README.md)$" ;;
    esac
done <"$place/next"

# ---- its argument, and what fails

check "a file of one's own" $demo README.md
cp "$place/out" "$place/demo"
shows "is the one that is sent" "0 MB arrived"
complaint "a file that is not there" 1 "there is no file $place/none" $demo "$place/none"
complaint "a program that is not there" 1 "run make first" env ZCRP_BENCH="$place/none" $demo
complaint "a program that fails" 1 "unknown option" env ZCRP_BENCH="$build/zcrp-top" $demo
leaves_nothing "a demo that fails"
sed 's/^find_right() {/&\n    echo "zcrp-link: not permitted" >"$place\/said"; return 1/' tools/demo >"$place/rightless"
check "without a right" timeout 60 sh "$place/rightless"
cp "$place/out" "$place/demo"
shows "it says which one, and goes on" "for want of a right: not permitted"
shows "to the end" "^What to try next:$"

# ---- signals, in any part of it

for signal in 'TERM 0.2' 'INT 0.6' 'TERM 1.5'; do
    set -- $signal
    timeout -s "$1" "$2" sh tools/demo >/dev/null 2>&1
    got=$?
    check "SIG$1 after $2 s ends it" test "$got" -eq 124 -o "$got" -eq 0
    leaves_nothing "SIG$1 after $2 s"
done

conclude
