#!/bin/sh
# The dissector for Wireshark: on the vectors of docs/vectors, on units that the kernel joined, on
# AAL5 in pieces, damaged and whole.
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
exec python3 tests/e2e/dissector/dissector.py
