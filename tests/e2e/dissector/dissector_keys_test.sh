#!/bin/sh
# The dissector for Wireshark with a key log: its cryptography on published vectors, docs/vectors/sealed.txt,
# damaged datagrams, logs of others, and runs of zcrp-bench.
# load: busy
# stage: check-all
command -v tshark >/dev/null || {
    echo "there is no tshark"
    exit 77
}
# Root runs it as nobody (tests/support/capture.py).
if [ "$(id -u)" -eq 0 ] && ! setpriv --reuid=65534 --regid=65534 --clear-groups true; then
    echo "root is no other user here, as which tshark would run a script"
    exit 77
fi
export PYTHONPATH=tests/support PYTHONDONTWRITEBYTECODE=1
exec python3 tests/e2e/dissector/dissector_keys.py
