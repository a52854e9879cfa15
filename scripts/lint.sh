#!/usr/bin/env bash
# scripts/lint.sh check|format|tidy: the rules that a script can check.
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

sources() { git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cpp' "$@"; }

format_differs() { sources | xargs -0 -r clang-format --dry-run --Werror; }
format_write() { sources | xargs -0 -r clang-format -i; }

# Only sources that the build compiles have flags to analyse them with.
tidy_all() {
    [ -e build/release/compile_commands.json ] || die "build/release is not configured; run: make build"
    sources ':!:*.h' | xargs -0 -r -n1 -I{} sh -c 'grep -q "/{}\"" build/release/compile_commands.json && printf "%s\0" "{}" || true' |
        xargs -0 -r -n1 -P "$(jobs)" clang-tidy --quiet -p build/release
}

case "${1:-check}" in
    check)
        status=0
        phase "include direction, sizes, generated files" python3 scripts/check_includes.py || status=1
        phase "formatting" format_differs || status=1
        exit "$status" ;;
    format) phase "clang-format" format_write ;;
    tidy) phase "clang-tidy" tidy_all ;;
    *) die "usage: scripts/lint.sh check|format|tidy" ;;
esac
