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

# refuse_by COMMAND TEXT argument... expects that `halyard COMMAND` fails with the text and writes nothing.
refuse_by() {
    local command="$1" text="$2" out
    shift 2
    if out="$("$halyard" "$command" "$@" -o refused 2>&1)"; then fail "$command $* succeeded"; fi
    [[ "$out" == *"$text"* ]] || fail "$command $* doesn't say '$text' but: $out"
    [ ! -e refused ] || fail "$command $* failed, and wrote something"
}
refuse() { refuse_by export "$@"; }
