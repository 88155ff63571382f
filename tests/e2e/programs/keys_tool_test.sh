#!/bin/sh
# zcrp-keys and what is wrong with a file: it says which file, and why.
set -u

. "$(dirname "$0")/../../support/script.sh"

program=$build/zcrp-keys
needs "$program"
umask 077

if ! "$program" generate psk test "$place/psk" 2>"$place/said"; then
    check "the library was built without keys" grep -F "built without keys" "$place/said"
    conclude
    exit
fi

check "a pre-shared key" "$program" show "$place/psk"
cp "$place/out" "$place/shown"
check "has its identity" grep -qx "a pre-shared key, identity test" "$place/shown"
check "a key pair" "$program" generate raw "$place/raw"
check "has a fingerprint" "$program" fingerprint "$place/raw"

missing=": No such file or directory"
complains 1 "cannot read $place/none$missing" show "$place/none"
complains 1 "cannot make $place/none/key$missing" generate raw "$place/none/key"
complains 1 "cannot make $place/psk: File exists" generate psk test "$place/psk"

echo "no key at all" >"$place/text"
complains 1 "$place/text: neither \"identity:digits\" nor a key pair in PEM" show "$place/text"
echo "test:0123" >"$place/short"
complains 1 "$place/short: key has 2 bytes; it has to have 32 to 64" show "$place/short"
echo "test:xyz" >"$place/letters"
complains 1 "$place/letters: what is behind the colon is not 64 to 128 hexadecimal digits" show "$place/letters"
"$program" generate psk other "$place/other"
cat "$place/psk" "$place/other" >"$place/two"
complains 1 "$place/two: a pre-shared key is one line, and this has more" show "$place/two"
printf -- '-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n' >"$place/pem"
complains 1 "$place/pem is no key pair: " show "$place/pem"
check "says of a broken key pair nothing that is not so" sh -c "! '$program' show '$place/pem' 2>'$place/said' | grep ."
"$program" generate psk "$(printf 'a\033[31mb')" "$place/colour"
check "an identity that would colour the terminal" "$program" show "$place/colour"
cp "$place/out" "$place/shown"
check "is shown without its controls" grep -qxF "a pre-shared key, identity a?[31mb" "$place/shown"
chmod 644 "$place/psk"
mkdir "$place/folder"
complains 1 "cannot read $place/folder: Is a directory" show "$place/folder"
complains 1 "$place/psk can be read by users other than its owner: chmod 600 it" show "$place/psk"
complains 1 "/dev/null is no regular file" show /dev/null
check "a key that comes by a pipe" sh -c "'$program' generate raw '$place/piped' && cat '$place/piped' | '$program' show /dev/stdin"

chmod 600 "$place/psk"
"$program" show "$place/psk" >/dev/full 2>"$place/said"
check "a full disk" test $? -eq 1
check "... is told: $(cat "$place/said")" grep -q 'cannot write: No space left' "$place/said"

complains 2 "a command is missing; --help lists them"
complains 2 "usage: zcrp-keys show FILE" show
complains 2 "usage: zcrp-keys generate psk IDENTITY FILE, or generate raw FILE" generate psk x
complains 2 "an identity has 1 to 128 bytes, and neither a colon nor a line break" generate psk a:b "$place/bad"
complains 2 "an identity has 1 to" generate psk '' "$place/bad"
check "makes no file of a wrong identity" test ! -e "$place/bad"
complains 2 "'--help' is behind the first word" generate psk x --help
check "writes no file of an option's name" test ! -e --help
whole=$(cd "$(dirname "$program")" && pwd)/zcrp-keys
check "... but of a name behind --" sh -c "cd '$place' && '$whole' generate psk x -- --help"
check "... which is there" test -s "$place/--help"
complains 2 "no such command: frobnicate; --help lists them" frobnicate

conclude
