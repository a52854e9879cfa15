#!/usr/bin/env bash
# Installs what the build needs and is missing: Debian packages (scripts/apt.txt) and the Halide SDK (a wheel, into .venv).
# Needs the network only when something is missing. Safe to run again at any time.
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

missing_packages() {
    command -v dpkg-query >/dev/null || die "this set-up knows Debian and Ubuntu only; install the equivalents of scripts/apt.txt by hand and set HALIDE_ROOT"
    mapfile -t wanted < <(grep -v '^#' scripts/apt.txt)
    { dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' "${wanted[@]}" 2>/dev/null || true; } | sed -n 's/^ii //p' | sort -u |
        comm -13 - <(printf '%s\n' "${wanted[@]}" | sort -u)
}

install_packages() {
    local as_root=()
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || die "packages are missing and neither root nor sudo is here; ask an administrator for: apt-get install $*"
        sudo -n true 2>/dev/null || [ -t 0 ] || die "sudo wants a password and there is no terminal; run once by hand: sudo apt-get install $*"
        as_root=(sudo)
    fi
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -o Acquire::Retries=3)
    phase "apt-get update" "${apt[@]}" update || die "apt-get update failed; is the network there?"
    phase "apt-get install of $# packages" quietly "${apt[@]}" install -y --no-install-recommends "$@" || die "apt-get install failed"
}

# Shows what a talkative command printed only when it fails.
quietly() {
    local log
    log="$(mktemp)"
    if ! "$@" >"$log" 2>&1; then
        tail -n 40 "$log" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}

# The wheel's version is the name of its dist-info folder, which pip writes last.
halide_here() {
    local version
    version="$(sed -n 's/^halide==//p' scripts/requirements.txt)"
    compgen -G ".venv/lib/python3*/site-packages/halide-$version.dist-info/RECORD" >/dev/null &&
        compgen -G ".venv/lib/python3*/site-packages/halide/include/Halide.h" >/dev/null
}

# Debian's own python3 first: another one that comes earlier on PATH may lack venv or ensurepip.
make_venv() {
    local python
    for python in /usr/bin/python3 python3; do
        rm -rf .venv
        if quietly "$python" -m venv .venv && .venv/bin/python -m pip --version >/dev/null 2>&1; then
            return 0
        fi
        say "$python cannot make a virtual environment, trying the next one"
    done
    rm -rf .venv
    return 1
}

install_halide() {
    .venv/bin/python -m pip --version >/dev/null 2>&1 || phase "virtual environment .venv" make_venv || die "no python3 here can make a virtual environment"
    phase "pip install of $(grep -v '^#' scripts/requirements.txt | tr '\n' ' ')" .venv/bin/python -m pip install --quiet --no-deps \
        --only-binary :all: --disable-pip-version-check --no-warn-script-location --cache-dir "$HALYARD_CACHE/pip" -r scripts/requirements.txt ||
        die "pip could not install scripts/requirements.txt; is the network there?"
    halide_here || die "pip succeeded but .venv holds no Halide SDK"
}

start="$EPOCHREALTIME"
packages="$(missing_packages)"
if [ -n "$packages" ]; then
    say "set-up: missing packages: $(tr '\n' ' ' <<<"$packages")"
    # shellcheck disable=SC2086  # one word per package
    install_packages $packages
fi
if [ -n "${HALIDE_ROOT:-}" ]; then
    [ -e "$HALIDE_ROOT/include/Halide.h" ] || die "HALIDE_ROOT=$HALIDE_ROOT holds no include/Halide.h"
elif ! halide_here; then
    install_halide
fi
mkdir -p "$CCACHE_DIR" || die "cannot write $CCACHE_DIR; set XDG_CACHE_HOME to a folder that can be written"
say "set-up: everything is there ($(elapsed "$start"))"
