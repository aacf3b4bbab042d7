# Shared by setup, test and .ci/run: where we are, messages, and packages that are missing.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"

say() { printf '%s\n' "$*" >&2; }
fail() {
    say "error: $*"
    exit 1
}

# The packages of a section of packages.txt.
packages_of() {
    awk -v want="[$1]" '/^\[/ { on = ($1 == want); next } on { sub(/#.*/, ""); if ($1 != "") print $1 }' packages.txt
}

# need build test ...: installs what is missing of these sections; asks for nothing when all is there.
need() {
    command -v dpkg-query > /dev/null || fail "this is not Debian: install what packages.txt names under $*, then build with cmake --preset release"
    local section package missing=()
    for section in "$@"; do
        for package in $(packages_of "$section"); do
            if ! dpkg-query -W -f '${db:Status-Abbrev}\n' "$package" 2> /dev/null | grep -q '^.i'; then
                missing+=("$package")
            fi
        done
    done
    if [ ${#missing[@]} -eq 0 ]; then
        return
    fi
    say "installing ${missing[*]}"
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo > /dev/null || fail "not root and no sudo here; as root: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq)
    # The lists of packages may be missing or old: fetch them once when the first try fails.
    if ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" > /dev/null 2>&1; then
        "${apt[@]}" update || fail "the lists of packages cannot be fetched; install by hand: ${missing[*]}"
        "${apt[@]}" install -y --no-install-recommends "${missing[@]}" > /dev/null || fail "apt-get could not install: ${missing[*]}"
    fi
}

# Compilers at once: one per core, but no more than the memory holds (1 GiB each).
jobs() {
    local cores memory
    cores=$(nproc)
    memory=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo 2> /dev/null || echo "$cores")
    [ "${memory:-0}" -ge 1 ] || memory=1
    echo $((cores < memory ? cores : memory))
}
