# SPDX-License-Identifier: MIT
# Sourced by the commands of tests and examples: how they speak, and what they need of a
# fresh Debian 12.

# What a compiler run needs, whatever is built.
BUILD_PACKAGES=(gcc libc6-dev cmake ninja-build pkg-config liburing-dev libmsgpack-dev
    libjansson-dev)

say() { printf '==> %s\n' "$*"; }

die() {
    printf '%s: %s\n' "$0" "$*" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

is_installed() {
    case $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true) in
        installed) return 0 ;;
    esac
    return 1
}

# need PACKAGE...: installs those that are missing. Touches neither the network
# nor the package lists when nothing is.
need() {
    command -v dpkg-query >/dev/null ||
        die "this is not a Debian system (no dpkg-query); install by hand: $*"
    local package missing=()
    for package in "$@"; do
        is_installed "$package" || missing+=("$package")
    done
    if [ ${#missing[@]} -eq 0 ]; then
        say "every package it needs is installed"
        return
    fi
    say "installing: ${missing[*]}"
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        die "these packages are missing and need root to install, and there is no sudo;" \
            "run as root: apt-get install ${missing[*]}"
    fi
    as_root apt-get -qq update
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null
}

# lacks COMMAND PACKAGE: PACKAGE, unless COMMAND is there, however it was installed.
lacks() {
    command -v "$1" >/dev/null || printf '%s\n' "$2"
}

# build PRESET FOLDER [CMAKE-OPTION...] [--target=TARGET]...: configures and builds FOLDER,
# all of it or the targets, quietly unless it fails. Must be called from the top of the
# tree.
build() {
    local preset=$1 folder=$2 log=$2/run.log options=() targets=()
    shift 2
    while [ $# -gt 0 ]; do
        case $1 in
            --target=*) targets+=("$1") ;;
            *) options+=("$1") ;;
        esac
        shift
    done
    say "building preset $preset in $folder"
    mkdir -p "$folder"
    if ! { cmake --preset "$preset" -B "$folder" "${options[@]}" &&
        cmake --build "$folder" -j "$(nproc)" "${targets[@]}"; } >"$log" 2>&1; then
        grep -nE -m 40 'FAILED|error:|CMake Error' "$log" >&2 || true
        tail -n 40 "$log" >&2
        die "building preset $preset failed; the whole output is in $log"
    fi
}

# at_once COUNT COMMAND ARG...: runs COMMAND with each ARG, COUNT of them at a time. Fails
# if one did, after all have run.
at_once() {
    local count=$1 command=$2 running=0 status=0 arg
    shift 2
    for arg in "$@"; do
        if [ "$running" -ge "$count" ]; then
            wait -n || status=1
            running=$((running - 1))
        fi
        "$command" "$arg" &
        running=$((running + 1))
    done
    while [ "$running" -gt 0 ]; do
        wait -n || status=1
        running=$((running - 1))
    done
    return "$status"
}
