#!/bin/sh
# stage: check-all
# load: asleep
# The Python package: built by pip in a virtual environment, its types, its tests, Dask over a link that loses, and
# the wheel, which works where there is no libzcrp.
set -u

. "$(dirname "$0")/../support/script.sh"

root=$(dirname "$0")/../..
room=$place/room
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

make -s --no-print-directory -C "$root" wheel
check "a wheel" test $? = 0
python3 -m venv --system-site-packages "$room" && "$room/bin/pip" install -q --disable-pip-version-check \
    "$root"/build/python/wheel/zcrp-*.whl
check "it installs" test $? = 0
sed -n '/^# any_size.py/,/^```/{/^```/d;p;}' "$root/python/README.md" >"$place/any_size.py"
printed=$(cd "$place" && "$room/bin/python" any_size.py)
check "and works" test "$printed" = "HOW ARE YOU?"

conclude
