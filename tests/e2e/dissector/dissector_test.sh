#!/bin/sh
# The dissector for Wireshark: on the vectors of docs/vectors, on units that the kernel joined, on
# AAL5 in pieces, damaged and whole.
# stage: check-all
export PYTHONPATH=tests/support PYTHONDONTWRITEBYTECODE=1
exec python3 tests/e2e/dissector/dissector.py
