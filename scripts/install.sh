#!/usr/bin/env bash
# scripts/install.sh [PREFIX]: copies what was built into build/release to PREFIX, /usr/local where none is given.
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
prefix="${1:-/usr/local}"
[ -x build/release/bin/halyard ] || die "build/release is not built; run: make build"

copy() { cmake --install build/release --prefix "$prefix" >/dev/null; }
phase "install into $prefix" copy
say "a project with an op of its own: $prefix/bin/halyard new NAME --project DIR"
