#!/usr/bin/env bash
# Makes random calls of an exported library (library_fuzz.c). With the archive of a run time that is compiled with a sanitizer, the
# library and its caller are, too. Usage: run_library_fuzz.sh BUILD_DIR SOURCE_DIR CALLS [SANITIZED_RUNTIME]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" library_fuzz "$@"
calls="$3" runtime="${4:-}"
seed="${HALYARD_FUZZ_SEED:-1}"
# Ops of every form, with attributes, with several inputs and outputs, with integers, and with random numbers.
ops="add select relu gelu softmax layer_norm_kernel matmul dense_kernel conv2d conv2d_bias_clamp avg_pool2d max_pool2d reduce_sum reduce_max
 argmax cumsum one_hot gather_kernel gather_elements_kernel scatter_kernel cast momentum_ adam_
 dropout_kernel normal_kernel lstm_gates attention_kernel resize_kernel batch_norm_planes quantize_kernel sparse_softmax_cross_entropy"
# A build with a sanitizer exports no composites.
[ ! -e "$build_dir/share/halyard/export/lib/compositions.a" ] || ops+=" layer_norm dense rms_norm"
known="$("$halyard" ops --all | awk '{print $1}')"
chosen=()
for op in $ops; do
    grep -qx "$op" <<<"$known" || fail "no op $op"
    chosen+=("$op")
done
"$halyard" export "${chosen[@]}" -o fuzzed >out 2>&1 || fail "$(cat out)"

flags=""
if [ -n "$runtime" ]; then
    flags="-fsanitize=address,undefined -fno-sanitize-recover=all"
    cp "$runtime" fuzzed/lib/runtime.a
fi
cmake -S fuzzed -B fuzzed/build -G Ninja -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" >log 2>&1 || fail "$(cat log)"
cmake --build fuzzed/build --target fuzzed >log 2>&1 || fail "$(cat log)"
# shellcheck disable=SC2086  # several flags
cc -std=c11 -O1 -g -Wall -Wextra -Wpedantic -Werror $flags -Ifuzzed/include -DHY_HEADER='"fuzzed.h"' "$source_dir/tests/export/library_fuzz.c" \
    -o library_fuzz -Lfuzzed/build -lfuzzed -Wl,-rpath,"$dir/fuzzed/build"
./library_fuzz fuzzed/test/cases.bin "$calls" "$seed"
