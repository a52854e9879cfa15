#!/usr/bin/env bash
# scripts/package.sh: packs what was built into build/release as packages/halyard_VERSION_ARCHITECTURE.deb and .tar.gz.
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
[ -x build/release/bin/halyard ] || die "build/release is not built; run: make build"

pack() { cpack --config build/release/CPackConfig.cmake -B build/release/packages >build/release/cpack.log 2>&1; }
phase "pack build/release" pack || { tail -n 20 build/release/cpack.log >&2; die "cpack failed"; }
for package in build/release/packages/*.deb build/release/packages/*.tar.gz; do
    say "$package ($(du -h "$package" | cut -f1))"
done
