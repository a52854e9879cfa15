# What the tests of `halyard export` begin with. They source it with their own name and arguments: NAME BUILD_DIR SOURCE_DIR ...
# It changes to an empty folder, which is removed at the end.
set -euo pipefail
test_name="$1" build_dir="$2" source_dir="$3"
dir="$(mktemp -d "${TMPDIR:-/tmp}/halyard_${test_name}_test.XXXXXX")"
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export CCACHE_BASEDIR="$dir" CCACHE_NOHASHDIR=true
halyard="$build_dir/bin/halyard"
fail() { echo "$test_name: $*"; exit 1; }

# build_project FOLDER configures, builds and tests an exported project.
build_project() {
    (cd "$1" && cmake --workflow --preset all) >log 2>&1 || fail "$(cat log)"
    grep -q "100% tests passed, 0 tests failed out of 1" log || fail "$(cat log)"
}

# needs_only PATTERN LIBRARY expects that the library needs no other libraries than those of the pattern, lib(...).so.
needs_only() {
    local needed
    needed="$(readelf -d "$2" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE "^(libc|libm|ld-linux-x86-64$1)\.so\." || true)"
    [ -z "$needed" ] || fail "$2 needs $needed"
}
cpp_too='|libgcc_s|libstdc\+\+'  # for needs_only: the C++ library of the host

# symbols_of LIBRARY prints the symbols that it shows, in one line.
symbols_of() { nm -D --defined-only "$1" | awk '{print $3}' | sort | tr '\n' ' '; }

# has_short_readme FOLDER expects a README.md that is read at a glance.
has_short_readme() { [ "$(wc -l <"$1/README.md")" -le 12 ] || fail "README.md of $1 is long"; }

# spoil CASES replaces expected values and bounds at the end of a file of cases by NaN.
spoil() {
    python3 - "$1" <<'PY'
import sys
data = open(sys.argv[1], "rb").read()
open(sys.argv[1], "wb").write(data[:-4096] + b"\xff" * 4096)
PY
}

# refuse_by COMMAND TEXT argument... expects that `halyard COMMAND` fails with the text and writes nothing.
refuse_by() {
    local command="$1" text="$2" out
    shift 2
    if out="$("$halyard" "$command" "$@" -o refused 2>&1)"; then fail "$command $* succeeded"; fi
    [[ "$out" == *"$text"* ]] || fail "$command $* doesn't say '$text' but: $out"
    [ ! -e refused ] || fail "$command $* failed, and wrote something"
}
refuse() { refuse_by export "$@"; }

# make_new_project PLACE makes the project that `halyard new OP --project` writes, with the op soft_step, against the kit as it is
# installed, and sets new_project_kernels to the library for `halyard --kernels`.
make_new_project() {
    cmake --install "$build_dir" --prefix "$dir/kit" >/dev/null
    "$dir/kit/bin/halyard" new soft_step --project "$1" >log 2>&1 || fail "$(cat log)"
    HALYARD_ISAS=native cmake -S "$1" -B "$1/build" -G Ninja -DCMAKE_PREFIX_PATH="$dir/kit" >log 2>&1 || fail "$(cat log)"
    cmake --build "$1/build" --parallel 2 >log 2>&1 || fail "$(cat log)"
    new_project_kernels="$dir/$1/build/lib$1_kernels.so"
}
