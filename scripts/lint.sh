#!/usr/bin/env bash
# scripts/lint.sh check|format-check|format|tidy|tidy-changed: the rules that a script can check.
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

# Writes the flags of each source alone, which clang-tidy needs: the build joins sources (HALYARD_UNITY), and the flags are g++'s, some of
# which clang lacks; nor can clang read g++'s precompiled headers. Generated headers are those of build/release.
tidy_flags() {
    [ -e build/release/build.ninja ] || die "build/release is not configured; run: make build"
    phase "flags of each source" quietly cmake --preset release -B build/tidy -DHALYARD_UNITY=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
    mkdir -p build/tidy/flags
    sed -E "s|$ROOT/build/tidy|$ROOT/build/release|g; s| -mmemset-strategy=[^ ]+||g" build/tidy/compile_commands.json >build/tidy/flags/compile_commands.json
}

# Reads names separated by NUL and keeps those that the build compiles.
compiled() {
    while IFS= read -r -d '' file; do ! grep -qF "/$file\"" build/tidy/flags/compile_commands.json || printf '%s\0' "$file"; done
}
tidy() { xargs -0 -r -n1 -P "$(jobs)" clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option -p build/tidy/flags; }

tidy_all() {
    tidy_flags
    sources ':!:*.h' | compiled | tidy
}

# The sources that the last commit changed, at most 24 of them: a check of what is being worked on, not of everything.
tidy_changed() {
    tidy_flags
    { git diff -z --name-only --diff-filter=d HEAD~1 -- '*.cpp' 2>/dev/null || true; } | compiled | head -z -n 24 | tidy
}

case "${1:-check}" in
    check)
        status=0
        phase "include direction, sizes, generated files" python3 scripts/check_includes.py || status=1
        phase "formatting" format_differs || status=1
        phase "long and complex functions, comma statements" .venv/bin/python scripts/complexity.py || status=1
        exit "$status" ;;
    format-check) format_differs ;;
    format) phase "clang-format" format_write ;;
    tidy) phase "clang-tidy" tidy_all ;;
    tidy-changed) phase "clang-tidy of what the last commit changed" tidy_changed ;;
    *) die "usage: scripts/lint.sh check|format-check|format|tidy|tidy-changed" ;;
esac
