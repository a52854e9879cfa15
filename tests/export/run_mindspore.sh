#!/usr/bin/env bash
# Tests `halyard export --for mindspore`: writes three libraries of operators, the third of an op of a new project, builds them, and runs
# their own tests and calls of the first two.
# Usage: run_mindspore.sh BUILD_DIR SOURCE_DIR LIBRARY_WITH_BIAS_GELU PYTHON_WITH_MINDSPORE
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" mindspore "$@"
kernels="$3" python="$4"

if "$halyard" export relu --for mindspore --name mindspore -o refused >out 2>&1; then fail "--name mindspore"; fi
grep -q "is a name of the host's own" out || fail "$(cat out)"

"$halyard" export relu softmax conv2d max_pool2d layer_norm dense matmul gelu -o first --for mindspore --python "$python" >out
"$halyard" --kernels "$kernels" export bias_gelu relu -o second --for mindspore --python "$python" >>out
make_new_project shop
"$halyard" --kernels "$new_project_kernels" export soft_step -o third --for mindspore --python "$python" >>out
for name in first second third; do
    build_project "$name"
    has_short_readme "$name"
    library="$name/build/lib$name.so"
    needs_only "$cpp_too" "$library"
    shown="$(symbols_of "$library" | tr ' ' '\n' | grep -vE '^(hy_find|hy_infer|hy_release|op_.*|)$' || true)"
    [ -z "$shown" ] || fail "$library shows $shown"
done
"$python" "$source_dir/tests/export/mindspore_host.py" "$dir/first" "$dir/second" "$source_dir/tests/goldens" || fail "a call is wrong"

# The exported test finds wrong results.
spoil first/test/cases.bin
if "$python" first/test/test.py first >out 2>&1; then fail "the exported test passes with wrong expected values"; fi
grep -q "^FAILED: .* samples, .* 1 failed" out || fail "$(tail -3 out)"
echo "mindspore: ok"
