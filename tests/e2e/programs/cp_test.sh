#!/bin/sh
# zcrp-cp as its user meets it: files and directories, both ways, by a remote shell and from a server.
# The remote shell is a script that runs the far end here.
# load: asleep
set -u

. "$(dirname "$0")/../../support/script.sh"

build=$(cd "$build" && pwd)
program=$build/zcrp-cp
[ -x "$program" ] || { echo "no zcrp-cp: it needs libxxhash"; exit 77; }
cd "$place" || exit 1
printf '#!/bin/sh\nshift\nexec "$@"\n' >rsh
chmod +x rsh
export ZCRP_RSH="$place/rsh"

# copies WORD... : by the remote shell.
copies() {
    "$program" --far-program "$program" "$@"
}

# is_same A B : two trees have the same files, links, permissions and times.
is_same() {
    diff -r --no-dereference "$1" "$2" && (cd "$1" && list) >"$place/list1" &&
        (cd "$2" && list) >"$place/list2" && cmp "$place/list1" "$place/list2"
}
list() {
    find . -exec stat -c '%n %F %a %Y %y' '{}' + | sort
}

# prints NAME COMMAND... : as check; the output stays in $place/printed.
prints() {
    check "$@"
    cp "$place/out" "$place/printed"
}

# counted NAME : a figure of the last --stats in $place/printed.
counted() {
    sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" "$place/printed" | tail -n 1
}

# random_bytes NUMBER : the same each time.
random_bytes() {
    head -c "$1" /dev/urandom
}

# ---- what it says of itself, and to mistakes

check "help" "$program" --help
check "version" "$program" --version
complains 2 "unknown option '--bogus'" --bogus
complains 2 "name the files to copy" file
complains 2 "the files or the target must be on another host: 'a' is on this one" a b
complains 2 "the files or the target must be on this host: 'host:a' is not" host:a host:b
complains 2 "'-z' is behind the first word" a -z host:
complains 2 "all files come from one host" host:a other:b .
complains 2 "does not begin with a dash" a -- -oProxyCommand=x:b
complains 2 "there is no host" a :b
complains 2 "a server needs --keys" a host::b
complains 2 "--keys is for a server: host::" --keys k a host:b
complains 2 "--serve needs --keys" --serve .
complains 2 "--read-only is for --serve" --read-only a host:b
complains 2 "--rate: 'x' is not" --rate x a host:b
"$build/zcrp-keys" generate raw pair.key
complains 3 "pair.key is a key pair, but --keys needs a pre-shared key" --keys pair.key --serve .
complains 3 "pair.key is a key pair, but --keys needs a pre-shared key" --keys pair.key a host::b
complains 3 "nokey: No such file or directory" --keys nokey a host::b
complains 3 "nokey: No such file or directory" --keys nokey --serve .
echo junk >junk
chmod 600 junk
complains 3 "junk: neither " --keys junk a host::b
complains 2 "--far is for zcrp-cp itself" --far </dev/null

# ---- a tree with everything, both ways

mkdir -p tree/sub/deep tree/empty 'tree/sub/a b' there here
random_bytes 3000001 >tree/large
random_bytes 65536 >tree/just-small
random_bytes 65537 >tree/just-large
: >tree/nothing
echo text >tree/sub/deep/text
echo dash >tree/-dash
echo quote >"tree/it's \"quoted\""
echo newline >"tree/new
line"
ln -s ../large tree/sub/link
ln -s /nowhere/at/all tree/sub/dangling
truncate -s 3M tree/sparse
echo data | dd of=tree/sparse bs=1 seek=1500000 conv=notrunc status=none
echo end | dd of=tree/sparse bs=1 seek=3145724 conv=notrunc status=none
truncate -s 1M tree/hole
chmod 600 tree/large
chmod 555 tree/sub/deep/text
touch -d '2001-02-03 04:05:06.789' tree/large tree/sub/deep
chmod 500 tree/empty

check "a tree there" copies tree localhost:"$place/there"
check "... is the same" is_same tree there/tree
check "a hole stays a hole" test "$(stat -c %b there/tree/hole)" -eq 0
check "and a file with holes" test "$(stat -c %b there/tree/sparse)" -lt 1000
check "no part files are left" test -z "$(find there -name '.*zcrp-*')"
check "as by scp -r -p" copies -r -p tree localhost:"$place/there"
check "a tree here" copies localhost:"$place/there/tree" here
check "... is the same" is_same tree here/tree

# A directory that is there keeps its sticky bit and its set-group-ID.
mkdir -p bits/d kept/bits/d
chmod 777 bits/d
chmod 3777 kept/bits/d
check "to a directory of many users" copies bits localhost:"$place/kept"
check "... which stays one" test "$(stat -c %a kept/bits/d)" -eq 3777
for i in $(seq 100); do
    mkdir "bits/$i"
    echo "$i" >"bits/$i/f$i"
done
check "files of more directories than descriptors" sh -c \
    "ulimit -Sn 64; '$program' --far-program '$program' bits/*/f* localhost:$place/kept"
check "... are there" test "$(cat kept/f1 kept/f50 kept/f100 | tr '\n' ' ')" = "1 50 100 "

prints "again: all of it is there" copies --stats tree localhost:"$place/there"
check "... so nothing crosses" test "$(counted moved)" -eq 0
check "... and nothing is copied" test "$(counted copied)" -eq 0

touch there/tree/large
prints "another time: its contents are compared" copies --stats --checksum tree localhost:"$place/there"
check "... and are the same" test "$(counted moved)" -eq 0
check "... and it has the time" is_same tree there/tree
printf 'other contents' | dd of=there/tree/large bs=1 seek=100 conv=notrunc status=none
touch -r tree/large there/tree/large
prints "other contents are found" copies --stats --checksum tree localhost:"$place/there"
check "... and copied" is_same tree there/tree
check "... that file alone" test "$(counted copied)" -eq 1

mkdir contents
check "what is in a directory" copies tree/. localhost:"$place/contents/"
check "... without itself" cmp tree/large contents/large
mkdir several
check "several files" copies tree/large tree/nothing localhost:"$place/several"
check "... are there" test -f several/large -a -f several/nothing
check "several files from there" copies localhost:"$place/tree/large" localhost:"$place/tree/-dash" several
check "... are here" cmp tree/-dash several/-dash
check "a directory is made if a slash says so" copies tree/large localhost:"$place/made/"
check "... and has the file" cmp tree/large made/large
complaint "no directory" 1 "localhost:$place/nowhere/new: No such file" \
    copies tree/large localhost:"$place/nowhere/new"
complaint "several files, and no directory" 1 "localhost:$place/nowhere: No such file" \
    copies tree/large tree/nothing localhost:"$place/nowhere"
echo mine >one-file
complaint "several files, and a file" 1 "localhost:$place/one-file: Not a directory" \
    copies tree/large tree/nothing localhost:"$place/one-file"
check "nothing was made, and nothing replaced" test ! -e nowhere -a "$(cat one-file)" = mine

# ---- a new name

mkdir names
check "a file gets a new name there" copies tree/large localhost:"$place/names/new"
check "... and is it" cmp tree/large names/new
check "a file is replaced" copies tree/just-small localhost:"$place/names/new"
check "... by the other one" cmp tree/just-small names/new
check "a file gets a new name here" copies localhost:"$place/tree/large" names/here
check "... and is it" cmp tree/large names/here
check "a directory gets a new name there" copies -r tree/ localhost:"$place/names/tree-there"
check "... and is the same" is_same tree names/tree-there
check "a directory gets a new name here" copies -r localhost:"$place/tree" names/tree-here
check "... and is the same" is_same tree names/tree-here
check "a directory that is there takes one" copies -r tree localhost:"$place/names/tree-there"
check "... in it" is_same tree names/tree-there/tree
check "what is in a directory gets a new one" copies tree/sub/. localhost:"$place/names/contents"
check "... and is there" is_same tree/sub/deep names/contents/deep
check "and here" copies localhost:"$place/tree/sub/." names/contents-here
check "... and is here" is_same tree/sub/deep names/contents-here/deep
ln -s new names/link
check "a link to a file is followed" copies tree/large localhost:"$place/names/link"
check "... and stays one" test -L names/link
check "... to the file" cmp tree/large names/new
mkfifo names/pipe
complaint "no file is put in the place of something else" 1 "names/pipe: it is neither a file nor" \
    copies tree/large localhost:"$place/names/pipe"
complaint "nor of a device" 1 "/dev/null: it is neither a file nor" copies localhost:"$place/tree/large" /dev/null
check "... which are there" test -p names/pipe -a -c /dev/null
check "a dry run makes nothing there" copies -n tree/large localhost:"$place/names/dry/"
check "nor under a new name" copies -n tree localhost:"$place/names/dry"
check "nor here" copies -n localhost:"$place/tree/." names/dry
check "... indeed" test ! -e names/dry
check "no part files are left" test -z "$(find names -name '.*zcrp-*')"

# ---- the home directory of the far end

mkdir home home/sub
at_home() {
    HOME="$place/home" copies "$@"
}
check "relative to it" at_home tree/large localhost:relative
check "... is there" cmp tree/large home/relative
check "a directory in it" at_home tree/large localhost:sub
check "... has the file" cmp tree/large home/sub/large
check "itself" at_home tree/large localhost:
check "... has it" cmp tree/large home/large
check "by its sign" at_home tree/just-small 'localhost:~'
check "... has it" cmp tree/just-small home/just-small
check "below it" at_home tree/large 'localhost:~/sub/again'
check "... is there" cmp tree/large home/sub/again
check "from it" at_home localhost:relative 'localhost:~/sub/again' several
check "... all is here" cmp tree/large several/again
complaint "not there" 1 "localhost:~/nowhere/a: No such file" at_home tree/large 'localhost:~/nowhere/a'

check "many small files are made" sh -c 'mkdir many && cd many && seq 1500 | split -l 1 -a 4'
check "many small files" copies many localhost:"$place/there"
check "... are the same" is_same many there/many

# Each is compared before it is asked for. What differs then is asked for in packs, as else.
mkdir packs there/packs
for number in $(seq 20); do
    random_bytes 65536 >packs/$number
    random_bytes 65536 >there/packs/$number
    touch -r packs/$number there/packs/$number
done
check "small files that differ fill several packs" copies --checksum --rate 4M packs localhost:"$place/there"
check "... and are replaced" is_same packs there/packs

# ---- what is printed

mkdir dry
prints "a dry run" copies --dry-run tree localhost:"$place/dry"
check "... tells of a file" grep -qx 'tree/large' printed
check "... with its control bytes escaped" grep -qxF 'tree/new\012line' printed
check "... and makes nothing" test -z "$(ls -A dry)"
prints "verbose" copies -v tree localhost:"$place/there"
check "... tells what is there" grep -qx 'tree/large: is there already' printed
if [ -c /dev/full ]; then
    for option in --dry-run --verbose --stats; do
        complaint "$option to a full disk" 1 "cannot write to standard output: No space left" \
            sh -c "'$program' --far-program '$program' $option tree/large localhost:'$place/dry' >/dev/full"
    done
    check "... which does not hold the copy up" cmp tree/large dry/large
fi
random_bytes 1250000 >slow
start=$(date +%s%N)
check "a rate" copies --rate 20M slow localhost:"$place/there"
took=$((($(date +%s%N) - start) / 1000000))
check "... is kept: $took ms" test "$took" -ge 350
check "and it is whole" cmp slow there/slow

# ---- a server

"$build/zcrp-keys" generate psk copies key || exit 77
"$build/zcrp-keys" generate psk copies other-key
mkdir served
"$program" --serve served --keys key --port 16636 >said-of-server &
running=$!
check "a server" eventually grep -q 'serves served' said-of-server
serves() {
    "$program" --port 16636 --keys key --address 127.0.0.1 "$@"
}
check "a new directory at a server" serves tree/large localhost::new-directory/
check "... is as open as others" test "$(stat -c %a served/new-directory)" = "$(stat -c %a served)"
rm -r served/new-directory
check "to a server" serves tree localhost::
check "... is the same" is_same tree served/tree
check "from a server" serves localhost::tree/sub several
check "... is the same" is_same tree/sub several/sub
check "a new name at a server" serves tree/large localhost::new-name
check "... is there" cmp tree/large served/new-name
check "its home is its directory" serves tree/large 'localhost::~/at-home'
check "... and nothing else" cmp tree/large served/at-home
check "what is in a directory of it" serves localhost::./tree/sub/. names/from-server
check "... is here" is_same tree/sub/deep names/from-server/deep
check "... also with a slash behind it" serves localhost::./tree/sub/./ names/from-server-again
check "... is here" is_same tree/sub/deep names/from-server-again/deep
complaint "out of the directory" 1 "localhost::../there: a server refuses '..' in a path" serves tree localhost::../there
complaint "out of it by a new name" 1 "localhost::~/../new: a server refuses '..' in a path" \
    serves tree/large 'localhost::~/../new'
check "nothing is there" test ! -e new
complaint "from outside" 1 "a server refuses '..' in a path" serves localhost::tree/../../key several
ln -s "$place" served/out
complaint "by a link" 1 "Not a directory" serves localhost::out/key several
complaint "to where a link leads" 1 "localhost::out: a symbolic link is in the way" serves tree/large localhost::out
complaint "to a new name there" 1 "localhost::out/new: " serves tree/large localhost::out/new
check "the link is there, and nothing behind it" test -L served/out -a ! -e new -a ! -e large
complaint "another key" 3 "localhost: cannot connect to UDP port 16636 of 127.0.0.1: " "$program" --port 16636 --keys other-key \
    --address 127.0.0.1 tree/large localhost::

# A line for each of these sessions: when, who, what.
who='^....-..-..T..:..:..Z 127\.0\.0\.1:[0-9]* (copies) '
# logs TEXT... : all of it is in one line, at its beginning.
logs() {
    check "the log tells: $1" eventually grep -q -e "$who$1" said-of-server
}
logs 'wrote \.: 1[0-9] copied, 0 there already, 0 failed, 3[0-9]* bytes in [0-9.]* s$'
logs 'read tree/sub: 3 copied, 0 there already, 0 failed, 5 bytes in [0-9.]* s$'
logs 'wrote ~/at-home: 1 copied, 0 there already, 0 failed, 3000001 bytes in [0-9.]* s$'
logs "was refused: \.\./there: a server refuses '\.\.' in a path$"
check "a dry run of two files" serves -n localhost::tree/large localhost::tree/nothing several
logs 'read tree/large and 1 more (dry run): [0-9] copied, [0-9] there already, 0 failed, 0 bytes in [0-9.]* s$'
complaint "a strange name" 1 "" serves "localhost::strange
name" several
logs 'read strange\\012name: 0 copied, 0 there already, 1 failed, 0 bytes in [0-9.]* s$'
check "all lines are such: $(cat said-of-server)" sh -c "! tail -n +2 said-of-server | grep -qv '$who'"
kill "$running"
wait "$running" 2>/dev/null
running=
"$program" --serve served --read-only --quiet --keys key --port 16636 >said-of-server &
running=$!
check "a server that is read" eventually serves localhost::tree/nothing several
complaint "is not written to" 1 "localhost::new: nothing is written here" serves tree/large localhost::new
check "and it has no log if it is quiet" test ! -s said-of-server -a ! -e served/new
kill "$running"
wait "$running" 2>/dev/null
running=

conclude
