#!/bin/sh
# NCCL's net plugin over a network that loses packets: two ranks in two network namespaces (zcrp-link), each of which
# loads the plugin as NCCL does. The receiver verifies each byte.
# load: asleep
# stage: check-all
set -u

. "$(dirname "$0")/../../support/script.sh"

rank=$build/lab/nccl-rank
needs "$rank" "$build/libnccl-net-zcrp.so"
needs_link
export ZCRP_BUILD="$build" NCCL_SOCKET_IFNAME=zcrp

# ranks BYTES MESSAGES AT-ONCE OPTION... : from A to B over a link that has these options. With watch=watch the receiver's
# memory is read before the messages have ended, as NCCL's kernels do with the protocols LL and LL128.
watch=
ranks() {
    load="$1 $2 $3 $watch"
    shift 3
    rm -f "$place/handle"
    check "$load over $*" "$build/zcrp-link" --quiet --wait 0 --linger 20s "$@" \
        -- "$rank" send "$place" $load -- "$rank" receive "$place" $load
    tail -n 1 "$place/out"
}

ranks 524288 40 8 --mtu 9000
ranks 524288 40 8 --rate 1G --delay 1ms --loss 1%
ranks 1000 2000 32 --delay 2ms --loss 3% --reorder 2% --duplicate 1%
ranks 0 500 8 --delay 1ms --loss 5%

watch=watch
ranks 65536 400 8 --mtu 1500 --loss 1% --reorder 2% --duplicate 1%
watch=

if "$build/zcrp-keys" generate psk cluster "$place/cluster.key" >/dev/null; then
    export ZCRP_KEYS="$place/cluster.key"
    ranks 524288 20 8 --loss 1% --corrupt 0.5%
    watch=watch
    ranks 65536 400 8 --mtu 1500 --loss 1% --reorder 2% --corrupt 0.5%
fi

conclude
