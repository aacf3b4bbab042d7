#!/usr/bin/env bash
# What the README shows is what the program prints: its report, its tables, its scenario and its verbs.
#   readme.sh MEMWALL SOURCE_DIR
set -euo pipefail
unset COLUMNS  # a pipe of 80
memwall=$1
cd "$2"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "README.md: $*" >&2
    exit 1
}

# The n-th fenced block of a kind (empty = plain), without its fences.
block() {
    awk -v kind="$1" -v want="$2" '/^```/ { if (inside) { inside = 0; next } if ($0 == "```" kind) seen++; inside = 1; show = ($0 == "```" kind && seen == want); next }
        inside && show' README.md
}

block "" 1 > "$work/shown"
"$memwall" run scenarios/gpt3-175b-1024xa100.yaml > "$work/printed"
head -n "$(wc -l < "$work/shown")" "$work/printed" | diff "$work/shown" - || fail "the report differs from what the program prints"

for table in sc21 simumax; do
    while IFS= read -r line; do
        grep -qxF -- "$line" README.md || fail "the $table table lacks: $line"
    done < "tests/accuracy/$table.md"
done

block yaml 1 > "$work/my.yaml"
cat > "$work/config.json" <<'JSON'
{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
 "num_key_value_heads": 8, "vocab_size": 128256, "hidden_act": "silu", "tie_word_embeddings": false}
JSON
"$memwall" run "$work/my.yaml" > "$work/mine"
grep -q "step time           10\.[45]" "$work/mine" || fail "my.yaml does not take 10.5 s"
grep -q "fits, 9\.40 to spare" "$work/mine" || fail "my.yaml does not leave 9.4 GiB"
grep -q "limited by exposed communication (61" "$work/mine" || fail "my.yaml is not limited by communication"

x=scenarios/gpt2-8xa100.yaml
"$memwall" run scenarios/gpt3-175b-1024xa100.yaml --set parallel.vpp=3 --json > /dev/null
"$memwall" run $x --no-fold --no-coalesce --trace-out "$work/step.json.gz" > /dev/null 2>&1
"$memwall" resolve $x > /dev/null
"$memwall" trace $x > /dev/null
"$memwall" program $x --rank 0 > /dev/null
"$memwall" topo selene-a100 --route 0,9 > /dev/null
"$memwall" topo selene-a100 --dot > /dev/null
"$memwall" list gpus > /dev/null
"$memwall" check scenarios/*.yaml scenarios/*/*.yaml > /dev/null
cat > "$work/table.csv" << 'CSV'
id,framework,gpu,n_gpus,layers,hidden,heads,seq_len,precision,tp,micro_batch,global_batch,step_time_s
a,megatron-lm,a100-80g-sxm,8,4,1024,16,1024,fp16,2,1,8,9
CSV
"$memwall" validate "$work/table.csv" > /dev/null
"$memwall" calibrate tests/calibration/h100-gemm.csv --gpu h100-80g-sxm --out "$work/my-h100.yaml" > "$work/calibrated"
block "" 2 > "$work/shown"
head -n "$(wc -l < "$work/shown")" "$work/calibrated" | diff "$work/shown" - || fail "the calibration differs from what the program prints"
"$memwall" run $x --set machine.cluster.node.gpu="$work/my-h100.yaml" > /dev/null
"$memwall" explain mfu $x > /dev/null
