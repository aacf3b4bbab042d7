#!/usr/bin/env bash
# Where the program's output goes and what it looks like there: pipes, full disks, narrow terminals, traces.
#   output.sh MEMWALL SOURCE_DIR
set -uo pipefail
memwall=$1
cd "$2" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# check WHAT COMMAND...: the command must succeed.
check() {
    if ! "${@:2}"; then
        echo "not so: $1" >&2
        failures=$((failures + 1))
    fi
}

# expect STATUS PATTERN ARGUMENTS...: the pattern must stand in what is printed on either stream.
expect() {
    local status=$1 pattern=$2 printed got
    shift 2
    printed=$("$memwall" "$@" 2>&1)
    got=$?
    if [ $got -ne "$status" ] || ! grep -qF -- "$pattern" <<< "$printed"; then
        echo "memwall $*: status $got (wanted $status), or no '$pattern' in:" >&2
        head -5 <<< "$printed" >&2
        failures=$((failures + 1))
    fi
}

# A result that did not arrive is an error; a reader that has seen enough is none.
lost=$({ "$memwall" list gpus > /dev/full; } 2>&1)
check "a full disk gives status 2" [ $? -eq 2 ]
check "a full disk is named" grep -q "No space left on device" <<< "$lost"
quiet=$({ "$memwall" list | head -1 > /dev/null; } 2>&1)
check "a closed pipe ends the program without a word" [ -z "$quiet" ]

# Names: with and without their folder, of clusters and scenarios alike.
expect 0 "sc21/sc21-1.7b-32xa100   " list scenarios
expect 0 "Megatron-LM 2021, GPT 1.7B" list scenarios --json
expect 0 "ok" check sc21-1.7b-32xa100 sc21/sc21-1.7b-32xa100
expect 2 "did you mean 'sc21-1.7b-32xa100'" run sc21-1.7b-32xa10
expect 2 "did you mean 'sc21/sc21-1.7b-32xa100'" run sc21/sc21-1.7b-32xa10

# topo: a cluster or a scenario, changed by --set, and the mistake in it rather than in its kind.
expect 0 "25 GB/s        400 GB/s" topo h100-8x400g --set node.nic_rate=200Gbps
expect 2 "key 'foo' is not known in this cluster" topo h100-8x400g --set foo.bar=1
expect 2 "nothing joins the 2 nodes" topo h100-8x400g --set fabric.kind=none --nodes 2
expect 0 "1 NVLink domains" topo h100-8x400g --set fabric.kind=none
expect 2 "[E0403]" topo v100-dgx1 --set 'node.mesh=[{a: 0, b: 9}]'
expect 0 "selene-a100  4 nodes" topo sc21-1.7b-32xa100
expect 0 "125 MB/s" topo sc21-1.7b-32xa100 --set machine.cluster.node.nic_rate=1Gbps
expect 2 "cluster file 'no-such.yaml' is not there" topo ./no-such.yaml
sed 's/^fabric:/fabrik:/' topologies/clusters/h100-8x400g.yaml > "$work/c.yaml"
expect 2 "did you mean 'fabric'" topo "$work/c.yaml"
sed 's/^batch:/bacth:/' scenarios/gpt2-8xa100.yaml > "$work/s.yaml"
expect 2 "did you mean 'batch'" topo "$work/s.yaml"

# What fails is said, in the form that was asked for.
x=scenarios/gpt2-8xa100.yaml
expect 1 "FAIL step_time < 1ms (asked for): it is" run $x --quiet --set 'checks=[step_time < 1ms]'
expect 1 "FAIL peak_memory > 70GiB (asked for): it is" run $x --set 'checks=[peak_memory > 70GiB]'
expect 0 '"meaning": "the tensor-parallel degree does not divide the attention heads"' explain E0312 --json

[ $failures -eq 0 ]
