#!/usr/bin/env bash
# Tests the package lists of scripts/setup.sh: every supported distribution has one, others are rejected. Usage: run_setup.sh SOURCE_DIR
set -euo pipefail
cd "$1"
release="$(mktemp)"
trap 'rm -f "$release"' EXIT
fail() { echo "setup: $*"; exit 1; }

# expect PACKAGE LINE... expects that an os-release with these lines gets a list with the package.
expect() {
    local package="$1"
    shift
    printf '%s\n' "$@" >"$release"
    scripts/setup.sh --list "$release" | grep -qxF "$package" || fail "no $package for: $*"
}
expect libjpeg62-turbo-dev 'ID=debian' 'VERSION_ID="12"'
expect libjpeg-turbo8-dev 'ID=ubuntu' 'VERSION_ID="22.04"' 'ID_LIKE=debian'
expect libjpeg-turbo8-dev 'ID=ubuntu' 'VERSION_ID="24.04"' 'ID_LIKE=debian'
expect gcc-c++ 'ID=fedora' 'VERSION_ID=41'
expect base-devel 'ID=arch'
expect base-devel 'ID=manjaro' 'ID_LIKE=arch'

printf 'ID=void\n' >"$release"
if scripts/setup.sh --list "$release" >/dev/null 2>&1; then fail "a system without a column was taken"; fi
if scripts/setup.sh --packages >/dev/null 2>&1; then fail "a table without a name was taken"; fi
if scripts/setup.sh --no-such-option >/dev/null 2>&1; then fail "an unknown option was taken"; fi
columns="$(awk '!/^#/ { print NF }' scripts/packages.txt | sort -u)"
[ "$columns" = 5 ] || fail "rows of scripts/packages.txt have these numbers of columns: $columns"
columns="$(awk '!/^#/ { print NF }' scripts/arm_packages.txt | sort -u)"
[ "$columns" = 3 ] || fail "rows of scripts/arm_packages.txt have these numbers of columns: $columns"
