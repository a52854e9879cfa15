#!/usr/bin/env bash
# Runs the README's tour as it is written, in a copy of the project: code blocks that name a file are written there, sh blocks
# are run, in order. Usage: run_tour.sh SOURCE_DIR
set -euo pipefail
source_dir="$1"
copy="$(mktemp -d "${TMPDIR:-/tmp}/halyard_tour.XXXXXX")"
trap 'rm -rf "$copy"' EXIT

(cd "$source_dir" && git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -cf - 2>/dev/null) | tar -C "$copy" -xf -
[ -e "$copy/.venv" ] || [ ! -e "$source_dir/.venv" ] || ln -s "$source_dir/.venv" "$copy/.venv"
cd "$copy"
# Built as the project itself is, so that the kernels are those in the cache; nobody runs the copy's own tests.
export HALYARD_TESTS=OFF

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
for ((i = 1; i <= count; i++)); do bash "tour_block_$i.sh"; done

# Nothing else was touched: one new op file, one program, one CMake line.
changed="$(diff -rq "$source_dir" "$copy" -x build -x .git -x .venv -x 'tour_block_*' -x '__pycache__' | grep -v "^Only in $source_dir" | LC_ALL=C sort || true)"
expected="Files $source_dir/kernels/CMakeLists.txt and $copy/kernels/CMakeLists.txt differ
Only in $copy/kernels: rms_scale.cpp
Only in $copy: tour.cpp"
[ "$changed" = "$expected" ] || { printf 'the tour touched more than it says:\n%s\n' "$changed"; exit 1; }
[ "$(diff "$source_dir/kernels/CMakeLists.txt" kernels/CMakeLists.txt | grep -c '^[<>]' || true)" = 1 ] || { echo "more than one CMake line"; exit 1; }
echo "tour: $count shell blocks ran"
