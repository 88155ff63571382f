#!/bin/sh
# stage: check-all
# load: asleep
# The Python package: built by pip in a virtual environment, its types, its tests, the README's programs in Python and
# C as each other's peer, Dask over a link that loses, and the reference of its calls. (make wheel-check: the wheel.)
set -u

. "$(dirname "$0")/../support/script.sh"

root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$build" && pwd)
unset MAKEFLAGS ZCRP_NO_MEMORY

skip() {
    echo "$*"
    exit 77
}

python3 -c 'import venv, ensurepip' 2>/dev/null || skip "there is no python3-venv"
make -s --no-print-directory -C "$root" build/python/venv/ready >"$place/pip" 2>&1 ||
    skip "pip cannot install what the tests need: $(tail -n 1 "$place/pip")"

make -s --no-print-directory -C "$root" python-check
check "types and tests" test $? = 0

# ---- the README's programs: each receives from the other

# is_taken : somebody has the UDP port $port.
is_taken() {
    grep -q "^ *[0-9]*: [0-9A-F]*:$(printf %04X "$port") " /proc/net/udp
}

python=$root/build/python/venv/bin/python
port=$((29000 + $$ % 3000))
while is_taken; do
    port=$((port + 1))
done
for language in c python; do
    block $language "$root/README.md" | sed "s/\b7000\b/$port/g" >"$place/first.$language"
done
check "the README has a program in Python" grep -q receive_into "$place/first.python"
check "the README's program in C" ${CC:-cc} -I"$root/include" "$place/first.c" -o "$place/first" -L"$build" -lzcrp

# receives_from SENDER RECEIVER... : run in $place; what the receiver says is in $place/received.
receives_from() {
    sender=$1
    shift
    (cd "$place" && exec "$@" receive >received) &
    running=$!
    eventually is_taken && (cd "$place" && $sender send) && wait "$running" && running= &&
        grep '^1048576 bytes: a megabyte, in place$' "$place/received"
}

if [ -x "$build/zcrp-keys" ]; then
    check "a key" "$build/zcrp-keys" generate psk first "$place/first.key"
    export LD_LIBRARY_PATH="$build"
    check "C receives from Python" receives_from "$python first.python" ./first
    check "Python receives from C" receives_from ./first "$python" first.python
    unset LD_LIBRARY_PATH
fi

# ---- Dask over a link

if "$build/zcrp-link" --quiet --wait 0 -- true -- true 2>"$place/said"; then
    for case in "transfer --bytes 20000000" "transpose --bytes 50000000"; do
        # shellcheck disable=SC2086 # two words and more
        check "Dask over a link: $case" timeout 100 "$root/build/python/venv/bin/python" -B \
            "$root/python/bench_dask.py" --case $case --protocols zcrp --rounds 1 --build "$build" \
            --link "--rate 300M --delay 5ms --loss 1%"
    done
else
    echo "Dask is not tried over a link: $(tail -n 1 "$place/said")"
fi

make -s --no-print-directory -C "$root" python-api
check "the reference" test $? = 0
for name in connect Options Queue IdleTimeoutError; do
    check "the reference has $name" grep -q "id=\"$name\"" "$root/build/python/api/zcrp.html"
done

conclude
