#!/usr/bin/env bash
# Installs what the build needs and is missing: the distribution's packages (scripts/packages.txt) and the Halide SDK (a wheel, into
# .venv). Needs the network only when something is missing. Safe to run again at any time.
# scripts/setup.sh --packages TABLE: only installs the packages of another table.
# scripts/setup.sh --list [FILE]: only prints the packages for this system, or for the one that FILE, an os-release, describes.
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
table=scripts/packages.txt

# The column of scripts/packages.txt that this system has: "debian", "ubuntu-24.04", ...; the file stands for /etc/os-release.
distribution() {
    local release="$1" id="" version="" like=""
    [ -r "$release" ] || return 0
    # shellcheck disable=SC1090  # the file is the system's own
    read -r id version like < <(. "$release" && echo "${ID:-} ${VERSION_ID:--} ${ID_LIKE:-}")
    local name
    for name in "$id-$version" "$id" $like; do
        if packages_of "$name" >/dev/null; then
            echo "$name"
            return
        fi
    done
}

# packages_of NAME: that column, a name a line; fails where there is none.
packages_of() {
    awk -v name="$1" '
        /^#/ { next }
        !column { for (i = 1; i <= NF; i++) if ($i == name) column = i; if (!column) exit 1; next }
        $column != "-" { print $column }
    ' "$table"
}

# Prints those of the packages on standard input that are not installed.
missing_of() {
    local wanted
    mapfile -t wanted
    case "$1" in
        debian | ubuntu*)
            # A package of another architecture is wanted by its name and that: "libtbb-dev:arm64".
            { dpkg-query -W -f '${db:Status-Abbrev}${Package}\n${db:Status-Abbrev}${Package}:${Architecture}\n' "${wanted[@]}" 2>/dev/null || true; } |
                sed -n 's/^ii //p' | sort -u |
                comm -13 - <(printf '%s\n' "${wanted[@]}" | sort -u) ;;
        fedora)
            local package
            for package in "${wanted[@]}"; do rpm -q --whatprovides "$package" >/dev/null 2>&1 || echo "$package"; done ;;
        arch) pacman -T "${wanted[@]}" || true ;;
    esac
}

install_packages() {
    local system="$1" as_root=()
    shift
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || die "packages are missing and neither root nor sudo is here; ask an administrator for: $*"
        sudo -n true 2>/dev/null || [ -t 0 ] || die "sudo wants a password and there is no terminal; install once by hand: $*"
        as_root=(sudo)
    fi
    case "$system" in
        debian | ubuntu*)
            local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -o Acquire::Retries=3)
            local foreign
            foreign="$(printf '%s\n' "$@" | sed -n 's/.*://p' | sort -u)"
            [ -z "$foreign" ] || "${as_root[@]}" dpkg --add-architecture "$foreign"
            phase "apt-get update" "${apt[@]}" update || die "apt-get update failed; is the network there?"
            phase "apt-get install of $# packages" quietly "${apt[@]}" install -y --no-install-recommends "$@" || die "apt-get install failed" ;;
        fedora) phase "dnf install of $# packages" quietly "${as_root[@]}" dnf install -y -q "$@" || die "dnf install failed" ;;
        arch) phase "pacman install of $# packages" quietly "${as_root[@]}" pacman -Sy --noconfirm --needed "$@" || die "pacman failed" ;;
    esac
}

# The lines of scripts/requirements.txt that are needed: with HALIDE_ROOT all but Halide's own.
requirements() {
    grep -v '^#' scripts/requirements.txt | { if [ -n "${HALIDE_ROOT:-}" ]; then grep -v '^halide=='; else cat; fi; }
}

# Succeeds when .venv has every requirement in its version: a wheel's dist-info folder is named so, and pip writes its RECORD last.
requirements_here() {
    local requirement name
    for requirement in $(requirements); do
        name="${requirement%%==*}"
        compgen -G ".venv/lib/python3*/site-packages/${name//-/_}-${requirement##*==}.dist-info/RECORD" >/dev/null || return 1
    done
    [ -n "${HALIDE_ROOT:-}" ] || compgen -G ".venv/lib/python3*/site-packages/halide/include/Halide.h" >/dev/null
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

install_requirements() {
    local wanted
    wanted="$(requirements | tr '\n' ' ')"
    .venv/bin/python -m pip --version >/dev/null 2>&1 || phase "virtual environment .venv" make_venv || die "no python3 here can make a virtual environment"
    # shellcheck disable=SC2086  # one word per requirement
    phase "pip install of $wanted" .venv/bin/python -m pip install --quiet --no-deps --only-binary :all: --disable-pip-version-check \
        --no-warn-script-location --cache-dir "$HALYARD_CACHE/pip" $wanted || die "pip could not install $wanted; is the network there?"
    requirements_here || die "pip succeeded but .venv lacks some of: $wanted"
}

if [ "${1:-}" = --list ]; then
    system="$(distribution "${2:-/etc/os-release}")"
    [ -n "$system" ] || die "scripts/packages.txt has no column for ${2:-/etc/os-release}"
    packages_of "$system"
    exit
fi
only_packages=no
if [ "${1:-}" = --packages ] && [ $# = 2 ]; then
    table="$2" only_packages=yes
elif [ $# != 0 ]; then
    die "usage: scripts/setup.sh [--list [FILE] | --packages TABLE]"
fi

start="$EPOCHREALTIME"
system="$(distribution /etc/os-release)"
[ -n "$system" ] || [ "$only_packages" = no ] || die "$table has no column for this system; install by hand what Debian calls $(packages_of debian | tr '\n' ' ')"
[ -n "$system" ] || die "scripts/packages.txt has no column for this system; install the equivalents by hand and set HALIDE_ROOT"
[ "$system" = debian ] || say "set-up: the packages for $system are listed, but only Debian 12 is tested"
packages="$(packages_of "$system" | missing_of "$system")"
if [ -n "$packages" ]; then
    say "set-up: missing packages: $(tr '\n' ' ' <<<"$packages")"
    # shellcheck disable=SC2086  # one word per package
    install_packages "$system" $packages
fi
[ "$only_packages" = no ] || exit 0
[ -z "${HALIDE_ROOT:-}" ] || [ -e "$HALIDE_ROOT/include/Halide.h" ] || die "HALIDE_ROOT=$HALIDE_ROOT holds no include/Halide.h"
requirements_here || install_requirements
mkdir -p "$CCACHE_DIR" || die "cannot write $CCACHE_DIR; set XDG_CACHE_HOME to a folder that can be written"
say "set-up: everything is there ($(elapsed "$start"))"
