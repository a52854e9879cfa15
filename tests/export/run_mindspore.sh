#!/usr/bin/env bash
# Tests `halyard export --for mindspore`: writes two libraries of operators, builds them, and runs their own tests and calls of both.
# Usage: run_mindspore.sh BUILD_DIR SOURCE_DIR LIBRARY_WITH_BIAS_GELU PYTHON_WITH_MINDSPORE
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" mindspore "$@"
kernels="$3" python="$4"

if "$halyard" export relu --for mindspore --name mindspore -o refused >out 2>&1; then fail "--name mindspore"; fi
grep -q "is a name of the host's own" out || fail "$(cat out)"

"$halyard" export relu softmax conv2d max_pool2d layer_norm dense matmul gelu -o first --for mindspore --python "$python" >out
"$halyard" --kernels "$kernels" export bias_gelu relu -o second --for mindspore --python "$python" >>out
for name in first second; do
    build_project "$name"
    [ "$(wc -l <"$name/README.md")" -le 12 ] || fail "README.md of $name is long"
    library="$name/build/lib$name.so"
    needed="$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|libgcc_s|libstdc\+\+|ld-linux-x86-64)\.so\.' || true)"
    [ -z "$needed" ] || fail "$library needs $needed"
    shown="$(nm -D --defined-only "$library" | awk '{print $3}' | grep -vE '^(hy_find|hy_infer|hy_release|op_.*)$' || true)"
    [ -z "$shown" ] || fail "$library shows $shown"
done
"$python" "$source_dir/tests/export/mindspore_host.py" "$dir/first" "$dir/second" "$source_dir/tests/goldens" || fail "a call is wrong"

# The exported test finds wrong results.
"$python" - first/test/cases.bin <<'PY'
import sys
data = open(sys.argv[1], "rb").read()
open(sys.argv[1], "wb").write(data[:-4096] + b"\xff" * 4096)  # expected values and bounds are NaN
PY
if "$python" first/test/test.py first >out 2>&1; then fail "the exported test passes with wrong expected values"; fi
grep -q "^FAILED: .* samples, .* 1 failed" out || fail "$(tail -3 out)"
echo "mindspore: ok"
