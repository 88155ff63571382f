#!/bin/sh
# zcrp-load as its user meets it: it counts, says how far it is, and ends. The program is in $ZCRP_BUILD.
set -u

. "$(dirname "$0")/../../support/script.sh"

load=$build/zcrp-load
program=$load
needs "$load"

has_lines() {
    test "$(wc -l <"$2")" -ge "$1"
}

# is_ready NUMBER : so many children are there.
is_ready() {
    test "$(wc -w <"/proc/$running/task/$running/children")" -eq "$1"
}

# start ARGUMENT... : runs it, process $running, output in $place/counts.
start() {
    : >"$place/counts"
    "$load" "$@" >"$place/counts" &
    running=$!
}

# ---- what it says of itself, and to mistakes

check "help" "$load" --help
for option in $(grep -o -e '--[a-z]*' "$place/out" | sort -u); do
    "$load" "$option" --help >/dev/null 2>"$place/said"
    check "$option is known" sh -c "! grep -q unknown '$place/said'"
done
check "version" "$load" --version
complains 2 "unknown option '--bogus'" --bogus
complains 2 "--pin needs a value" --pin
complains 2 "--pin: 'x' is not a list of cores" --pin x
complains 2 "--pin: '0,' is not a list of cores" --pin 0,
complains 2 "--processes: '0' is not a number from 1 to 1024" --processes 0
complains 2 "--processes: '1025' is not a number from 1 to 1024" --processes 1025
complains 2 "--duration: '-1' is not a number of seconds" --duration -1
complains 2 "--duration: '1x' is not a number of seconds" --duration 1x
complains 2 "--duration: 'nan' is not a number of seconds" --duration nan
complains 2 "unexpected argument 'extra'" extra
complains 1 "cannot run on core 1023" --pin 1023

# ---- it counts

check "for a while" "$load" --duration 0.05 --processes 3 --each
cp "$place/out" "$place/counts"
check "a line for all of them and each" grep -E \
    '^[0-9]+ counts in 0\.[0-9]{6} s, [0-9.e+]+ a second: [0-9]+, [0-9]+, [0-9]+$' "$place/counts"
line=$(sed 's/ counts in .*://; s/,//g' "$place/counts")
set -- $line
check "the sum is that of all" test "$1" -eq $(($2 + $3 + $4))

start --processes 2
check "its processes are there" eventually is_ready 2
kill -USR1 "$running"
check "a signal, a line" eventually has_lines 1 "$place/counts"
kill -USR1 "$running"
check "another, another" eventually has_lines 2 "$place/counts"
counts() {
    kill -USR1 "$running" && grep -q '^[1-9]' "$place/counts"
}
check "it counts" eventually counts
kill -TERM "$running"
wait "$running"
check "SIGTERM ends it well" test $? -eq 0
running=
check "with a last line" has_lines 4 "$place/counts"
check "it never counts down" sort -n -C "$place/counts"

# ---- where it runs, and with whom it ends

core=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
start --pin "$core" --processes 2
check "pinned processes are there" eventually is_ready 2
children=$(cat "/proc/$running/task/$running/children")
runs_on() {
    grep -q "^Cpus_allowed_list:[^0-9]*$core\$" "/proc/$1/status"
}
for child in $children; do
    check "pinned to core $core" eventually runs_on "$child"
done
set -- $children
kill -9 "$1"
wait "$running"
check "it notices when a counter dies" test $? -eq 1

start
check "the process is there" eventually is_ready 1
child=$(tr -d ' ' <"/proc/$running/task/$running/children")
kill -9 "$running"
wait "$running" 2>/dev/null
running=
is_gone() {
    ! grep -q 'State:.[^Z]' "/proc/$child/status"
}
check "nothing is left behind" eventually is_gone

conclude
