#!/usr/bin/env bash
# Tests `halyard export NETWORK --for c99 --int8 DATA`: writes the network in integers, builds it with C's compiler alone, compares it
# bit for bit with the kit's reference, checks what it takes and loses, and expects refusals that write nothing.
# Usage: run_int8.sh BUILD_DIR SOURCE_DIR lenet5|mobilenetv2|motion
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "int8_$3" "$@"
digits="$source_dir/data/digits"

# compile FOLDER NAME OPTION... compiles and links the network and its test as a program, a.out.
compile() {
    cc -std=c99 -Wall -Wextra -Wpedantic -Werror "${@:3}" -I"$1/include" -c "$1/src/$2.c" -o object.o
    cc -std=c99 -Wall -Wextra -Wpedantic -Werror -I"$1/include" "$1/test/test.c" object.o -o a.out
}
# defined FOLDER NAME: the number that the header gives.
defined() { sed -n "s/^#define [A-Z0-9]*_$2 \([0-9]*\).*/\1/p" "$1"/include/*.h; }
# at_most WHAT VALUE LIMIT
at_most() { awk "BEGIN {exit !($2 <= $3)}" || fail "$1 is $2, expected at most $3"; }
# npy FILE SHAPE VALUES writes an array of f32.
npy() {
    python3 - "$@" <<'PYTHON'
import struct, sys
file, shape, value = sys.argv[1:]
extents = [int(e) for e in shape.split(",")]
count = 1
for e in extents:
    count *= e
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }" % ", ".join(map(str, extents))
head = head.ljust(117) + "\n"
numbers = [float(value) if value != "row" else (i % 97) / 48 - 1 for i in range(count)]
with open(file, "wb") as out:
    out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%df" % count, *numbers))
PYTHON
}

check_refusals() {
    refuse "lenet5 is a network, which needs --for c99" lenet5 --int8 "$digits"
    refuse "[export] --int8 does nothing with ops" relu --for c99 --int8 "$digits"
    refuse "[export] --fold-norms does nothing with --int8, which folds and fuses" lenet5 --for c99 --int8 "$digits" --fold-norms
    refuse "[export] --unfused does nothing with --int8, which folds and fuses" lenet5 --for c99 --int8 "$digits" --unfused
    refuse "[export] --int8-rows does nothing without --int8" lenet5 --for c99 --int8-rows 3
    refuse "[export] --int8-io does nothing without --int8" lenet5 --for c99 --int8-io
    refuse "[export] --int8 names no data" lenet5 --for c99 --int8 ""
    refuse "--int8-rows" lenet5 --for c99 --int8 "$digits" --int8-rows 0
    refuse "[nowhere] has no folders train and test (or val)" lenet5 --for c99 --int8 nowhere
    refuse "nowhere.npy" lenet5 --for c99 --int8 nowhere.npy
    refuse "[lstm] reads texts, which have no integer form (--int8)" lstm --for c99 --int8 "$source_dir/docs"
    refuse "[transformer] reads texts, which have no integer form (--int8)" transformer --for c99 --int8 "$source_dir/docs"
    npy small.npy 3,1,28,28 row
    refuse "[lenet5] x.h is 28 in small.npy, expected 32 (--int8)" lenet5 --for c99 --int8 small.npy
    npy flat.npy 3,1024 row
    refuse "[lenet5] flat.npy is [3,1024] of rank 2, expected rank 4, as x[1,1,32,32] (--int8)" lenet5 --for c99 --int8 flat.npy
    npy none.npy 0,1,32,32 row
    refuse "[none.npy] has 0 rows, expected at least 1 (--int8)" lenet5 --for c99 --int8 none.npy
    npy few.npy 2,1,32,32 row
    refuse "[few.npy] has 2 rows, expected at least 4 (--int8)" lenet5 --for c99 --int8 few.npy --batch-size 4
    npy nan.npy 2,1,32,32 nan
    refuse "[lenet5] x is nan at element 0 for input 0 of the data (--int8)" lenet5 --for c99 --int8 nan.npy
    refuse "has no training rows for a batch of 5000 (--int8)" lenet5 --for c99 --int8 "$digits" --batch-size 5000
    mkdir -p empty/train empty/test
    refuse "[empty/train] there is neither" lenet5 --for c99 --int8 empty
}

check_lenet5() {
    "$halyard" train lenet5 --data "$digits" --epochs 60 --out trained >log
    "$halyard" export lenet5 --for c99 --weights trained --int8 "$digits" -o lenet5 >out
    cat out
    grep -qF "void lenet5(const float *x, float *y);" out || fail "no function"
    grep -q "^calibrated on 256 rows of" out || fail "no rows"
    at_most "bytes of arena" "$(defined lenet5 ARENA_BYTES)" 2048
    at_most "bytes of weights" "$(defined lenet5 CONSTANT_BYTES)" 64512
    grep -q "points gained" out || at_most "loss of accuracy" "$(sed -n 's/.* int8 .* %, \([0-9.]*\) points lost/\1/p' out)" 0.5
    at_most "bytes of code" "$(sed -n 's/^code: \([0-9]*\) bytes.*/\1/p' out)" 3072
    build_project lenet5
    [ "$(wc -l <lenet5/README.md)" -le 14 ] || fail "README.md is long"
    for level in -Os -O3; do
        compile lenet5 lenet5 $level
        ./a.out >out || fail "$(cat out)"
        grep -q "^ok: 80 results, 0 differ" out || fail "$(cat out)"
        needed="$(nm -u object.o | awk '{print $2}' | grep -vE '^(memcpy|memset)$' || true)"
        [ -z "$needed" ] || fail "lenet5 needs $needed"
        [ "$(nm --defined-only -g object.o | awk '{print $3}')" = lenet5 ] || fail "lenet5 shows $(nm --defined-only -g object.o)"
    done
    "$halyard" export lenet5 --for c99 --weights trained --int8 "$digits" --name lenet5 -o again >log
    diff -r lenet5/src again/src || fail "a second export differs"
    echo '#include "lenet5.h"' >user.c
    c++ -x c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -Ilenet5/include -fsyntax-only user.c
    # The exported test finds one wrong weight.
    sed -i '0,/^    -\{0,1\}[0-9]*,/s//    127,/' lenet5/src/lenet5_weights.h
    compile lenet5 lenet5 -O1
    if ./a.out >out; then fail "the exported test passes with wrong weights"; fi
    grep -q "^FAILED: 80 results" out || fail "$(cat out)"
}

# Integers at the interface, batches, rows of a file, initial weights, other machines.
check_forms() {
    npy rows.npy 9,1,32,32 row
    "$halyard" export lenet5 --for c99 --int8 rows.npy --int8-io --batch-size 4 --target ARM32M -o integers >out
    grep -q "^calibrated on 8 rows of rows.npy" out || fail "$(cat out)"
    grep -q "the weights are initial ones" out || fail "$(cat out)"
    if grep -q "^accuracy" out; then fail "accuracy without labels"; fi
    grep -qF "void lenet5(const int8_t *x, int8_t *y);" integers/include/lenet5.h || fail "no integers"
    grep -qE "^#define LENET5_X_SCALE 0\.0" integers/include/lenet5.h || fail "no scale"
    compile integers lenet5 -O1
    ./a.out | grep -q "^ok: 80 results, 0 differ" || fail "integers: wrong results"
    "$halyard" export lenet5 --for c99 --weights trained --int8 "$digits" --int8-rows 10 --batch-size 7 -o batch >out
    grep -q "^calibrated on 14 rows of" out || fail "$(cat out)"
    grep -q "^accuracy on 360 test rows" out || fail "$(cat out)"
    compile batch lenet5 -O1
    ./a.out | grep -q "^ok: 70 results, 0 differ" || fail "batch: wrong results"
    if command -v clang >/dev/null; then
        mkdir headers
        touch headers/math.h
        for machine in "armv7em-none-eabi -mcpu=cortex-m4" armv6m-none-eabi armv7a-linux-gnueabihf aarch64-linux-gnu; do
            # shellcheck disable=SC2086 # options are words
            clang --target=$machine -ffreestanding -Iheaders -Iintegers/include -std=c99 -Wall -Wextra -Werror -Os -c \
                integers/src/lenet5.c -o other.o || fail "$machine"
        done
    fi
}

check_mobilenetv2() {
    "$build_dir/bin/examples/make_images" photographs photographs 32 4 "$source_dir/data" >log
    "$halyard" train mobilenetv2 --data photographs --image-size 32 --batch-size 4 --epochs 2 --lr 0.01 --out trained >log
    "$halyard" export mobilenetv2 --for c99 --weights trained --int8 photographs -o mobilenetv2 >out
    cat out
    at_most "error" "$(sed -n 's/.*differ from those in f32 by \([0-9.e-]*\) %.*/\1/p' out)" 5
    at_most "bytes of arena" "$(defined mobilenetv2 ARENA_BYTES)" "$(($(awk '$1 == "f32" {print $3}' out) / 4))"
    compile mobilenetv2 mobilenetv2 -O1
    ./a.out >out || fail "$(cat out)"
    cat out
}

# One second of an accelerometer in 1 KB of memory, in f32 and in integers.
check_motion() {
    "$build_dir/bin/examples/make_motions" motions >log
    "$halyard" train motion --data motions --out trained >log 2>&1
    "$halyard" export motion --for c99 --weights trained --target ARM32M -o f32 >out
    cat out
    "$halyard" export motion --for c99 --weights trained --int8 motions --target ARM32M -o int8 >out
    cat out
    grep -q "points gained" out || at_most "loss of accuracy" "$(sed -n 's/.* int8 .* %, \([0-9.]*\) points lost/\1/p' out)" 0.5
    at_most "100 less the accuracy in f32" "$(sed -n 's/^accuracy on .* f32 \([0-9.]*\) %, int8.*/100 - \1/p' out)" 3
    for form in f32 int8; do
        at_most "bytes of arena in $form" "$(defined $form ARENA_BYTES)" 1024
        compile $form motion -Os -ffp-contract=off
        ./a.out >out || fail "$(cat out)"
        grep -q "^ok: .* results" out || fail "$(cat out)"
    done
    npy short.npy 3,3,49 row
    refuse "[motion] x.w is 49 in short.npy, expected 50 (--int8)" motion --for c99 --int8 short.npy
}

case "$3" in
    lenet5)
        check_refusals
        check_lenet5
        check_forms
        ;;
    mobilenetv2) check_mobilenetv2 ;;
    motion) check_motion ;;
esac
echo "$3: ok"
