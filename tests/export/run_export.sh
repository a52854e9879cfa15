#!/usr/bin/env bash
# Tests `halyard export`: writes two libraries, builds them and runs their own tests, looks at what they need and show, opens both in
# one process, and expects refusals that write nothing. Usage:
# run_export.sh BUILD_DIR SOURCE_DIR LIBRARY_WITH_BIAS_GELU
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" export "$@"
kernels="$3"

composed="can't be exported: it is composed of other ops, and"
refuse "[sort] $composed it sorts on the host" relu sort
refuse "[dropout] $composed it draws random numbers" dropout
refuse "[batch_norm] $composed it writes its inputs" batch_norm
refuse "[transpose] $composed its results' shapes are no formula of its signature" transpose
refuse "[concat] can't be exported" concat
refuse "no such op; did you mean relu" rellu
refuse "--python has no effect on --for c" relu --python python3
refuse "'9lives' can't name a library" relu --name 9lives
refuse "'test' is a target of CMake's own" relu --name test
for host in c onnxruntime torch; do
    for name in c m; do refuse "'$name' would make lib$name" relu --for "$host" --name "$name"; done
done
mkdir full
touch full/file
if "$halyard" export relu -o full >out 2>&1; then fail "wrote into a folder that isn't empty"; fi
grep -q "isn't an empty folder" out || fail "$(cat out)"
[ "$(ls full)" = file ] || fail "wrote into a folder that isn't empty"

# An export takes from the kernel cache what the build compiled. The sanitizers' builds have no generators of their own.
generator="$build_dir/gen/gen_band_kernel"
if [ -x "$generator" ]; then
    mkdir cache built
    XDG_CACHE_HOME="$dir/cache" "$generator" --out built --name band_kernel --no-gpu >log 2>&1 || fail "$(cat log)"
    ls cache/halyard/kernels >made
    [ -s made ] || fail "the generator left nothing in the kernel cache"
    XDG_CACHE_HOME="$dir/cache" "$halyard" export band_kernel -o band >log 2>&1 || fail "$(cat log)"
    ls cache/halyard/kernels | diff made - >log || fail "export compiled kernels that the build has made: $(cat log)"
fi

"$halyard" export relu softmax -o first >out
"$halyard" export layer_norm dense matmul -o second >>out

functions="hy_call hy_find hy_gradient hy_infer hy_inputs hy_name hy_names hy_outputs hy_release hy_set_parallel_for hy_signature"
functions+=" hy_tensor_name hy_version"
for name in first second; do
    header="$name/include/$name.h"
    echo "#include \"$header\"" >user.c
    cc -std=c11 -Wall -Wextra -Wpedantic -Werror -I. -fsyntax-only user.c
    c++ -x c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -I. -fsyntax-only user.c
    build_project "$name"
    library="$name/build/lib$name.so"
    needs_only "" "$library"
    shown="$(symbols_of "$library")"
    [ "$shown" = "$functions " ] || fail "$library shows $shown"
done

# The example of the documentation.
sed -n '/^```c$/,/^```$/p' "$source_dir/docs/export.md" | sed '1d;$d' >example.c
cc -std=c11 -Wall -Wextra -Werror -Ifirst/include -c example.c

# The exported test finds wrong results and a file that is cut off.
cp first/test/cases.bin wrong.bin
spoil wrong.bin
head -c "$(($(wc -c <first/test/cases.bin) / 2))" first/test/cases.bin >half.bin
for file in half wrong; do
    if first/build/first_test $file.bin >out 2>&1; then fail "the exported test passes with $file.bin"; fi
done
grep -q "^FAILED: .* samples, 1 failed" out || fail "wrong.bin: $(cat out)"

cc -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$source_dir/tools/export/project" "$source_dir/tests/export/host.c" -o host -ldl -lpthread -lm
[ "$(./host first/build/libfirst.so second/build/libsecond.so)" = ok ] ||
    fail "$(./host first/build/libfirst.so second/build/libsecond.so 2>&1 || true)"
HALYARD_ISA=baseline first/build/first_test first/test/cases.bin >out || fail "baseline: $(cat out)"
python3 -c "import ctypes; [ctypes.CDLL(f'{name}/build/lib{name}.so') for name in ('first', 'second')]"

# An op of another project, next to one of the kit.
"$halyard" --kernels "$kernels" export bias_gelu relu --name both -o third >out
build_project third
echo "export: ok"
