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

# A result that did not arrive is an error; a reader that has seen enough is none.
lost=$({ "$memwall" list gpus > /dev/full; } 2>&1)
check "a full disk gives status 2" [ $? -eq 2 ]
check "a full disk is named" grep -q "No space left on device" <<< "$lost"
quiet=$({ "$memwall" list | head -1 > /dev/null; } 2>&1)
check "a closed pipe ends the program without a word" [ -z "$quiet" ]

[ $failures -eq 0 ]
