#!/usr/bin/env bash
# Exit status and message of the program for what a person may ask: 0 done, 1 the answer is no, 2 wrong use or input.
#   exit_status.sh MEMWALL SOURCE_DIR
set -uo pipefail
memwall=$1
cd "$2" || exit 1
failures=0

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

x=scenarios/gpt2-8xa100.yaml
expect 0 "step time" run $x --quiet
expect 1 "does not fit" run scenarios/llama3.1-405b-16384xh100.yaml
expect 2 "[E0401]" run scenarios/llama3-70b-fsdp-64xh100.yaml --set machine.cluster=v100-dgx1
expect 0 "step time" run $x --set machine.network.fidelity=stepwise
expect 2 "[E0390]" run $x --set parallel.cp=2 --set parallel.dp=4
expect 2 "[E0390]" check scenarios/gpt2-8xa100.yaml --set workload.model=mixtral-8x7b
expect 2 "[E0390]" program $x --set workload.model=mixtral-8x7b
expect 0 "mixtral" trace $x --set workload.model=mixtral-8x7b
expect 2 "nvls needs an NVLink switch" run $x --set machine.network.algorithm=nvls
expect 2 "did you mean 'parallel'" run $x --set paralel.tp=2
expect 2 "[E0101]" run no-such-file.yaml
expect 2 "without --trace-out" run $x --trace-ranks 0
expect 2 "not a list of ranks below 8" run $x --trace-out /dev/null --trace-ranks 0..8
expect 2 "cannot write" run $x --trace-out /no/such/folder/step.json
expect 2 "ranks are 0 to 7" program $x --rank 8
expect 2 "not a number of lines" program $x --limit -3
expect 2 "table, yaml or json" trace $x --format xml
expect 2 "not two different ranks" topo selene-a100 --route 3,3
expect 2 "1 to 560" topo selene-a100 --nodes 561
expect 2 "did you mean 'gpus'" list gpu
expect 2 "did you mean 'bubble'" explain buble
expect 0 "divide the attention heads" explain E0312
expect 2 "usage: memwall run" run
expect 2 "did you mean 'run'" rnu $x
expect 0 "Examples" run --help
expect 2 "[E0201]" check tests/bad_input/unknown_key.yaml
[ $failures -eq 0 ]
