#!/bin/sh
# What bash completes for the programs: each of their options, and nothing that is none.
# load: asleep
set -u

. "$(dirname "$0")/../../support/script.sh"

command -v bash >/dev/null || { echo "no bash"; exit 77; }
completion=$(dirname "$0")/../../../tools/completion/zcrp.bash

# completes PROGRAM WORD : what bash offers, a line each.
completes() {
    bash -c '. "$1"; _zcrp "$2" "$3" "$2"; printf "%s\n" "${COMPREPLY[@]}"' - "$completion" "$build/$1" "$2"
}

for program in $(sed -n 's/^complete .* -F _zcrp //p' "$completion"); do
    [ -x "$build/$program" ] || continue
    completes "$program" -- >"$place/offered"
    "$build/$program" --help >"$place/help"
    for option in $(grep -oE -e '(^|[ ,[])--[a-z][-a-z0-9]*' "$place/help" | tr -d ' ,[' | sort -u); do
        check "$program $option" grep -qxF -e "$option" "$place/offered"
    done
done
for path in "$(dirname "$0")"/../../../tools/*/main.c "$(dirname "$0")"/../../../tools/*/__main__.py; do
    program=$(basename "$(dirname "$path")")
    check "$program is completed" grep -qw -e "$program" "$completion"
done
completes zcrp-top --di >"$place/offered"
check "what begins so" test "$(cat "$place/offered")" = --directory
completes zcrp-top --nonsense >"$place/offered"
check "an option that there is not" test -z "$(cat "$place/offered")"

conclude
