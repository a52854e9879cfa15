#!/usr/bin/env bash
# Compiles the C++ example of every reference page into one program, and runs it.
# Usage: run_docs_examples.sh COMPILER SOURCE_DIR BUILD_DIR HALIDE_INCLUDE_DIR
set -euo pipefail
compiler="$1" source_dir="$2" build="$3" halide="$4"
work="$(mktemp -d "${TMPDIR:-/tmp}/halyard_docs.XXXXXX")"
trap 'rm -rf "$work"' EXIT

"$build/bin/halyard" docs --out "$work/docs" >"$work/log"
{
    printf '#include <cmath>\n#include "primitives/composites/concat.h"\n#include "primitives/composites/einsum.h"\n#include "primitives/ops.h"\n#include "primitives/composites/updates.h"\nusing namespace halyard;\n'
    for page in "$work"/docs/*.md; do
        [ "$(basename "$page")" != index.md ] || continue
        name="$(basename "$page" .md)"
        printf 'static void example_%s() {\n' "$name"
        awk '/^```cpp$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$page"
        printf '}\n'
        printf '    example_%s();\n' "$name" >>"$work/calls"
    done
    printf 'int main() {\n'
    cat "$work/calls"
    printf '}\n'
} >"$work/examples.cpp"
count="$(wc -l <"$work/calls")"
[ "$count" -ge 100 ] || { echo "found only $count examples"; exit 1; }
"$compiler" -std=c++20 -O0 "$work/examples.cpp" -I"$source_dir" -I"$build/generated" -I"$build" -isystem "$halide" -L"$build/lib" -lhalyard -lhalyard_registry \
    -Wl,-rpath,"$build/lib" -o "$work/examples"
"$work/examples"
echo "docs: $count examples compiled and ran"
