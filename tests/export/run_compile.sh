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

refuse_by compile "can't name a library" step.graph --name 9lives
"$build_dir/bin/examples/make_images" photographs photographs 32 4 "$source_dir/data" >out
"$halyard" graph mobilenetv2 --save dropout.graph --counts --data photographs --image-size 32 --batch-size 4 >out || fail "$(cat out)"
refuse_by compile "dropout_kernel draws random numbers, which a library has no generator of" dropout.graph
head -c 1000 step.graph >cut.graph
refuse_by compile "cut.graph" cut.graph
"$halyard" graph transformer --part forward --save texts.graph --counts --data "$source_dir/docs" >out || fail "$(cat out)"
refuse_by compile "[compile] TransformerModel: the step 'places_of' on the host can't be compiled" texts.graph

# A step that copies running statistics, and an optimiser that corrects the rate from step to step.
mkdir resnet_steps
"$eager" photographs 3 resnet_steps resnet18 || fail "eager_steps"
"$halyard" compile resnet_steps/step.graph -o resnet >out || fail "$(cat out)"
build_project resnet
grep -q 'numbers\[0\]: lr of conv1.weight, 0.00632455532 in the step that was saved' resnet/include/resnet.h || fail "$(grep numbers resnet/include/resnet.h)"
numbers="$(sed -n 's/^#define RESNET_NUMBERS //p' resnet/include/resnet.h)"
cc -std=c11 -O1 -Wall -Wextra -Wpedantic -Werror -Iresnet/include -DHEADER='"resnet.h"' "-DSTEP(word)=resnet_##word" "-DNUMBERS=$numbers" \
    "-DIMAGES=2 * 3 * 32 * 32" -DLABELS=2 "$source_dir/tests/export/compiled_steps.c" -Lresnet/build -lresnet -Wl,-rpath,"$PWD/resnet/build" \
    -o resnet_steps/run
resnet_steps/run resnet_steps/steps.bin resnet_steps/after.bin >out || fail "$(cat out)"
grep -qE "^ok: 3 steps, [12][0-9][0-9] tensors" out || fail "$(cat out)"
echo "compile: ok"
