#!/usr/bin/env bash
# scripts/lint.sh check|format-check|format|tidy: the rules that a script can check.
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

# The project's C++ files, separated by NUL; a file deleted but not yet committed is left out.
sources() {
    git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cpp' "$@" |
        while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done
}

# Versions differ in taste: Debian 12's decides.
formatter="$(command -v clang-format-14 || echo clang-format)"
format_differs() { sources | xargs -0 -r "$formatter" --dry-run --Werror; }
format_write() { sources | xargs -0 -r "$formatter" -i; }

# Only sources that the build compiles have flags to analyse them with. The flags are g++'s: clang may not know them all.
tidy_all() {
    [ -e build/release/build.ninja ] || die "build/release is not configured; run: make build"
    # The build joins sources (HALYARD_UNITY): their own flags are those of a build that doesn't, with this one's generated headers.
    phase "flags of each source" quietly cmake --preset release -B build/tidy -DHALYARD_UNITY=OFF
    local database=build/tidy/flags/compile_commands.json
    mkdir -p build/tidy/flags
    sed "s|$ROOT/build/tidy|$ROOT/build/release|g" build/tidy/compile_commands.json >"$database"
    sources ':!:*.h' |
        while IFS= read -r -d '' file; do ! grep -qF "/$file\"" "$database" || printf '%s\0' "$file"; done |
        xargs -0 -r -n1 -P "$(jobs)" clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option -p build/tidy/flags
}

case "${1:-check}" in
    check)
        status=0
        phase "include direction, sizes, generated files" python3 scripts/check_includes.py || status=1
        phase "formatting" format_differs || status=1
        exit "$status" ;;
    format-check) format_differs ;;
    format) phase "clang-format" format_write ;;
    tidy) phase "clang-tidy" tidy_all ;;
    *) die "usage: scripts/lint.sh check|format-check|format|tidy" ;;
esac
