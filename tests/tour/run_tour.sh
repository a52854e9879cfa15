#!/usr/bin/env bash
# Runs the code of README.md's tour and of docs/writing_ops.md as it is written, in a copy of the
# project. Blocks that name a C++ file become that file; blocks that name a CMakeLists.txt are
# inserted before its line halyard_..._done(); sh blocks are run in order. The copy is built before; the
# number of steps and the processor time of building the tour's op, and of an edit of it, are printed
# and bounded. The same is done
# with the composite of writing_ops.md; its op files then join the build.
# Before that it checks that the files which the documents name exist, and the names in docs/porting.md.
# Usage: run_tour.sh SOURCE_DIR
set -euo pipefail
source_dir="$1"
python3 "$source_dir/tests/tour/check_paths.py" "$source_dir"
python3 "$source_dir/tests/tour/check_names.py" "$source_dir"
copy="$(mktemp -d "${TMPDIR:-/tmp}/halyard_tour.XXXXXX")"
trap 'rm -rf "$copy"' EXIT

(cd "$source_dir" && git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -cf - 2>/dev/null) | tar -C "$copy" -xf -
[ -e "$copy/.venv" ] || [ ! -e "$source_dir/.venv" ] || ln -s "$source_dir/.venv" "$copy/.venv"
cd "$copy"
# With the release's flags the compiler cache has most of it, which the tests' own build made.
cmake --preset demo "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g1 -DNDEBUG" ${HALIDE_ROOT:+-DHALIDE_ROOT="$HALIDE_ROOT"} >/dev/null
scripts/build.sh demo

# extract PAGE NAME: writes the page's files, and its sh blocks as NAME_block_1.sh, NAME_block_2.sh, ...
extract() {
    grep -o '^```cpp [^ ]*/' "$1" | sed 's/^```cpp //' | sort -u | xargs -r mkdir -p
    awk -v dir="$copy" -v name="$2" '
        /^```cpp [^ ]+$/ { file = dir "/" $2; printf "" > file; next }
        /^```cmake [^ ]+$/ { file = dir "/" $2 ".lines"; printf "" > file; next }
        /^```sh$/ { script = dir "/" name "_block_" ++blocks ".sh"; print "set -euxo pipefail" > script; next }
        /^```/ { if (file) close(file); if (script) close(script); file = script = ""; next }
        file { print > file }
        script { print > script }
    ' "$1"
}

# count_blocks NAME MINIMUM: sets `count`, and fails if the page has fewer sh blocks than it should.
count_blocks() {
    count="$(find . -maxdepth 1 -name "$1_block_*.sh" | wc -l)"
    [ "$count" -ge "$2" ] || { echo "found only $count sh blocks, expected $2 ($1)"; exit 1; }
}

# bounded WHAT MAX_STEPS MAX_SECONDS COMMAND...: runs a build, and fails if it takes more steps or more
# processor time.
bounded() {
    local what="$1" max_steps="$2" max_seconds="$3" log="$copy/build/demo/build.log" steps seconds
    shift 3
    local TIMEFORMAT='%U %S'
    { time "$@" >"$log.said" 2>&1; } 2>"$log.time" || { cat "$log.said"; exit 1; }
    steps="$(grep -cE '^\[[0-9]+/[0-9]+\]' "$log" || true)"
    seconds="$(awk '{ printf "%.0f", $1 + $2 }' "$log.time")"
    echo "tour: $what took $steps build steps (at most $max_steps) and $seconds s of processor time (at most $max_seconds)"
    [ "$steps" -le "$max_steps" ] && [ "$seconds" -le "$max_seconds" ]
}

extract README.md tour
count_blocks tour 4
bounded "a new op" 15 30 bash tour_block_1.sh
sed -i 's|^// rms_scale and|// Op rms_scale and|' kernels/rowwise/rms_scale.cpp
bounded "an edit of it" 8 10 scripts/build.sh demo
for ((i = 2; i <= count; i++)); do bash "tour_block_$i.sh"; done
echo "tour: $count sh blocks ran"

# Nothing else was touched: one new op file, one program, one CMake line.
changed="$(diff -rq "$source_dir" "$copy" -x build -x .git -x .venv -x 'tour_block_*' -x '__pycache__' | grep -v "^Only in $source_dir" | LC_ALL=C sort || true)"
expected="Files $source_dir/kernels/CMakeLists.txt and $copy/kernels/CMakeLists.txt differ
Only in $copy/kernels/rowwise: rms_scale.cpp
Only in $copy: tour.cpp"
[ "$changed" = "$expected" ] || { printf 'the tour touched more than it says:\n%s\n' "$changed"; exit 1; }
[ "$(diff "$source_dir/kernels/CMakeLists.txt" kernels/CMakeLists.txt | grep -c '^[<>]' || true)" = 1 ] || { echo "more than one CMake line"; exit 1; }

# A new composite: one file and one CMake line, and none but its functions' users is compiled for it.
extract docs/writing_ops.md guide
count_blocks guide 1
add_lines() { sed -i "/^halyard_[a-z]*_done()/e cat $1.lines" "$1" && rm "$1.lines"; }
[ "$(wc -l < primitives/CMakeLists.txt.lines)" = 1 ] || { echo "a composite needs more than one CMake line"; exit 1; }
add_lines primitives/CMakeLists.txt
bounded "a new composite" 12 60 scripts/build.sh demo
sed -i 's|^// dead_zone: |&|; s|elements within a zone|each element within a zone|' primitives/composites/guide/dead_zone.cpp
bounded "an edit of it" 8 20 scripts/build.sh demo
build/demo/bin/halyard check dead_zone
build/demo/bin/halyard ops dead_zone >/dev/null
add_lines kernels/CMakeLists.txt
scripts/build.sh demo
for ((i = 1; i <= count; i++)); do bash "guide_block_$i.sh"; done
echo "guide: $(find kernels/guide -name '*.cpp' | wc -l) op files were built and checked, $count sh blocks ran"
