#!/bin/sh
# The dissector for Wireshark with a key log: its cryptography on published vectors, docs/vectors/sealed.txt,
# damaged datagrams, logs of others, and runs of zcrp-bench.
# load: busy
# stage: check-all
export PYTHONPATH=tests/support PYTHONDONTWRITEBYTECODE=1
exec python3 tests/e2e/dissector/dissector_keys.py
