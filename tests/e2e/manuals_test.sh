#!/bin/sh
# The man pages: zcrp(3) names every function, error, option and statistic of the header, and zcrp(7)
# every variable that the library reads; the example compiles; groff has no complaint.
set -u

. "$(dirname "$0")/../support/script.sh"

root=$(dirname "$0")/../..
header=$root/include/zcrp.h

# names PAGE WORD... : each word is in the page, by itself.
names() {
    page=$root/docs/$1
    shift
    sed 's/\\-/-/g' "$page" >"$place/page"
    for word; do
        check "$page names $word" grep -qwF -e "$word" "$place/page"
    done
}

# rows MACRO : the names in a table of the header.
rows() {
    sed -n "/^#define $1(X)/,/[^\\\\]\$/s/^ *X(\([A-Za-z_]*\),.*/\1/p" "$header"
}

# fields STRUCT : the fields of a struct of the header that stand at its top.
fields() {
    sed -n "/^struct $1 {/,/^};/p" "$header" | sed 's|/\*.*||' |
        sed -n 's/^    [a-z][a-z0-9_ ]*[ *]\([a-z0-9_]*\);.*/\1/p; s/^ *\([a-z_]*\);.*/\1/p'
}

functions=$(sed -n 's/^ *\(zcrp_[a-z0-9_]*\);$/\1/p' "$root/src/zcrp.map" | sed 's/_sized$//')
options=$(fields zcrp_options)
check "the header has functions" test "$(echo "$functions" | wc -l)" -ge 30
check "the header has errors" test "$(rows ZCRP_ERRORS | wc -l)" -ge 25
check "the header has statistics" test "$(rows ZCRP_STATS | wc -l)" -ge 40
check "the header has options" test "$(echo "$options" | wc -l)" -ge 18
names zcrp.3 $functions $options $(rows ZCRP_STATS) $(rows ZCRP_ERRORS | sed 's/^/ZCRP_ERROR_/')
names zcrp.7 $(grep -rhoE '"ZCRP_[A-Z0-9_]+"' "$root"/src --include='*.c' | tr -d '"' | sort -u)

sed -n '/^#include <stdio.h>/,/^\.fi/{/^\.fi/d;s/\\e/\\/g;p;}' "$root/docs/zcrp.3" >"$place/example.c"
check "the example compiles" ${CC:-cc} -Wall -Wextra -Werror -I"$root/include" "$place/example.c" \
    -o "$place/example" -L"$build" -lzcrp

if command -v groff >/dev/null; then
    for page in "$root"/docs/*.[1-9]; do
        groff -man -ww -Tutf8 "$page" >/dev/null 2>"$place/complaints"
        check "groff: $page: $(cat "$place/complaints")" test ! -s "$place/complaints"
    done
fi

conclude
