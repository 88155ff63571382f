#!/bin/sh
# zcrp-cp when something goes wrong: ends that are killed, files that shrink, no room, no rights, no
# remote shell. What fails fails alone, with a reason, and a later copy goes on.
# load: asleep
set -u

# In a network of its own all that crosses can be counted, also what an end sent that was then killed.
if [ -z "${ZCRP_TEST_ALONE-}" ] && unshare -n ip link set lo up 2>/dev/null; then
    export ZCRP_TEST_ALONE=1
    exec unshare -n sh -c 'ip link set lo up && exec sh "$0"' "$0"
fi

. "$(dirname "$0")/../../support/script.sh"

build=$(cd "$build" && pwd)
program=$build/zcrp-cp
[ -x "$program" ] || { echo "no zcrp-cp: it needs libxxhash"; exit 77; }
chmod 755 "$place"
cd "$place" || exit 1
cp "$program" zcrp-cp # another user may not be let into the folder that it is in
program=$place/zcrp-cp
printf '#!/bin/sh\nshift\necho $$ >far-pid\nexec "$@"\n' >rsh
chmod +x rsh
export ZCRP_RSH="$place/rsh"

copies() {
    "$program" --far-program "$program" "$@"
}

# counted NAME FILE : a figure of the last line of --stats in a file.
counted() {
    sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" "$2" | tail -n 1
}

# crossed_here : bytes that loopback has carried, with all that belongs to them.
crossed_here() {
    sed -n 's/^ *lo: *\([0-9]*\).*/\1/p' /proc/net/dev
}

random_bytes() {
    head -c "$1" /dev/urandom
}

has_no_parts() {
    test -z "$(find "$1" -name '.*zcrp-*')"
}

# ---- killed at random moments, and started again

seed=${ZCRP_SEED:-$(date +%s)}
echo "ZCRP_SEED=$seed"
# draw LEAST MOST : the next number.
draw() {
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    drawn=$(($1 + seed / 65536 % ($2 - $1)))
}

size=100000000
random_bytes $size >large
mkdir there
total=0
# It takes 6 s each time until a near end knows that the far one is gone.
for victim in near far near near near near far near near near; do
    draw 0 3000
    from=$(crossed_here)
    "$program" --far-program "$program" --quiet --stats --interval 0.01 --rate 100M large \
        localhost:"$place/there" >stats 2>said &
    running=$!
    until [ $(($(crossed_here) - from)) -gt $((drawn * 1000)) ] && [ -s far-pid ]; do
        kill -0 $running 2>/dev/null || break
        sleep 0.01
    done
    far=$(cat far-pid)
    if [ $victim = near ]; then kill -9 $running; else kill -9 "$far"; fi
    wait $running 2>/dev/null
    status=$?
    running=
    for try in $(seq 2000); do # the far end has the part until it has noticed
        kill -0 "$far" 2>/dev/null || break
        sleep 0.01
    done
    [ $victim = near ] || check "status when the far end is killed" test $status -eq 3
    check "there is no file yet" test ! -e there/large
    crossed=$(counted crossed stats)
    total=$((total + ${crossed:-0}))
    echo "killed the $victim end after $((drawn * 1000)) bytes"
    rm -f far-pid
done
check "the part file was left" test -n "$(find there -name '.large.zcrp-*')"
check "the last copy" copies --quiet --stats large localhost:"$place/there"
cp "$place/out" stats
crossed=$(counted crossed stats)
check "it is whole" cmp large there/large
check "and no part is left" has_no_parts there
total=$((total + crossed))
[ -z "${ZCRP_TEST_ALONE-}" ] || total=$(crossed_here)
echo "$total bytes crossed for a file of $size"
check "the last copy sent what was missing, $crossed" test "$crossed" -lt $((size * 9 / 10))
# What was under way when an end was killed is sent again: 0.2 MB, and on a busy machine, where an end learns
# late of the other's death, what leaves in a sixth of a second. 1 % is what belongs to each packet.
check "each of ten kills cost at most 2 MB: $total of $size" \
    test "$total" -le $((size / 100 * 101 + 10 * 2000000))

# has_part NAME : this file is under way.
has_part() {
    test -n "$(find there -name ".$1.zcrp-*" -size +0)"
}

# What the parent had ignored stays so: SIGHUP by nohup, SIGINT by a shell that starts it in the background.
rm -f there/large
(trap '' HUP && exec "$program" --far-program "$program" --quiet --rate 200M large localhost:"$place/there") 2>said &
running=$!
eventually has_part large
kill -HUP $running
kill -INT $running
wait $running
status=$?
check "a hangup and an interrupt that are ignored: $(cat said)" test $status -eq 0
running=
check "it goes on to the end" cmp large there/large

# Interrupted by the user; then somebody writes into the part.
rm -f there/large
env --default-signal=INT "$program" --far-program "$program" --quiet --rate 100M large localhost:"$place/there" 2>said &
running=$!
eventually has_part large
kill -INT $running
wait $running
check "status when it is interrupted" test $? -eq 130
running=
check "the part is left" test -n "$(find there -name '.large.zcrp-*')"
printf junk | dd of="$(find there -name '.large.zcrp-*')" bs=1 seek=200000 conv=notrunc status=none
check "it goes on, and junk in the part is found" copies --quiet large localhost:"$place/there"
check "it is whole" cmp large there/large

# ---- a server that is stopped

"$build/zcrp-keys" generate psk copies key
serves_a_part() {
    test -n "$(find served -name '.large.zcrp-*')"
}
for no_memory in 1 0; do
    rm -rf served
    mkdir served
    : >said-of-server
    ZCRP_NO_MEMORY=$no_memory "$program" --serve served --keys key --port 16637 >said-of-server 2>&1 &
    server=$!
    running=$server
    check "a server" eventually grep -q 'serves served' said-of-server
    ZCRP_NO_MEMORY=$no_memory "$program" --quiet --keys key --port 16637 --rate 100M large 127.0.0.1:: 2>said &
    client=$!
    check "a copy to it is under way: $(cat said)" eventually serves_a_part
    kill -TERM $server
    start=$(date +%s%N)
    wait $client 2>/dev/null
    status=$?
    took=$((($(date +%s%N) - start) / 1000000))
    wait $server
    check "the server ends well when it is told to" test $? -eq 0
    running=
    check "its client ends, too: $took ms, $(cat said)" test $took -lt 8000
    check "... and knows that the connection is gone" test $status -eq 3
    check "the log tells of the copy that broke off: $(cat said-of-server)" grep -q 'the server ended' said-of-server
done

# ---- a far end whose near end is killed

# is_gone PROCESS : or dead, and nobody has asked how.
is_gone() {
    ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status"
}
is_under_way() {
    test -s far-pid && test -n "$(find there -name '.large.zcrp-*')"
}
for no_memory in 1 0; do
    rm -f there/large there/.large* far-pid
    ZCRP_NO_MEMORY=$no_memory "$program" --far-program "$program" --quiet --rate 100M large \
        localhost:"$place/there" 2>said &
    running=$!
    check "a copy is under way: $(cat said)" eventually is_under_way
    far=$(cat far-pid)
    kill -9 $running
    start=$(date +%s%N)
    wait $running 2>/dev/null
    running=
    check "the far end ends, too" eventually is_gone "$far"
    took=$((($(date +%s%N) - start) / 1000000))
    echo "the far end ended $took ms after the near one"
    check "... at once: $took ms" test $took -lt 4000
    check "... and leaves the part" test -n "$(find there -name '.large.zcrp-*')"
done
rm -f there/.large*
mkfifo to-far
"$program" --far <to-far >answer 2>said &
running=$!
exec 3>to-far
printf 'zcrp-cp 1 %064d %064d %016d 0\n' 0 0 0 >&3
check "a far end that waits to be called: $(cat said)" eventually test -s answer
exec 3>&-
check "... ends when nobody will" eventually is_gone $running
wait $running
check "... with status 3" test $? -eq 3
running=

# ---- files that change

mkdir changing
random_bytes 12000000 >changing/shrinks
random_bytes 12000000 >changing/touched
random_bytes 100000 >changing/zz-other
copies --quiet --rate 50M changing localhost:"$place/there" 2>said &
running=$!
eventually has_part shrinks
truncate -s 1000000 changing/shrinks
eventually has_part touched
touch changing/touched
wait $running
status=$?
running=
check "status when files change: $(cat said)" test $status -eq 1
check "the one that shrinks fails" grep -q 'changing/shrinks: it ' said
check "the one that is touched fails" grep -q 'changing/touched: it changed while it was copied' said
check "the other one is copied" cmp changing/zz-other there/changing/zz-other
check "nothing broken is left" test ! -e there/changing/shrinks -a ! -e there/changing/touched
check "nor parts" has_no_parts there

# ---- no remote shell, and strange ones

complaint "no such remote shell" 3 "cannot run ./nothing" \
    "$program" --rsh ./nothing large localhost:"$place/there"
printf '#!/bin/sh\nexit 5\n' >ends
chmod +x ends
printf '#!/bin/sh\nexit 127\n' >misses
chmod +x misses
complaint "one without zcrp-cp there" 3 "with status 127: is zcrp-cp there? --far-program says where" \
    "$program" --rsh ./misses large localhost:there
complaint "no ssh" 3 "needs ssh: apt install openssh-client" \
    env PATH=/nowhere "$program" --rsh ssh large localhost:there
complaint "a remote shell that ends" 3 "u@localhost: the remote shell ended without an answer, with status 5" \
    "$program" --rsh ./ends large u@localhost:"$place/there"
printf '#!/bin/sh\necho oh no >&2\nexit 7\n' >dead
chmod +x dead
complaint "one that dies" 3 "oh no" "$program" --rsh ./dead large localhost:"$place/there"
complaint "... with its status" 3 "with status 7" "$program" --rsh ./dead large localhost:there
printf '#!/bin/sh\necho zcrp-cp 99 1 2\ncat >/dev/null\n' >other
chmod +x other
complaint "another version" 3 "localhost: the far end is another version" "$program" --rsh ./other large localhost:there
printf '#!/bin/sh\necho welcome\nshift\nexec "$@"\n' >chatty
chmod +x chatty
check "one that greets" "$program" --rsh ./chatty --far-program "$program" large localhost:"$place/there"
printf '#!/bin/sh\nprintf "\\033]0;title\\007"\nshift\nexec "$@"\n' >titled
chmod +x titled
check "one that greets without a newline" \
    timeout 20 "$program" --rsh ./titled --far-program "$program" large localhost:"$place/there"
printf '#!/bin/sh\nexec yes welcome\n' >noisy
chmod +x noisy
complaint "one that greets for ever" 3 "localhost: the remote shell prints 65 lines, and none is the answer of zcrp-cp" \
    timeout 20 "$program" --rsh ./noisy large localhost:"$place/there"
printf '#!/bin/sh\nyes welcome | tr -d "\\n"\n' >noisy
complaint "... without a newline" 3 "localhost: the remote shell prints 65 lines, and none is the answer of zcrp-cp" \
    timeout 20 "$program" --rsh ./noisy large localhost:"$place/there"

# ---- files that cannot be had

mkdir odd
echo good >odd/good
mkfifo odd/pipe
complaint "a pipe" 1 "odd/pipe: it is no file" copies odd localhost:"$place/there"
check "the rest is copied" cmp odd/good there/odd/good
complaint "... called as the user does" 1 "zcrp-cp: $place/odd/pipe: it is no file" \
    copies "$place/odd/" localhost:"$place/there"
mkdir got
complaint "... at the other end, too" 1 "zcrp-cp: localhost:$place/odd/pipe: it is no file" \
    copies localhost:"$place/odd" got
complaint "... and of what is in a directory" 1 "zcrp-cp: localhost:$place/odd/./pipe: it is no file" \
    copies localhost:"$place/odd/." got
rm -r got
complaint "a file that is not there" 1 "none: No such file" copies none odd/good localhost:"$place/there"
check "the others are copied" cmp odd/good there/good
rm -rf there/odd
mkdir -p there/odd/good
complaint "a directory in the way" 1 "odd/good: cannot be written at the target: Is a directory" copies odd localhost:"$place/there"
rm -rf there/odd
mkdir -p full/deeper
echo 1 >full/first
echo 2 >full/deeper/second
for target in localhost:"$place/there" there; do
    from=full
    [ "$target" != there ] || from=localhost:$place/full
    echo mine >there/full
    complaint "a file in a directory's way" 1 "full: cannot be made at the target: Not a directory" \
        copies --stats "$from" "$target"
    check "the complaint is the only one: $(cat said)" test "$(wc -l <said)" -eq 1
    check "the file stays" grep -q mine there/full
    copies --stats "$from" "$target" >stats 2>said
    check "all that is not there has failed: $(cat stats)" test "$(counted failed stats)" -eq 3
    rm there/full
done
ln -s "$place" there/odd
complaint "a link in the way" 1 "odd" copies odd localhost:"$place/there"
check "nothing is written through it" test ! -e good
rm -f there/odd

# ---- calls of the system that fail

# preloads NAME : the C on standard input takes the place of calls, in $place/NAME.so. False if none can.
preloads() {
    ${CC:-cc} -shared -fPIC -x c -o "$1.so" - 2>said && LD_PRELOAD="$place/$1.so" "$program" --version >said 2>&1
}
# copies_with NAME WORD... : at both ends with these calls.
copies_with() {
    preloaded=$1
    shift
    LD_PRELOAD="$place/$preloaded.so" "$program" --far-program "$program" "$@"
}

mkdir called
if preloads no_locks <<'END'; then
#include <errno.h>
int flock(int fd, int how)
{
    errno = ENOSYS;
    return -1;
}
END
    check "a file system without locks" copies_with no_locks full changing/zz-other localhost:"$place/called"
    check "... has small files" cmp full/deeper/second called/full/deeper/second
    check "... and larger ones" cmp changing/zz-other called/zz-other
    check "... and no parts" has_no_parts called
    preloads no_holes <<'END'
/* As NFS before version 4.2, vfat and exFAT, without fcntl.h: its types of offsets are not one. */
#include <errno.h>
int fallocate(int fd, int mode, long start, long length)
{
    errno = EOPNOTSUPP;
    return -1;
}
int fallocate64(int fd, int mode, long long start, long long length)
{
    errno = EOPNOTSUPP;
    return -1;
}
END
    random_bytes 4000000 >holes
    truncate -s 12M holes
    env --default-signal=INT LD_PRELOAD="$place/no_holes.so" "$program" --far-program "$program" --quiet --rate 4M \
        holes localhost:"$place/there" 2>said &
    running=$!
    eventually has_part holes
    kill -INT $running
    wait $running
    status=$?
    running=
    check "a file with holes is interrupted: $(cat said)" test $status -eq 130
    printf junk | dd of="$(find there -name '.holes.zcrp-*')" bs=1 seek=8000000 conv=notrunc status=none
    check "it goes on where no hole can be made" copies_with no_holes --quiet holes localhost:"$place/there"
    check "... and is whole" cmp holes there/holes
    preloads long_names <<'END'
/* As vfat has them, whose names of 255 letters may have 765 bytes: in each folder one file more. */
#define _GNU_SOURCE
#if __SIZEOF_LONG__ == 4
#define _FILE_OFFSET_BITS 64
#endif
#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
enum { BYTES = 300 };
int scandirat(int fd, const char *folder, struct dirent ***names, int (*filter)(const struct dirent *),
              int (*compare)(const struct dirent **, const struct dirent **))
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int count = scandir(path, names, filter, compare);
    struct dirent *entry = calloc(1, sizeof(*entry) + BYTES), **more;
    if (count < 0 || (more = realloc(*names, (size_t)(count + 1) * sizeof(*more))) == NULL)
        return count;
    memset((char *)entry + offsetof(struct dirent, d_name), 'l', BYTES);
    memmove(more + 1, more, (size_t)count * sizeof(*more));
    more[0] = entry;
    *names = more;
    return count + 1;
}
int fstatat(int fd, const char *name, struct stat *status, int flags)
{
    if (strlen(name) == BYTES) {
        *status = (struct stat){.st_mode = S_IFREG | 0644, .st_nlink = 1, .st_size = 100000, .st_blocks = 200};
        return 0;
    }
    int place = openat(fd, name, O_PATH | O_CLOEXEC | (flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0));
    int code = place >= 0 ? fstat(place, status) : -1;
    if (place >= 0)
        (void)close(place);
    return code;
}
END
    mkdir named
    complaint "names that are too long" 1 "lll: File name too long" copies_with long_names full localhost:"$place/named"
    check "... are told in each folder: $(cat said)" test "$(grep -c 'File name too long' said)" -eq 2
    check "... and the others are copied" cmp full/deeper/second named/full/deeper/second
    preloads no_close <<'END'
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int close(int fd)
{
    char link[64], path[4096] = "";

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    (void)!readlink(link, path, sizeof(path) - 1);
    int code = (int)syscall(SYS_close, fd);
    if (strstr(path, ".zcrp-") == NULL)
        return code;
    errno = EDQUOT;
    return -1;
}
END
    complaint "data that the file system cannot keep" 1 "changing/shrinks: cannot be written at the target: Disk quota exceeded" \
        copies_with no_close changing/shrinks changing/touched localhost:"$place/called"
    check "all that fails is told: $(cat said)" grep -q 'changing/touched: cannot be written at the target: Disk quota' said
    check "nothing of it is there" test ! -e called/shrinks -a ! -e called/touched
    check "... and no parts" has_no_parts called
    complaint "a small file" 1 "odd/good: cannot be written at the target: Disk quota exceeded" \
        copies_with no_close odd/good localhost:"$place/called"
    check "... is not there" test ! -e called/good
    check "... nor a part" has_no_parts called
else
    echo "no calls that fail: $(cat said)"
fi

# ---- files that are too large

printf '#!/bin/sh\nulimit -f 2000\nshift\nexec "$@"\n' >limited
chmod +x limited
mkdir sizes limits
random_bytes 9000000 >sizes/a-large
random_bytes 1000 >sizes/b-small
complaint "a file that is too large at the target" 1 "File too large" \
    copies --rsh "$place/limited" --quiet sizes localhost:"$place/limits"
check "the other is copied" cmp sizes/b-small limits/sizes/b-small
check "and no part is left" has_no_parts limits

# A size that no list of files has: not every file system has such files.
for memory in "$place" /dev/shm; do
    huge=$(mktemp -d "$memory/zcrp-cp.XXXXXX" 2>said) || continue
    trap 'test -z "$running" || kill "$running" 2>/dev/null; rm -rf "$place" "$huge"' EXIT
    if truncate -s 5E "$huge/a-huge" 2>said; then
        random_bytes 100000 >"$huge/b-good"
        complaint "a file that is too large for the list" 1 "a-huge: File too large" \
            timeout 60 "$program" --far-program "$program" "$huge" localhost:"$place/limits"
        check "what is behind it is copied" cmp "$huge/b-good" "limits/$(basename "$huge")/b-good"
        complaint "... also at the far end" 1 "a-huge: File too large" \
            timeout 60 "$program" --far-program "$program" localhost:"$huge" "$place/sizes"
        check "... and copied" cmp "$huge/b-good" "sizes/$(basename "$huge")/b-good"
        rm -rf "$huge"
        break
    fi
    rm -rf "$huge"
done

# ---- what only root can try

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
    mkdir -m 777 public
    mkdir secret
    echo mine >secret/mine
    chmod 600 secret/mine
    cp odd/good secret/zz-good
    chmod 755 secret
    chmod 644 secret/zz-good
    complaint "a file without rights" 1 "secret/mine: Permission denied" \
        $nobody "$program" --rsh "$place/chatty" --far-program "$program" secret \
        localhost:"$place/public"
    check "the other is copied" cmp secret/zz-good public/secret/zz-good
    mkdir hall
    cp odd/good hall/good
    mkdir -m 1733 box
    chmod 644 hall/good
    chmod 711 hall
    check "from a directory that may be searched only" \
        $nobody "$program" --rsh "$place/chatty" --far-program "$program" hall/good localhost:"$place/public/of-hall"
    check "... with its bytes" cmp hall/good public/of-hall
    check "to one" $nobody "$program" --rsh "$place/chatty" --far-program "$program" hall/good localhost:"$place/box"
    check "... with its bytes" cmp hall/good box/good
    complaint "a directory without rights" 1 "Permission denied" \
        $nobody "$program" --rsh "$place/chatty" --far-program "$program" \
        secret/zz-good localhost:"$place/there"
    copies_as_nobody() {
        $nobody "$program" --rsh "$place/chatty" --far-program "$program" "$@" localhost:"$place/public"
    }
    check "a file with permissions" copies_as_nobody secret/zz-good
    chmod 200 public/zz-good
    check "a dry run does not try to set them" copies_as_nobody -n secret/zz-good
    complaint "permissions that cannot be set" 1 "secret/zz-good: cannot have its permissions: Permission denied" \
        copies_as_nobody secret/zz-good
fi
mkdir small
if mount -t tmpfs -o size=4M zcrp-small small 2>/dev/null; then
    trap 'umount "$place/small"; rm -rf "$place"' EXIT
    mkdir fits
    random_bytes 100000 >fits/a
    random_bytes 9000000 >fits/b
    random_bytes 100000 >fits/c
    truncate -s 9M fits/d
    random_bytes 6000000 | dd of=fits/d conv=notrunc status=none
    complaint "no room" 1 "fits/b: no room for it: No space left" copies fits localhost:"$place/small"
    check "nor for one with holes: $(cat said)" grep -q 'fits/d: ' said
    check "one fits" cmp fits/a small/fits/a
    check "another fits" cmp fits/c small/fits/c
    check "no parts are left" has_no_parts small
    complaint "no room for one with holes" 1 "No space left" copies fits/d localhost:"$place/small"
    complaint "... from memory to memory" 1 "fits/d: cannot be written at the target: No space left" \
        env ZCRP_NO_MEMORY=0 "$program" --far-program "$program" fits/d localhost:"$place/small"
    check "and no parts are left" has_no_parts small
fi

conclude
