#!/usr/bin/env bash
# scripts/arm.sh [preset]: exports two networks as C99, in f32 and in integers, for x86, ARM64, ARM32A and ARM32M (a Cortex-M4 without an
# operating system). Each project is built by its own build and run by QEMU; all targets must have the same bits. Then the first samples
# of all ops run on the Cortex-M4. Writes bench/results/c99_arm.md. scripts/aarch64.sh follows.
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
preset="${1:-release}"
targets=(x86 ARM64 ARM32A ARM32M)
networks=(lenet5 motion)
declare -A classes=([lenet5]=10 [motion]=2)
results=bench/results/c99_arm.md
work="build/arm"

# Sets what a target is built and run with: tools, the prefix of its programs; emulator, which counts instructions; linker, options.
set_tools() {
    linker=-static
    case "$1" in
        x86) tools="" emulator=(qemu-x86_64) ;;
        ARM64) tools=aarch64-linux-gnu- emulator=(qemu-aarch64) ;;
        ARM32A) tools=arm-linux-gnueabihf- emulator=(qemu-arm) ;;
        ARM32M)
            tools=arm-none-eabi- linker=""
            emulator=(qemu-system-arm -M mps2-an386 -nographic -monitor none -serial none -semihosting-config enable=on,target=native) ;;
    esac
}

# export_project FORM TARGET: the network in f32, or in integers that are calibrated on digits or on movements.
export_project() {
    local words=("$network" --for c99 --target "$2" --classes "${classes[$network]}" -o "$project")
    if [ "$1" = int8 ]; then
        case "$network" in
            lenet5) words+=(--int8 data/digits) ;;
            motion) words+=(--int8 "$work/motions") ;;
        esac
    fi
    "build/$preset/bin/halyard" export "${words[@]}" >"$work/log"
}

# The number that the project's header gives.
defined() { sed -n "s/^#define [A-Z0-9]*_$1 \([0-9]*\).*/\1/p" "$project/include/$network.h"; }

# build TYPE: the network and its test, as CMake builds them.
build() {
    cmake -S "$project" -B "$project/$1" -DCMAKE_BUILD_TYPE="$1" -DCMAKE_EXE_LINKER_FLAGS="$linker" && cmake --build "$project/$1"
}

# code_of TYPE: bytes of the network's code: what `size` calls text, without the weights.
code_of() {
    local text
    text="$("${tools}size" "$project/$1/lib$network.a" | awk 'NR == 2 { print $1 }')"
    echo $((text - $(defined CONSTANT_BYTES)))
}

# run_test TARGET TYPE: the test's line, of which the bits are the last word.
run_test() {
    local program="$project/$2/${network}_test"
    [ "$1" = ARM32M ] && program="-kernel $program"
    # shellcheck disable=SC2086 # an option and its value
    "${emulator[@]}" $program
}

# instructions_of TARGET TYPE CALLS: those of one of the test's calls. The emulator runs one at a time and logs those in the functions of
# the network.
instructions_of() {
    local program="$project/$2/${network}_test" ranges
    ranges="$("${tools}nm" -S "$program" | awk -v name="$network" '
        NF == 4 && tolower($3) == "t" && index($4, name) == 1 { printf "%s0x%s+0x%s", separator, $1, $2; separator = "," }')"
    [ "$1" = ARM32M ] && program="-kernel $program"
    # shellcheck disable=SC2086 # an option and its value
    echo $(("$("${emulator[@]}" -singlestep -d exec,nochain -dfilter "$ranges" $program 2>&1 >/dev/null | grep -c '^Trace')" / $3))
}

# measure FORM TARGET TYPE: a line of the table.
measure() {
    local line bits results
    line="$(run_test "$2" "$3")" || die "$network, $1, $2, $3: the test fails: $line"
    bits="${line##* }"
    : "${expected_bits[$network $1]:=$bits}"
    [ "$bits" = "${expected_bits[$network $1]}" ] ||
        die "$network, $1, $2, $3: the results have the bits $bits, expected ${expected_bits[$network $1]}, those of ${targets[0]}"
    results="$(sed -n 's/^ok: \([0-9]*\) results.*/\1/p' <<<"$line")"
    echo "| $network | $1 | $2 | $3 | $(code_of "$3") | $(defined CONSTANT_BYTES) | $(defined ARENA_BYTES) |" \
        "$(instructions_of "$2" "$3" $((results / classes[$network]))) | $bits |" | tee -a "$work/rows"
}

# Writes the bits of C's functions on a target to the file of its name.
run_functions() {
    local program="$work/functions.$1" words=(-O1 -std=c99 "-DRESULTS=\"$ROOT/$work/functions/$1\"" tests/arm/functions.c)
    local board="$project/test/mps2_an386"
    if [ "$1" = ARM32M ]; then
        words+=(-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard -nostartfiles -T "$board.ld" "$board.c")
    else
        words+=(-static)
    fi
    "${tools}gcc" "${words[@]}" -lm -o "$program"
    [ "$1" = ARM32M ] && program="-kernel $program"
    # shellcheck disable=SC2086 # an option and its value
    "${emulator[@]}" $program
}

# Prints the page: what was run, and the rows.
page() {
    cat <<END
# LeNet-5 and a network of movements in C99 on ARM

\`make arm\`, $(date +%F). \`halyard export lenet5 --for c99 --target T\` of one image, and \`motion\` of 50 readings of three axes (a
one-dimensional convolution and two dense layers), with the initial weights, in f32 and with \`--int8\`; built by the project's
CMakeLists.txt (\`-ffp-contract=off\`) as Release (\`-O3\`) and MinSizeRel (\`-Os\`), and run by QEMU. ARM32M is a Cortex-M4 with its FPU and
without an operating system (machine mps2-an386). Each test passed, and the results of all targets have the same bits.

Code is \`size\`'s text of the library without the weights; bytes of weights and of the arena are those that the header gives.
Instructions are those of one call, in the network's functions; QEMU counts no cycles.

| network | form | target | build | code | weights | arena | instructions | bits |
|---|---|---|---|---|---|---|---|---|
$(cat "$work/rows")

\`halyard check --device c --target ARM32M --quick\`, the first samples of all ops as C99 on the Cortex-M4: $(grep 'checks passed' "$work/check").

| | |
|---|---|
$(for target in "${targets[@]}"; do set_tools "$target"; echo "| $target | $("${tools:-}gcc" --version | head -n 1) |"; done)
| emulators | $(qemu-system-arm --version | head -n 1) |

## C's functions

The networks call none. Of 65,536 results each, so many differ from those of x86 (glibc, on a CPU without FMA), by so many
units in the last place at most. ARM64 and ARM32A have glibc, ARM32M has newlib.

$(scripts/function_bits.py "${targets[@]/#/$work/functions/}")
END
}

scripts/setup.sh --packages scripts/arm_packages.txt
phase "build of halyard" cmake --build --preset "$preset" --parallel "$(jobs)" --target halyard_command halyard_export_files example_make_motions
rm -rf "$work"
mkdir -p "$work/functions"
"build/$preset/bin/examples/make_motions" "$work/motions"
declare -A expected_bits
for network in "${networks[@]}"; do
    for form in f32 int8; do
        for target in "${targets[@]}"; do
            project="$work/$network/$form/$target"
            set_tools "$target"
            export_project "$form" "$target"
            for type in Release MinSizeRel; do
                quietly build "$type" || die "$network, $form, $target, $type: the project isn't built"
                measure "$form" "$target" "$type"
            done
        done
    done
done
for target in "${targets[@]}"; do
    project="$work/lenet5/f32/$target"
    set_tools "$target"
    run_functions "$target"
done
"build/$preset/bin/halyard" check --device c --target ARM32M --quick --refused tests/c99/refused.txt | tee "$work/check"
page >"$results"
say "all targets have the same bits; wrote $results"
scripts/aarch64.sh
