#!/usr/bin/env bash
# Tests `halyard export --for c99`: writes projects of functions for one call each, builds them with C's compiler alone, runs their own
# tests, and expects refusals that write nothing. Usage: run_c99.sh BUILD_DIR SOURCE_DIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" c99 "$@"

refuse "[gather] no C99 function: step places_of runs on the host" relu gather --for c99
refuse "[dropout] no C99 function: it draws random numbers" dropout --for c99
refuse "[concat] can't be exported" concat --for c99
refuse "no such op; did you mean relu" rellu --for c99
refuse "--shape does nothing with --for c" relu --for c --shape "d0=1 d1=1 d2=4"
refuse "has no effect on --for c99" relu --for c99 --python python3
refuse "[softmax] no kernels for i8" softmax --for c99 --dtype i8
refuse "--shape is given 2 times, expected at most once for each of 1 ops" relu --for c99 -s "d0=1 d1=1 d2=4" -s "d0=1 d1=1 d2=4"
refuse "'n=2' doesn't say c" softmax --for c99 --shape "n=2"
refuse "expected at most 4194304" relu --for c99 --shape "d0=64 d1=1024 d2=1024"
refuse "the call computes nothing" relu --for c99 --shape "d0=0 d1=1 d2=4"
refuse "'n=3 c=100 axis=0' isn't a problem of the op's reference" softmax --for c99 --shape "n=3 c=100 axis=0"
mkdir full
touch full/file
if "$halyard" export relu --for c99 -o full >out 2>&1; then fail "wrote into a folder that isn't empty"; fi
grep -q "isn't an empty folder" out || fail "$(cat out)"

"$halyard" export softmax conv2d layer_norm gelu matmul batch_norm --for c99 -o first >out
grep -qF "void first_softmax(const float *x, float *y);" out || fail "$(cat out)"
"$halyard" export softmax softmax relu --for c99 --dtype f16 -s "n=8 c=10" -s "n=3 c=100" -o second >>out
for name in first second; do
    build_project "$name"
    [ "$(wc -l <"$name/README.md")" -le 12 ] || fail "README.md of $name is long"
    echo "#include \"$name.h\"" >user.c
    cc -std=c99 -Wall -Wextra -Wpedantic -Werror "-I$name/include" -fsyntax-only user.c
    c++ -x c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror "-I$name/include" -fsyntax-only user.c
    cc -std=c99 -Wall -Wextra -Wpedantic -Werror -O2 "-I$name/include" -c "$name/src/$name.c" -o object.o
    # It needs functions of C's mathematics only, and shows its own.
    needed="$(nm -u object.o | awk '{print $2}' | grep -vE '^(erfcf?|expf?|frexp|ldexp|memcpy|memset|rint|sqrtf?)$' || true)"
    [ -z "$needed" ] || fail "$name needs $needed"
    shown="$(nm --defined-only -g object.o | awk '{print $3}' | grep -v "^${name}_" || true)"
    [ -z "$shown" ] || fail "$name shows $shown"
    if grep -n '\$\|malloc' "$name/src/$name.c"; then fail "$name isn't plain C99"; fi
done

# The exported test finds a wrong result.
sed -i '0,/_expected\[[0-9]*\] = {/s//&\n    123.0,/;s/_expected\[\([0-9]*\)\] = {/_expected[\1 + 1] = {/' first/test/test.c
cc -std=c99 -Ifirst/include first/test/test.c first/src/first.c -o wrong -lm
if ./wrong >out; then fail "the exported test passes with wrong expected values"; fi
grep -q "^FAILED: 6 functions" out || fail "$(cat out)"
echo "c99: ok"
