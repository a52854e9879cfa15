#!/usr/bin/env bash
# scripts/build.sh [preset [target]]: set-up, then configure where needed, then build into build/<preset>: the kit, or the target.
# Kernels for asan and tsan are made by the release build's generators: under a sanitizer the compiler in them takes several times as long.
# Those for aarch64, too: the compiler runs on this machine only.
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
preset="${1:-release}"
target="${2:-}"
ninja_file="build/$preset/build.ninja"

case "$preset" in
    release | demo | debug | asan | tsan | aarch64) ;;
    *) die "there is no kit for '$preset'; make build ARCH=aarch64 makes the one for AArch64" ;;
esac
scripts/setup.sh
case "$preset" in
    asan | tsan) "$0" release halyard_generators ;;
    aarch64)
        scripts/setup.sh --packages scripts/aarch64_packages.txt
        "$0" release halyard_generators ;;
esac
if [ ! -e "$ninja_file" ] || [ CMakePresets.json -nt "$ninja_file" ] || [ scripts/requirements.txt -nt "$ninja_file" ]; then
    phase "configure $preset" cmake --preset "$preset" ${HALIDE_ROOT:+-DHALIDE_ROOT="$HALIDE_ROOT"}
    touch "$ninja_file"
fi
phase "build $preset${target:+, $target} with $(jobs) jobs" python3 scripts/progress.py "build/$preset/build.log" \
    cmake --build --preset "$preset" --parallel "$(jobs)" ${target:+--target "$target"}
