#!/usr/bin/env bash
# Exit status and message of the program for what a person may ask: 0 done, 1 the answer is no, 2 wrong use or input.
#   exit_status.sh MEMWALL SOURCE_DIR
set -uo pipefail
memwall=$1
cd "$2" || exit 1
failures=0

source tests/tools/expect.sh

x=scenarios/gpt2-8xa100.yaml
table=$(mktemp)
trap 'rm -f "$table"' EXIT
cat > "$table" << 'CSV'
id,framework,gpu,n_gpus,layers,hidden,heads,seq_len,precision,tp,micro_batch,global_batch,step_time_s
a,megatron-lm,a100-80g-sxm,8,4,1024,16,1024,fp16,2,1,8,9
CSV
expect 0 "1 of 1 rows scored" validate "$table"
expect 0 "cluster:" validate "$table" --show a
expect 1 "above 5 %" validate "$table" --max-mape 5
expect 0 "mape_percent" validate "$table" --json --max-mape 100
expect 2 "not a number of percent" validate "$table" --max-mape x
expect 2 "[E0101]" validate no-such-table.csv
expect 2 "[E0704]" validate packages.txt
expect 2 "[E0705]" validate - < <(printf 'colour,size\nred,2\n')
expect 2 "[E0705]" calibrate - --gpu h200 < <(printf 'colour,size\nred,2\n')
expect 0 "1 of 1 rows scored" validate - < "$table"
expect 2 "two forms of one output" validate "$table" --json --csv
expect 2 "two forms of one output" topo a100-400g --dot --json
expect 2 "no such folder" --data /no/such/folder run $x --quiet
expect 2 "takes no value" run $x --quiet=0
expect 0 "step time" run --quiet -- $x
expect 2 "[E0114]" run $x --set 'run.trace={file: /no/such/folder/t.json}'
expect 2 "gemm_roles.forward 0.2 takes" run $x --set machine.cluster.node.gpu.gemm_roles.forward=0.2
expect 1 "does not fit" run $x --set machine.cluster.node.gpu.memory=1MiB
expect 0 "parallel.gradients.bucket" explain bucket
expect 0 "training.precision" explain training.precision
expect 0 "chunks of layers per stage" explain parallel.vpp
gemm=tests/calibration/h100-gemm.csv
expect 0 "held out" calibrate $gemm --gpu h100-80g-sxm
expect 0 "base: h100-80g-sxm" calibrate $gemm --gpu h100-80g-sxm --fit gemm.bf16.burst --out -
expect 0 '"interval_95"' calibrate $gemm --gpu h100-80g-sxm --fit gemm.bf16 --json
expect 1 "none of 48 rows says anything" calibrate $gemm --gpu a100-80g-sxm
expect 1 "none of 48 rows says anything" calibrate $gemm --gpu h100-80g-sxm --fit nccl
expect 2 "say what to fit" calibrate $gemm
expect 2 "fit one at a time" calibrate $gemm --gpu h100-80g-sxm --stack fsdp1-2024
expect 2 "--stack needs --fit" calibrate "$table" --stack megatron-lm-2021
expect 2 "[E0113]" calibrate $gemm --gpu h100-80g-smx
expect 2 "did you mean 'gemm.bf16.burst'?" calibrate $gemm --gpu h100-80g-sxm --fit gemm.bf16.brust
expect 2 "not a share of the rows" calibrate $gemm --gpu h100-80g-sxm --hold-out 1
expect 2 "did you mean 'all_reduce'?" calibrate $gemm --gpu h100-80g-sxm --collective all_redcue
expect 0 "held out" calibrate - --gpu h100-80g-sxm < $gemm
expect 2 "two forms of one output" calibrate $gemm --gpu h100-80g-sxm --json --out -
expect 2 "[E0101]" calibrate no-such-table.csv --gpu h100-80g-sxm
expect 2 "cannot" calibrate $gemm --gpu h100-80g-sxm --out /no/such/folder/my.yaml
expect 0 "step time" run $x --quiet
expect 1 "does not fit" run scenarios/llama3.1-405b-16384xh100.yaml
expect 2 "[E0401]" run scenarios/llama3-70b-fsdp-64xh100.yaml --set machine.cluster=v100-dgx1
expect 0 "step time" run $x --set machine.network.fidelity=stepwise
expect 2 "[E0390]" run scenarios/gpt3-175b-1024xa100.yaml --set stack.overlap.p2p=overlapped
expect 0 "step time" run $x --set parallel.cp=2 --set parallel.dp=4
expect 2 "with unfused attention is not simulated" run $x --set parallel.cp=2 --set parallel.dp=4 --set workload.model.attention=unfused
expect 2 "[E0390]" check scenarios/gpt2-8xa100.yaml --set workload.model=mixtral-8x7b
expect 2 "[E0390]" program $x --set workload.model=mixtral-8x7b
expect 0 "mixtral" trace $x --set workload.model=mixtral-8x7b
for verb in run check; do
    expect 2 "has none [E0407]" $verb $x --set machine.network.algorithm=nvls
    expect 2 "algorithm of all-reduce [E0205]" $verb $x --set machine.network.algorithm=butterfly
    expect 2 "computes in 16 bits" $verb $x --set training.precision=fp32 --set workload.model.attention=flash2
    expect 2 "flash3 needs an sm90 gpu" $verb $x --set workload.model.attention=flash3
done
expect 2 "did you mean 'parallel'" run $x --set paralel.tp=2
expect 2 "[E0101]" run no-such-file.yaml
expect 2 "without --trace-out" run $x --trace-ranks 0
expect 2 "not a list of ranks below 8" run $x --trace-out /dev/null --trace-ranks 0..8
expect 2 "cannot write" run $x --trace-out /no/such/folder/step.json
expect 2 "ranks are 0 to 7" program $x --rank 8
expect 2 "not a number of lines" program $x --limit -3
expect 2 "table, yaml or json" trace $x --format xml
expect 2 "not two different ranks" topo selene-a100 --route 3,3
expect 0 "8 NVLink domains of 2 GPUs" topo rtx3090-bridge-100g
expect 2 "1 to 560" topo selene-a100 --nodes 561
expect 2 "did you mean 'gpus'" list gpu
expect 2 "did you mean 'bubble'" explain buble
expect 0 "divide the attention heads" explain E0312
expect 2 "usage: memwall run" run
expect 2 "did you mean 'run'" rnu $x
expect 0 "Examples" run --help
expect 2 "[E0201]" check tests/bad_input/unknown_key.yaml

# Fused attention executes what its mask leaves; the full convention may count more than the peak allows.
h20="--set machine.cluster=h20-8x400g --set machine.nodes=1 --set workload.model=llama3-8b --set training.recompute=full
     --set training.precision=bf16_mixed --set parallel.sharding.kind=zero1 --set stack=megatron-lm-2025 --set batch.global=8
     --set batch.micro=1 --set workload.sequence=32768"
expect 0 "attention_flops: full counts" run $x $h20 --quiet
expect 0 '"attention_flops": "causal"' run $x $h20 --set workload.attention_flops=causal --json
expect 0 "attention_flops: full counts" run $x $h20 --set workload.model.window=512
expect 0 "512" explain mfu $x $h20 --set workload.model.window=512

# Work that is read from files: an executed workload, a trace.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
a=scenarios/astra-transformer-8xa100.yaml
expect 0 "MFU, HFU            not available" run $a
expect 0 '"mfu": null' run $a --json
expect 0 "slices of 1 ranks" run $a --quiet --trace-out "$work/step.json.gz"
expect 0 "ok" check $a
expect 0 "all-reduce dp 128 MiB" program $a --rank 7
expect 2 "ranks are 0 to 7" program $a --rank 8
expect 2 "memwall program" trace $a
expect 0 "not available" explain mfu $a
expect 0 "exposed dp" explain step_time_s $a
expect 1 "FAIL step_time < 1ms" run $a --set 'checks=[step_time < 1ms]'
expect 2 "[E0338]" run $a --set 'checks=[fits]'
expect 2 "[E0338]" run $a --set parallel.tp=8
expect 2 "[E0338]" check $a --set machine.cluster=selene-a100 --set machine.nodes=2
expect 2 "[E0338]" run $a --set batch.global=8
expect 2 "[E0204]" run $a --set workload.time_unit=parsec
expect 2 "[E0101]" run $a --set workload.astra=no-such.txt
expect 2 "[E0540]" run $a --set workload.astra=README.md
sed '/time_unit:/d; s#\.\./#'"$PWD"'/#' $a > "$work/no_unit.yaml"
expect 2 "[E0541]" run "$work/no_unit.yaml"
expect 0 "step time" run "$work/no_unit.yaml" --set workload.time_unit=us --quiet

# same FILE ...: prints the same bytes as the first.
same() {
    local first=$1 other
    shift
    for other in "$@"; do
        cmp "$first" "$other" || failures=$((failures + 1))
    done
}
# A resolved plan is run from any folder, and resolves to itself.
"$memwall" resolve $a > "$work/plan.yaml"
"$memwall" run $a --json | grep signature > "$work/run"
"$memwall" run "$work/plan.yaml" --json | grep signature > "$work/rerun"
"$memwall" resolve $a --no-origins > "$work/bare"
"$memwall" resolve "$work/plan.yaml" --no-origins > "$work/again"
same "$work/run" "$work/rerun"
same "$work/bare" "$work/again"
# A trace that was written stands in place of the model that it was written from.
"$memwall" trace $x --format yaml > "$work/t.yaml"
sed 's#model: gpt2#trace: t.yaml#' $x > "$work/traced.yaml"
"$memwall" run $x > "$work/run"
"$memwall" run "$work/traced.yaml" > "$work/rerun"
"$memwall" resolve "$work/traced.yaml" > "$work/plan.yaml"
"$memwall" run "$work/plan.yaml" > "$work/again"
"$memwall" trace "$work/traced.yaml" --format yaml > "$work/t2.yaml"
same "$work/run" "$work/rerun" "$work/again"
same "$work/t.yaml" "$work/t2.yaml"
# Its kernels are of one format: another precision does not fit it.
expect 2 "precision fp32 computes in fp32, trace 'gpt2' in bf16" run "$work/traced.yaml" --set training.precision=fp32
# A trace with experts is as far from being simulated as its model.
"$memwall" trace $x --set workload.model=mixtral-8x7b --format yaml > "$work/t.yaml"
expect 2 "8 experts is not simulated" run "$work/traced.yaml"
expect 2 "8 experts is not simulated" program "$work/traced.yaml"
expect 0 "expert_dispatch" trace "$work/traced.yaml" --format yaml
[ $failures -eq 0 ]
