# Sourced by every script here: project root, cache folder, cache settings, messages with timings.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
HALYARD_CACHE="${XDG_CACHE_HOME:-${HOME:-$ROOT/.cache}/.cache}/halyard"
export CCACHE_DIR="${CCACHE_DIR:-$HALYARD_CACHE/ccache}"
# Clones in different folders share cache entries: paths below the project are hashed relative to it.
export CCACHE_BASEDIR="$ROOT" CCACHE_NOHASHDIR=true CCACHE_SLOPPINESS=pch_defines,time_macros  # as it wants for precompiled headers
# Without this PoCL, the OpenCL device of the tests, would keep its compiled kernels in ~/.cache/pocl.
export POCL_CACHE_DIR="${POCL_CACHE_DIR:-$HALYARD_CACHE/pocl}"
cd "$ROOT"

say() { printf '[halyard] %s\n' "$*"; }
die() { printf '[halyard] error: %s\n' "$*" >&2; exit 1; }

# phase "what" command...: announces, runs, and reports the wall-clock time and the status.
phase() {
    local what="$1" start="$EPOCHREALTIME" status=0
    shift
    say "$what ..."
    "$@" || status=$?
    if [ "$status" = 0 ]; then
        say "$what: done in $(elapsed "$start")"
    else
        say "$what: FAILED (status $status) after $(elapsed "$start")"
    fi
    return "$status"
}

# Shows what a talkative command printed only when it fails.
quietly() {
    local log
    log="$(mktemp)"
    if ! "$@" >"$log" 2>&1; then
        tail -n 40 "$log" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}

# elapsed START: seconds since START (an $EPOCHREALTIME), one decimal.
elapsed() {
    local tenths=$(( (${EPOCHREALTIME/[.,]/} - ${1/[.,]/}) / 100000 ))
    printf '%d.%d s' $((tenths / 10)) $((tenths % 10))
}

# Compile jobs: one per core, but no more than the free memory allows (a source that includes Halide.h needs about 1 GB).
jobs() {
    local cores memory
    cores="$(nproc)"
    memory="$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)"
    local n=$((memory < cores ? memory : cores))
    echo "${CMAKE_BUILD_PARALLEL_LEVEL:-$((n > 0 ? n : 1))}"
}
