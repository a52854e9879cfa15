#!/usr/bin/env bash
# scripts/aarch64.sh: the kit for AArch64, made here and run by QEMU: its tests, and the checks of all ops, whose results are judged
# here. Prints the instructions of some kernels' loops beside those of x86-64, and writes all that to bench/results/aarch64.md.
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
results=bench/results/aarch64.md
work=build/aarch64/report
# They train networks for long, and QEMU makes that many times slower.
too_long='^(examples_test|examples_test_in_graph_mode|train_test_in_graph_mode)$'

# loop_of OP VARIANT DTYPE ISA: "instructions of which vectors %" of the innermost loop with the largest share of vectors.
loop_of() {
    build/release/bin/halyard lower "$1" --variant "$2" --dtype "$3" --isa "$4" --to counts |
        awk '$3 == "%" && ($2 > share || ($2 == share && $1 < size)) { share = $2; size = $1 } END { print size " | " share " %" }'
}

rows() {
    local op variant dtype
    while read -r op variant dtype; do
        echo "| $op | $variant | $dtype | $(loop_of "$op" "$variant" "$dtype" neon) | $(loop_of "$op" "$variant" "$dtype" avx2) |"
    done <<'END'
relu unnamed f32
relu unnamed bf16
gelu unnamed f32
exp unnamed f64
add unnamed i32
softmax wide f32
layer_norm_kernel wide f32
matmul direct f32
matmul packed f32
matmul direct f16
conv2d direct f32
max_pool2d unnamed f32
END
}

page() {
    cat <<END
# The kit on AArch64

\`scripts/aarch64.sh\` (\`make arm\`), $(date +%F), at $(git rev-parse --short HEAD). $(aarch64-linux-gnu-g++ --version | head -n 1),
$(qemu-aarch64 --version | head -n 1). No such machine was at hand, so nothing says how fast it is.

| what | result |
|---|---|
| \`halyard check --device aarch64\`, all samples | $(tail -n 1 "$work/check") |
| the kit's own tests, in both modes, but those that train for long | $(grep -E '^[0-9]+% tests passed' "$work/tests") |

The innermost loop of a kernel that has the largest share of vector instructions (\`halyard lower --to counts\`), on AArch64 with
vectors of 16 bytes and on AVX2 with vectors of 32:

| op | variant | dtype | neon: instructions | vectors | avx2: instructions | vectors |
|---|---|---|---|---|---|---|
$(rows)

With tiles for 16 vector registers, as on AVX2, the loop of \`matmul direct f32\` had 22 instructions for 12 products of vectors; with
tiles for 32 it has 26 for 16. \`exp\` in f64 calls C's function for each number, whose
instructions are not counted.
END
}

scripts/build.sh aarch64
phase "tests of the kit for AArch64" cmake --build --preset aarch64 --parallel "$(jobs)" --target all_tests
phase "build of halyard" cmake --build --preset release --parallel "$(jobs)" --target halyard_command
mkdir -p "$work"
build/release/bin/halyard check --device aarch64 | tee "$work/check"
ctest --preset aarch64 -j2 --output-on-failure -E "$too_long" | tee "$work/tests"
page >"$results"
say "wrote $results"
