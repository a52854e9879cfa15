#!/usr/bin/env bash
# Tests `halyard export --for torch`: writes three libraries of operators, the third of an op of a new project, builds them, runs their own
# tests and calls of all, and the lines of README.md. Usage: run_torch.sh BUILD_DIR SOURCE_DIR LIBRARY_WITH_BIAS_GELU PYTHON_WITH_TORCH
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" torch "$@"
kernels="$3" python="$4"

if "$halyard" export relu --for torch --name aten -o refused >out 2>&1; then fail "--name aten"; fi
grep -q "is a name of the host's own" out || fail "$(cat out)"

"$halyard" export relu softmax conv2d layer_norm dense matmul gelu cast reduce_sum -o first --for torch --python "$python" >out
"$halyard" --kernels "$kernels" export bias_gelu relu -o second --for torch --python "$python" >>out
make_new_project shop
"$halyard" --kernels "$new_project_kernels" export soft_step -o third --for torch --python "$python" >>out
for name in first second third; do
    build_project "$name"
    has_short_readme "$name"
    shown="$(symbols_of "$name/build/lib$name.so")"
    [ -z "$shown" ] || fail "lib$name.so shows $shown"
done
"$python" "$source_dir/tests/export/torch_host.py" first/build/libfirst.so second/build/libsecond.so third/build/libthird.so || fail "a call is wrong"

# A Python without PyTorch, and the lines of README.md.
if cmake -S first -B none -DPYTHON=/bin/false >log 2>&1; then fail "built for a Python without torch"; fi
grep -q "can't import torch; -DPYTHON=PATH names a Python that can" log || fail "$(cat log)"
mkdir bin
ln -s "$halyard" bin/halyard
printf '#!/bin/sh\nexec "%s" "$@"\n' "$python" >bin/python3
chmod +x bin/python3
sed -n '/^```bash$/,/^```$/p' "$source_dir/README.md" | sed '1d;$d' >example.sh
[ "$(wc -l <example.sh)" = 5 ] || fail "README.md has other lines: $(cat example.sh)"
PATH="$dir/bin:$PATH" bash -euo pipefail example.sh >log 2>&1 || fail "README.md: $(cat log)"
tail -2 log | grep -q "^tensor(\[\[" || tail -2 log | grep -q "\]\])" || fail "README.md: $(cat log)"
echo "torch: ok"
