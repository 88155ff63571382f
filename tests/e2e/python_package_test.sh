#!/bin/sh
# The Python package, built with what is installed here: messages, keys, arrays, queues. The rest of its tests, its types and
# the wheel belong to python_test.sh, for which pip downloads what they need.
# load: asleep
set -u

. "$(dirname "$0")/../support/script.sh"

needs "$build/zcrp-bench"
unset MAKEFLAGS MAKELEVEL ZCRP_NO_MEMORY
for module in cffi setuptools pytest; do
    python3 -c "import $module" 2>/dev/null || { echo "there is no python3-$module"; exit 77; }
done
python3 -c "import os, sysconfig; open(os.path.join(sysconfig.get_path('include'), 'Python.h'))" 2>/dev/null ||
    { echo "there is no python3-dev"; exit 77; }
cd "$(dirname "$0")/../../python" || exit 1
check "it is built" env ZCRP_BUILT=1 CFLAGS=-O0 python3 -B setup.py -q build --build-base "$place/room" --build-lib "$place/package"
check "its tests" env PYTHONPATH="$place/package" python3 -B -m pytest -q -p no:cacheprovider \
    tests/test_messages.py tests/test_keys.py tests/test_mapped.py tests/test_queue.py

conclude
