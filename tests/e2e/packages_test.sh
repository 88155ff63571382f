#!/bin/sh
# The packages of Debian are built from the last commit, the library's also alone, lintian finds nothing, and what is in
# them works from where it was unpacked.
# load: busy
# stage: check-all
set -u

. "$(dirname "$0")/../support/script.sh"

command -v dpkg-buildpackage >/dev/null && command -v lintian >/dev/null ||
    { echo "sh tools/setup packages"; exit 77; }

check "the library's alone are built" env DEB_BUILD_PROFILES="pkg.libzcrp.library-only nocheck" DEB_BUILD_OPTIONS=nocheck \
    make --no-print-directory packages
check "there are two" test "$(ls build/packages/*.deb | grep -cv dbgsym)" = 2
check "they are built" make --no-print-directory packages
check "lintian" lintian --allow-root --pedantic --fail-on error,warning,pedantic build/packages/*.changes
for package in libzcrp0.3 libzcrp-dev zcrp-tools libnccl-net-zcrp libfabric-zcrp python3-zcrp; do
    check "$package unpacks" dpkg-deb -x build/packages/${package}_*.deb "$place/root"
done
library=$(dirname "$(find "$place/root" -name libzcrp.so.0.3)")
export LD_LIBRARY_PATH="$library" PYTHONPATH="$place/root/usr/lib/python3/dist-packages"
check "a program" "$place/root/usr/bin/zcrp-bench" --size 64K --count 100 --repeat 1
check "its manual" man -l "$place/root/usr/share/man/man1/zcrp-bench.1.gz"
check "the manual of a function" env MANPATH="$place/root/usr/share/man" man 3 zcrp_submit
papers=$place/root/usr/share/doc
check "what the header points to" test -f "$papers/libzcrp-dev/docs/security.md"
check "how it works inside" test -f "$papers/libzcrp-dev/docs/internals/design.md"
check "the links of its README" sh -c 'for page in $(sed -n "s/.*](\(docs[^)#]*\.md\).*/\1/p" "$1/README.md"); do
    test -f "$1/$page" || exit 1; done' sh "$papers/libzcrp-dev"
check "the tutorial of Python" grep -q "^# receive.py" "$papers/python3-zcrp/README.md"
check "a program for the library" ${CC:-cc} "$papers/libzcrp-dev/examples/echo.c" -o "$place/echo" \
    -I"$place/root/usr/include" -L"$library" -lzcrp
complaint "it runs" 2 "usage: echo serve" "$place/echo"
check "Python" python3 -c "import zcrp; zcrp.listen('127.0.0.1').close()"
conclude
