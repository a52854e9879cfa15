#!/usr/bin/env bash
# Runs the README's tour as it is written, in a copy of the project: code blocks that name a file are written there, sh blocks
# are run, in order. The copy is built before; what building the new op, and an edit of it, then takes is printed and bounded.
# Usage: run_tour.sh SOURCE_DIR
set -euo pipefail
source_dir="$1"
copy="$(mktemp -d "${TMPDIR:-/tmp}/halyard_tour.XXXXXX")"
trap 'rm -rf "$copy"' EXIT

(cd "$source_dir" && git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -cf - 2>/dev/null) | tar -C "$copy" -xf -
[ -e "$copy/.venv" ] || [ ! -e "$source_dir/.venv" ] || ln -s "$source_dir/.venv" "$copy/.venv"
cd "$copy"
# With the release's flags the compiler cache has most of it, which the tests' own build made.
cmake --preset demo "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g1 -DNDEBUG" ${HALIDE_ROOT:+-DHALIDE_ROOT="$HALIDE_ROOT"} >/dev/null
scripts/build.sh demo

awk -v dir="$copy" '
    /^```cpp [^ ]+$/ { file = dir "/" $2; printf "" > file; next }
    /^```sh$/ { script = dir "/tour_block_" ++blocks ".sh"; print "set -euxo pipefail" > script; next }
    /^```/ { if (file) close(file); if (script) close(script); file = script = ""; next }
    file { print > file }
    script { print > script }
' README.md
lines="$(wc -l < kernels/rms_scale.cpp)"
[ "$lines" -le 60 ] || { echo "kernels/rms_scale.cpp has $lines lines, the tour promises at most 60"; exit 1; }
count="$(ls tour_block_*.sh | wc -l)"
[ "$count" -ge 4 ] || { echo "found only $count shell blocks in README.md"; exit 1; }

# bounded WHAT STEPS SECONDS COMMAND...: runs a build, and fails where it takes more steps or more processor time.
bounded() {
    local what="$1" most_steps="$2" most_seconds="$3" log="$copy/build/demo/build.log" steps seconds
    shift 3
    local TIMEFORMAT='%U %S'
    { time "$@" >"$log.said" 2>&1; } 2>"$log.time" || { cat "$log.said"; exit 1; }
    steps="$(grep -cE '^\[[0-9]+/[0-9]+\]' "$log" || true)"
    seconds="$(awk '{ printf "%.0f", $1 + $2 }' "$log.time")"
    echo "tour: $what took $steps build steps (at most $most_steps) and $seconds s of processor time (at most $most_seconds)"
    [ "$steps" -le "$most_steps" ] && [ "$seconds" -le "$most_seconds" ]
}
bounded "a new op" 15 30 bash tour_block_1.sh
sed -i 's|^// rms_scale and|// Op rms_scale and|' kernels/rms_scale.cpp
bounded "an edit of it" 8 10 scripts/build.sh demo
for ((i = 2; i <= count; i++)); do bash "tour_block_$i.sh"; done

# Nothing else was touched: one new op file, one program, one CMake line.
changed="$(diff -rq "$source_dir" "$copy" -x build -x .git -x .venv -x 'tour_block_*' -x '__pycache__' | grep -v "^Only in $source_dir" | LC_ALL=C sort || true)"
expected="Files $source_dir/kernels/CMakeLists.txt and $copy/kernels/CMakeLists.txt differ
Only in $copy/kernels: rms_scale.cpp
Only in $copy: tour.cpp"
[ "$changed" = "$expected" ] || { printf 'the tour touched more than it says:\n%s\n' "$changed"; exit 1; }
[ "$(diff "$source_dir/kernels/CMakeLists.txt" kernels/CMakeLists.txt | grep -c '^[<>]' || true)" = 1 ] || { echo "more than one CMake line"; exit 1; }
echo "tour: $count shell blocks ran"
