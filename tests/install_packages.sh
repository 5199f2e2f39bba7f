#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs the packages of packaging/debian-packages that are missing.
#
#   tests/install_packages.sh [build] [test] [lint]      default: build test
#
# Needs Debian 12 and root or sudo. On other systems it prints the list and stops with exit code
# 2; SKIP_DEPS=1 skips everything for those who have installed the same by other means.
set -eu

list=$(dirname "$0")/../packaging/debian-packages
[ $# -gt 0 ] || set -- build test
[ "${SKIP_DEPS:-}" != 1 ] || exit 0

packages=
for group; do
    found=$(sed -n "s/^$group  *\([^ ]*\).*/\1/p" "$list")
    if [ -z "$found" ]; then
        echo "$0: there is no group of packages '$group'; it is one of build, test, lint" >&2
        exit 2
    fi
    packages="$packages $found"
done

stop() {
    echo "$1" >&2
    echo "The packages, with their names in Debian 12:" >&2
    echo "$2" | tr -s ' ' '\n' | sed '/^$/d; s/^/  /' >&2
    echo "When they are there, SKIP_DEPS=1 skips this step: make check SKIP_DEPS=1" >&2
    exit 2
}

system=$(. /etc/os-release 2>/dev/null && echo "${ID:-unknown} ${VERSION_ID:-}") || system=unknown
[ "$system" = "debian 12" ] ||
    stop "This system is '$system'; packages are only installed on Debian 12." "$packages"

missing=
for package in $packages; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=
    [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

sudo=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 ||
        stop "Packages are missing and this is neither root nor is there sudo." "$missing"
    sudo=sudo
fi
echo "Installing with apt-get:$missing"
$sudo apt-get -q update
$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing
