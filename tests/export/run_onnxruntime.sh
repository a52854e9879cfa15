#!/usr/bin/env bash
# Tests `halyard export --for onnxruntime`: writes two libraries of custom ops, builds them, runs their own tests and sessions with nodes of
# both, and loads one in a host that is too old. Usage: run_onnxruntime.sh BUILD_DIR SOURCE_DIR LIBRARY_WITH_BIAS_GELU PYTHON_WITH_ONNXRUNTIME
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" onnxruntime "$@"
kernels="$3" python="$4"

"$python" -c 'import onnxruntime' || fail "$python has no onnxruntime; scripts/setup.sh installs it"
if "$halyard" export relu --for onnxruntime --name onnxruntime -o refused >out 2>&1; then fail "--name onnxruntime"; fi
grep -q "is a name of the host's own" out || fail "$(cat out)"
if "$halyard" export relu --for onnxruntime --python "$dir/nowhere" -o refused >out 2>&1; then fail "--python nowhere"; fi
[ ! -e refused ] || fail "wrote something"

"$halyard" export relu softmax conv2d layer_norm dense matmul gelu cast reduce_sum -o first --for onnxruntime --python "$python" >out
"$halyard" --kernels "$kernels" export bias_gelu relu -o second --for onnxruntime --python "$python" >>out
for name in first second; do
    build_project "$name"
    has_short_readme "$name"
    library="$name/build/lib$name.so"
    needs_only "$cpp_too" "$library"
    shown="$(symbols_of "$library")"
    [ "$shown" = "RegisterCustomOps " ] || fail "$library shows $shown"
done
"$python" "$source_dir/tests/export/onnxruntime_host.py" "$dir/first/test" "$dir/first/build/libfirst.so" "$dir/second/build/libsecond.so" ||
    fail "a session is wrong"

# The exported test finds wrong results.
spoil first/test/cases.bin
if "$python" first/test/test.py first/build/libfirst.so >out; then fail "the exported test passes with wrong expected values"; fi
grep -q "^FAILED: .* samples, 1 failed" out || fail "$(cat out)"

cc -std=c11 -Wall -Wextra -Wpedantic -Werror "$source_dir/tests/export/old_host.c" -o old_host -ldl
said="$(./old_host "$dir/first/build/libfirst.so")"
[ "$said" = "1 [first] needs ONNX Runtime 1.16 or later, this is 1.9.1" ] || fail "an old host is told: $said"
echo "onnxruntime: ok"
