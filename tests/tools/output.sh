#!/usr/bin/env bash
# Where the program's output goes and what it looks like there: pipes, full disks, narrow terminals, traces.
#   output.sh MEMWALL SOURCE_DIR
set -uo pipefail
unset COLUMNS
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

source tests/tools/expect.sh

# A result that did not arrive is an error; a reader that has seen enough is none.
lost=$({ "$memwall" list gpus > /dev/full; } 2>&1)
check "a full disk gives status 2" [ $? -eq 2 ]
check "a full disk is named" grep -q "No space left on device" <<< "$lost"
quiet=$({ "$memwall" list | head -1 > /dev/null; } 2>&1)
check "a closed pipe ends the program without a word" [ -z "$quiet" ]

x=scenarios/gpt2-8xa100.yaml

# Names: with and without their folder, of clusters and scenarios alike.
expect 0 "sc21/sc21-1.7b-32xa100   " list scenarios
expect 0 "Megatron-LM 2021, GPT 1.7B" list scenarios --json
expect 0 "ok" check sc21-1.7b-32xa100 sc21/sc21-1.7b-32xa100
expect 2 "did you mean 'sc21-1.7b-32xa100'" run sc21-1.7b-32xa10
expect 2 "did you mean 'sc21/sc21-1.7b-32xa100'" run sc21/sc21-1.7b-32xa10

# topo: a cluster or a scenario, changed by --set, and the mistake in it rather than in its kind.
expect 0 "25 GB/s    400 GB/s" topo h100-8x400g --set node.nic_rate=200Gbps
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

# Events on links: found by name or refused by every verb that reads the scenario, and shown where they apply.
y=scenarios/llama3-70b-fsdp-64xh100.yaml
half='machine.events=[{link: node0/nic0->network, capacity: 50%}]'
expect 2 "did you mean 'node0/nic0->network'" check $x --set "${half/->/-}"
expect 2 "[E0405]" run $x --set 'machine.events=[{link: foo/bar, capacity: 50%}]'
expect 0 "[W0405]" run $x --quiet --set "$half" --set machine.network.fidelity=alpha_beta
expect 0 "node0/nic0->network                 25 GB/s, 50 % of 50 GB/s" topo $y --set "$half"
expect 0 "limit 25 GB/s" topo $y --set "$half" --route 0,8
expect 0 "node1/nic7->network                 50 GB/s" topo $y --links
expect 0 '"left": 0.5' topo $y --set "$half" --json
expect 2 "[E0405]" topo $y --set "${half/node0/node1}" --nodes 1

# A scenario that asks for a trace gets it, in its own folder; --trace-out goes before it.
mkdir "$work/study"
sed '$a run: {trace: {file: ./t.json, ranks: [1, 4..5]}}' $x > "$work/study/traced.yaml"
expect 0 "study/t.json: " run "$work/study/traced.yaml" --quiet
check "the trace lies beside the scenario" [ -s "$work/study/t.json" ]
check "its ranks are those of the scenario" [ "$(grep -o '"name":"rank [0-9]*' "$work/study/t.json" | grep -o '[0-9]*$' | xargs)" = "1 4 5" ]
rm "$work/study/t.json"
expect 0 "other.json: " run "$work/study/traced.yaml" --quiet --trace-out "$work/other.json" --trace-ranks 7
check "the scenario's file is not written then" [ ! -e "$work/study/t.json" ]
check "nor are its ranks" [ "$(grep -o '"name":"rank [0-9]*' "$work/other.json")" = '"name":"rank 7' ]
expect 0 "of 1 ranks" run "$work/study/traced.yaml" --quiet --trace-ranks 2,2
expect 2 "cannot write" run "$work/study/traced.yaml" --quiet --set run.trace.file=/no/such/folder/t.json
expect 2 "names no file" run $x --trace-out ""

# A report is 80 columns wide in a pipe, else as wide as COLUMNS says; only a single word may be longer.
wide() {
    awk -v most="$1" 'length > most && /[^ ] [^ ]/ { print > "/dev/stderr"; bad = 1 } END { exit bad }'
}
for scenario in scenarios/*.yaml sc21-1t-3072xa100; do
    "$memwall" run "$scenario" > "$work/report"
    check "the report of $scenario has 80 columns" wide 80 < "$work/report"
done
for machine in selene-a100 v100-dgx1 l40s-100g h100-8x400g-3l gb200-nvl72; do
    "$memwall" topo $machine > "$work/report"
    check "topo $machine has 80 columns" wide 80 < "$work/report"
done
for columns in 60 100 160; do
    COLUMNS=$columns "$memwall" run sc21-1t-3072xa100 --all-stages > "$work/report"
    check "COLUMNS=$columns is kept to" wide $columns < "$work/report"
done
expect 0 "  stage                      0      9     18     27     36     45     54     63" run sc21-1t-3072xa100
expect 0 "  stage                     56     57     58     59     60     61     62     63" run sc21-1t-3072xa100 --all-stages

# Jobs in the background are named, and which one is measured.
sed 's#model: gpt2#model: gpt2-medium#; s#name: .*#name: neighbour#; /^checks:/,$d' $x > "$work/neighbour.yaml"
sed '$a background: [{scenario: ./neighbour.yaml, nodes: 1..1, start: 3ms}]' $x |
    sed 's#cluster: dgx-a100-single#cluster: selene-a100#' > "$work/both.yaml"
expect 0 "neighbour: node 1, 8 GPUs, gpt2-medium, tp 1 x pp 1 x cp 1 x dp 8, starts at" run "$work/both.yaml"
expect 0 "only the first is measured" run "$work/both.yaml"
expect 0 '"name": "neighbour"' run "$work/both.yaml" --json

# Every name that is advertised is explained, with the numbers of a run where it has some.
for name in kernel collective mfu step_time_s bubble recompute "exposed tp" interference margin; do
    expect 0 "$name" explain "$name"
done
COLUMNS=160 expect 0 "gemm 16384 x 50257 x 768 bf16; limit compute" explain kernel $x
expect 0 "all-reduce tp 48 MiB" explain collective gpt3-175b-1024xa100
expect 0 "ring simple over 8 ranks" explain collective gpt3-175b-1024xa100
COLUMNS=160 expect 0 "held down by a link" explain collective $y --set "$half"
expect 0 "limit measured" explain kernel scenarios/astra-transformer-8xa100.yaml
expect 2 "every key of --json has an explanation" explain qwertyuiop

# What fails is said, in the form that was asked for.
expect 1 "FAIL step_time < 1ms (asked for): it is" run $x --quiet --set 'checks=[step_time < 1ms]'
expect 1 "FAIL peak_memory > 70GiB (asked for): it is" run $x --set 'checks=[peak_memory > 70GiB]'
expect 0 '"meaning": "the tensor-parallel degree does not divide the attention heads"' explain E0312 --json

[ $failures -eq 0 ]
