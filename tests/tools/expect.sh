# For scripts that try the program: needs $memwall, counts in $failures.
# shellcheck shell=bash

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
