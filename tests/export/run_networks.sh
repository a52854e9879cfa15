#!/usr/bin/env bash
# Tests `halyard export NETWORK --for c99`: writes the network, builds it with C's compiler alone, compares it with the kit's results,
# prints what it takes, and expects refusals that write nothing. Usage: run_networks.sh BUILD_DIR SOURCE_DIR lenet5|mobilenetv2
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "export_$3" "$@"

# compile FOLDER NAME OPTION... compiles and links the network and its test as a program, a.out.
compile() {
    cc -std=c99 -Wall -Wextra -Wpedantic -Werror -ffp-contract=off "${@:3}" -I"$1/include" -c "$1/src/$2.c" -o object.o
    cc -std=c99 -Wall -Wextra -Wpedantic -Werror -I"$1/include" "$1/test/test.c" object.o -o a.out -lm
}
# defined FOLDER NAME: the number that the header gives.
defined() { sed -n "s/^#define [A-Z0-9]*_$2 \([0-9]*\).*/\1/p" "$1"/include/*.h; }
# row FOLDER NAME: what a network takes, as built last.
row() {
    printf '%-22s %8d bytes of arena %9d of weights %6d of code\n' "$1" "$(defined "$1" ARENA_BYTES)" "$(defined "$1" CONSTANT_BYTES)" \
        "$(($(size object.o | awk 'NR == 2 {print $1}') - $(defined "$1" CONSTANT_BYTES)))"
}

check_refusals() {
    refuse "lenet5 is a network, which needs --for c99" lenet5
    refuse "lenet5 is a network, which is exported alone" lenet5 relu --for c99
    refuse "[export] --shape does nothing with the network lenet5" lenet5 --for c99 --shape "n=1"
    refuse "[export] --weights does nothing with ops" relu --for c99 --weights file
    refuse "[export] --target does nothing with --for c" relu --target ARM64
    refuse "--target arm9 doesn't exist; there are x86, ARM64, ARM32A (Cortex-A) and ARM32M (Cortex-M)" lenet5 --for c99 --target arm9
    refuse "[lenet5] networks are exported in f32, --dtype is i8" lenet5 --for c99 --dtype i8
    refuse "[lenet5] image size is 28, expected LeNet5's 32" lenet5 --for c99 --image-size 28
    refuse "no such op; did you mean" lenet6 --for c99
    refuse "[transformer] no C99 function: " transformer --for c99 --length 8
    refuse "--seed has no effect with --weights" lenet5 --for c99 --seed 1 --weights file
    mkdir empty
    refuse "has no checkpoint of lenet5" lenet5 --for c99 --weights empty
    for name in c m; do refuse "'$name' would make lib$name" lenet5 --for c99 --name "$name"; done
    mkdir full
    touch full/file
    if "$halyard" export lenet5 --for c99 -o full >out 2>&1; then fail "wrote into a folder that isn't empty"; fi
    grep -q "isn't an empty folder" out || fail "$(cat out)"
}

check_lenet5() {
    # LeNet-5 as a training left it.
    "$halyard" train lenet5 --data "$source_dir/data/digits" --epochs 1 --out trained >log
    "$halyard" export lenet5 --for c99 --weights trained -o lenet5 >out
    grep -qF "void lenet5(const float *x, float *y);" out || fail "$(cat out)"
    build_project lenet5
    [ "$(wc -l <lenet5/README.md)" -le 14 ] || fail "README.md is long"
    "$halyard" export lenet5 --for c99 --weights trained/lenet5-1_*.safetensors --name lenet5 -o again >out
    diff -r lenet5/src again/src || fail "a second export differs"
    "$halyard" export lenet5 --for c99 --weights trained --unfused -o unfused >out
    for folder in unfused lenet5; do
        compile "$folder" lenet5 -Os
        ./a.out >out || fail "$(cat out)"
        grep -q "^ok: 20 results" out || fail "$(cat out)"
        row "$folder"
    done
    [ "$(defined lenet5 ARENA_BYTES)" -lt "$(defined unfused ARENA_BYTES)" ] || fail "fusing saves no memory"
    needed="$(nm -u object.o | awk '{print $2}' | grep -vE '^(memcpy|memset)$' || true)"
    [ -z "$needed" ] || fail "lenet5 needs $needed"
    [ "$(nm --defined-only -g object.o | awk '{print $3}')" = lenet5 ] || fail "lenet5 shows $(nm --defined-only -g object.o)"
    if grep -n '\$\|malloc' lenet5/src/lenet5.c; then fail "it isn't plain C99"; fi
    echo '#include "lenet5.h"' >user.c
    c++ -x c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -Ilenet5/include -fsyntax-only user.c
    # The exported test finds wrong weights.
    sed -i '0,/^    [-0-9.e]*f,/s//    1000.0f,/' lenet5/src/lenet5_weights.h
    compile lenet5 lenet5 -O1
    if ./a.out >out; then fail "the exported test passes with wrong weights"; fi
    grep -q "^FAILED: 20 results" out || fail "$(cat out)"
}

check_other_machines() {
    # For other machines it is compiled, without their C library, if there is a compiler.
    "$halyard" export lenet5 --for c99 --target ARM32M -o cortex >out
    grep -q "cortex-m4" cortex/toolchain.cmake || fail "no toolchain"
    if command -v arm-none-eabi-gcc >/dev/null && command -v qemu-system-arm >/dev/null; then build_project cortex; fi
    if command -v clang >/dev/null; then
        mkdir headers
        printf '#define INFINITY __builtin_inff()\n#define NAN __builtin_nanf("")\n' >headers/math.h
        for machine in "armv7em-none-eabi -mcpu=cortex-m4" armv6m-none-eabi armv7a-linux-gnueabihf aarch64-linux-gnu; do
            # shellcheck disable=SC2086 # options are words
            clang --target=$machine -ffreestanding -Iheaders -Icortex/include -std=c99 -Wall -Wextra -Werror -Os -c cortex/src/lenet5.c \
                -o other.o || fail "$machine"
        done
    fi
}

check_mobilenetv2() {
    # MobileNetV2 after a few steps of training, with two classes.
    "$build_dir/bin/examples/make_images" photographs photographs 32 4 "$source_dir/data" >log
    "$halyard" train mobilenetv2 --data photographs --image-size 32 --batch-size 4 --epochs 2 --lr 0.01 --out trained >log
    "$halyard" export mobilenetv2 --for c99 --weights trained -o mobilenetv2 >out
    [ "$(awk '/op by op/ {print $5}' out)" -gt "$(awk '/fused/ {print $3}' out)" ] || fail "fusing saves no memory"
    "$halyard" export mobilenetv2 --for c99 --weights trained --fold-norms -o folded >out
    grep -q "x\[1,3,32,32\]:f32 -> y\[1,2\]:f32" folded/include/mobilenetv2.h || fail "$(cat folded/include/mobilenetv2.h)"
    for folder in mobilenetv2 folded; do
        compile "$folder" mobilenetv2 -O1
        ./a.out >out || fail "$(cat out)"
        cat out
        row "$folder"
    done
    [ "$(defined folded CONSTANT_BYTES)" -lt "$(defined mobilenetv2 CONSTANT_BYTES)" ] || fail "folding saves no constants"
}

if [ "$3" = lenet5 ]; then
    check_refusals
    check_lenet5
    check_other_machines
else
    check_mobilenetv2
fi
echo "$3: ok"
