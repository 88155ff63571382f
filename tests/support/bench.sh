# What scripts that test zcrp-bench share beside script.sh; read with `.`.

. "$(dirname "$0")/../../support/script.sh"

bench=$build/zcrp-bench
program=$bench
needs "$bench"

# shows NAME PATTERN : the last output that was checked has such a line.
shows() {
    cp "$place/out" "$place/shown"
    check "$1" grep -E -e "$2" "$place/shown"
    cp "$place/shown" "$place/out"
}

# listen ARGUMENT... : starts a receiving end, process $listener, at $port.
listen() {
    : >"$place/listener" # the last one's port is not this one's
    "$bench" --listen 127.0.0.1:0 --once "$@" 2>"$place/listener" &
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

# first_child PROCESS : a sanitizer may have made another one, to name functions.
first_child() {
    cut -d ' ' -f 1 "/proc/$1/task/$1/children"
}

# start_endless : two ends alone with much to do, processes $sender and $receiver.
start_endless() {
    "$bench" --size 64K --rate 100M --count 100000000 --repeat 1 2>"$place/said" &
    sender=$!
    check "it begins" eventually has_receiver
    sleep 0.3 # somewhere in the middle
}
has_receiver() {
    receiver=$(first_child "$sender")
    [ -n "$receiver" ]
}
