#!/usr/bin/env bash
# Tests `halyard compile`: LeNet-5's training step as a library trains with the bits of training op by op, needs no Halide and starts
# no process. Usage: run_compile.sh BUILD_DIR SOURCE_DIR EAGER_STEPS
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" compile "$@"
eager="$3"

"$eager" "$source_dir/data/digits/28/train" 60 . || fail "eager_steps"
"$halyard" compile step.graph -o lenet5 >out || fail "$(cat out)"
grep -qF "8 numbers of a step" out || fail "$(cat out)"
build_project lenet5
library="$PWD/lenet5/build/liblenet5.so"
cc -std=c11 -Wall -Wextra -Wpedantic -Werror -Ilenet5/include "$source_dir/examples/compiled/train.c" -o train -Llenet5/build -llenet5 \
    "-Wl,-rpath,$PWD/lenet5/build"
cc -Wall -Wextra -Werror "$source_dir/tests/export/no_children.c" -o no_children
if (./no_children /bin/sh -c '/bin/true; /bin/true') 2>/dev/null; then fail "no_children lets a shell make processes"; fi

needed="$(ldd train "$library" | grep -v ':$' | sed 's/=> .*\/.*//' | grep -iE 'halide|LLVM|stdc|libhalyard|not found' || true)"
[ -z "$needed" ] || fail "needs $needed"
for isa in "" baseline; do
    if [ -n "$isa" ]; then
        export HALYARD_ISA="$isa"
        mkdir baseline_steps
        "$eager" "$source_dir/data/digits/28/train" 5 baseline_steps || fail "eager_steps"
    fi
    from="${isa:+baseline_steps/}"
    ./no_children ./train "${from}steps.bin" "${from}after.bin" >out 2>&1 || fail "$isa: $(cat out)"
    grep -q "16 tensors are equal" out || fail "$(cat out)"
    [ -n "$isa" ] || grep -q "^60 steps" out || fail "$(cat out)"
done

unset HALYARD_ISA

refuse_by compile "can't name a library" step.graph --name 9lives
head -c 1000 step.graph >cut.graph
refuse_by compile "cut.graph" cut.graph
refuse_by compile "the step 'first_in_order' on the host can't be compiled" sorted.graph

# Places that a run computes are checked when they are there.
"$halyard" compile chosen.graph -o chosen >out || fail "$(cat out)"
build_project chosen
cc -std=c11 -Wall -Wextra -Wpedantic -Werror -Ichosen/include "$source_dir/tests/export/chosen.c" -o choose -Lchosen/build -lchosen \
    "-Wl,-rpath,$PWD/chosen/build"
./choose >out || fail "chosen: $(cat out)"

# Trains three steps op by op and with the compiled first of them, and compares.
# Usage: train_compiled NETWORK DATA FLAGS_OF_C [DTYPE]
train_compiled() {
    local network="$1" data="$2" flags="$3" dtype="${4:-}" numbers
    mkdir "${network}_steps"
    "$eager" "$data" 3 "${network}_steps" "$network" $dtype || fail "eager_steps $network"
    "$halyard" compile "${network}_steps/step.graph" -o "$network" >out || fail "$(cat out)"
    build_project "$network"
    numbers="$(sed -n "s/^#define ${network^^}_NUMBERS //p" "$network/include/$network.h")"
    cc -std=c11 -O1 -Wall -Wextra -Wpedantic -Werror "-I$network/include" "-DHEADER=\"$network.h\"" "-DSTEP(word)=${network}_##word" \
        "-DNUMBERS=$numbers" $flags "$source_dir/tests/export/compiled_steps.c" "-L$network/build" "-l$network" \
        "-Wl,-rpath,$PWD/$network/build" -o "${network}_steps/run"
    "${network}_steps/run" "${network}_steps/steps.bin" "${network}_steps/after.bin" >out || fail "$network: $(cat out)"
    grep -qE "^ok: 3 steps, [1-9][0-9]+ tensors" out || fail "$network: $(cat out)"
}

"$build_dir/bin/examples/make_images" photographs photographs 32 4 "$source_dir/data" >out
images="-DX=float -DINPUTS=2*3*32*32 -DLABELS=2 -DY=float"
# Running statistics are copied, and an optimiser corrects the rate from step to step.
train_compiled resnet18 photographs "$images"
grep -q 'numbers\[0\]: lr of conv1.weight, 0.00632455532 in the step that was saved' resnet18/include/resnet18.h ||
    fail "$(grep numbers resnet18/include/resnet18.h)"
# Dropout draws random numbers.
train_compiled mobilenetv2 photographs "$images -DRANDOM"
# Embeddings check indices, and bf16 is converted.
train_compiled transformer "$source_dir/docs" "-DX=int32_t -DINPUTS=2*32 -DLABELS=2*32 -DY=uint16_t -DRANDOM -DCHECKS_LABELS" bf16
echo "compile: ok"
