#!/bin/sh
# zcrp-bench over each peer that is built in: every byte arrives, an end that dies is noticed; and what is said of
# peers that are not. The program is in $ZCRP_BUILD.
# stage: check-all
set -u

. "$(dirname "$0")/../../support/script.sh"

bench=$build/zcrp-bench
needs "$bench"

# ---- all peers that there are

# all_arrives PEER : messages of several sizes, one larger than any buffer; twice, on one channel.
all_arrives() {
    check "$1: every byte" "$bench" --transport "$1" --verify --size 1400,70001,1M --bytes 3M \
        --memory 2M --repeat 2 --quiet
}

# many_arrive PEER : a lot of small ones
many_arrive() {
    check "$1: many" "$bench" --transport "$1" --verify --size 1,100 --count 3000 --repeat 1 --quiet
}

large_arrives() {
    check "$1: one message larger than the buffers" "$bench" --transport "$1" --verify --size 20M \
        --count 1 --repeat 1 --quiet
}

comes_back() {
    "$bench" --ping --transport "$1" --count 1 2>&1 | grep -q 'only goes one way' && return
    check "$1: round trips" "$bench" --ping --transport "$1" --size 64,5000 --count 20 --repeat 1
}

# death_is_noticed PEER : the receiving process is killed on the way.
death_is_noticed() {
    "$bench" --transport "$1" --size 64K --count 100000000 --repeat 1 --timeout 5 2>"$place/said" &
    sender=$!
    eventually grep -q . "/proc/$sender/task/$sender/children"
    sleep 0.3
    kill -9 $(cat "/proc/$sender/task/$sender/children")
    wait "$sender"
    check "$1: status when the receiving process was killed" test $? -eq 1
    check "$1: complaint then" grep -q "process was killed" "$place/said"
}

"$bench" doctor >"$place/doctor"
for peer in srt quic tls; do
    if grep -q "$peer (.*): not built in" "$place/doctor"; then
        complaint "$peer alone" 2 "zcrp-bench: $peer: not built in; install lib" "$bench" --transport $peer
        check "the doctor says how to get $peer" \
            sh -c "grep -A 1 '$peer (.*): not built in' '$place/doctor' | grep 'apt-get install [a-z0-9 -]* #'"
        continue
    fi
    for what in all_arrives many_arrive large_arrives comes_back death_is_noticed; do
        $what $peer
    done
done

check "all side by side" "$bench" --transport zcrp,peers --size 64K --count 20 --repeat 1

if ! grep -q 'tls (.*): not built in' "$place/doctor"; then
    check "tls: manners" "$bench" --transport tls,tls:reno+whole,tls:reno+128K --tcp-cc reno --size 1M \
        --count 9 --repeat 1
    cp "$place/out" "$place/table"
    check "tls: of --tcp-cc" grep -E '^tls +tls-[a-z]+/reno' "$place/table"
    check "tls: whole messages" grep -E '^tls:reno\+whole +tls-[a-z]+/reno ' "$place/table"
    check "tls: small writes" grep -E '^tls:reno\+128K +tls-[a-z]+/reno\+128K ' "$place/table"
    check "tls: the way back" "$bench" --transport tls --reverse --verify --size 1M --count 9 --repeat 1
    complaint "tls: one thread" 2 "tls does not send while it receives" "$bench" --transport tls --ping \
        --rate 1M --duration 1
    if "$bench" --transport ktls --size 64 --count 9 --repeat 1 --quiet 2>"$place/said"; then
        all_arrives ktls
    else
        check "ktls: why not" grep -E "this kernel has no TLS|the kernel seals nothing" "$place/said"
    fi
fi

conclude
