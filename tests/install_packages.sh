#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs the packages of packaging/packages that are missing, and says before what and how large.
#
#   tests/install_packages.sh [GROUP or PACKAGE of it]...      default: build read
#
# Needs Debian 12 or 13 and root or sudo. Elsewhere it prints what an administrator has to type and
# stops with exit code 2; SKIP_DEPS=1 skips everything for those who have the same by other means.
# No service of these packages is started, and none is left enabled: tests start the servers they need.
set -eu

list=$(dirname "$0")/../packaging/packages
[ $# -gt 0 ] || set -- build read
[ "${SKIP_DEPS:-}" != 1 ] || exit 0

packages=
for group; do
    found=$(sed -n -e "s/^$group  *\([^ ]*\).*/\1/p" -e "s/^[a-z][a-z]*  *\($group\)\( .*\)*$/\1/p" "$list")
    if [ -z "$found" ]; then
        echo "$0: there is no group of packages '$group', nor such a package in one; a group is one of build, more, read, unit, test, docs, lint" >&2
        exit 2
    fi
    packages="$packages $found"
done

missing=
for package in $packages; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=
    [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

stop() {
    {
        echo "$1"
        echo "An administrator of Debian or Ubuntu types:"
        echo
        echo "  apt-get install --no-install-recommends$missing"
        echo
        echo "Names in other systems are in packaging/packages. Then SKIP_DEPS=1 skips this step:"
        echo "make demo SKIP_DEPS=1"
    } >&2
    exit 2
}

# shellcheck disable=SC1091 # not of this project
system=$(. /etc/os-release 2>/dev/null && echo "${ID:-unknown} ${VERSION_ID:-}") || system=unknown
case $system in
"debian 12" | "debian 13") ;;
*) stop "This system is '$system'; packages are only installed on Debian 12 and 13." ;;
esac
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 || stop "Packages are missing and this is neither root nor is there sudo."
    exec sudo sh "$0" "$@"
fi
export DEBIAN_FRONTEND=noninteractive LC_ALL=C

# invoke-rc.d asks policy-rc.d whether it may start a service: 101 is no.
policy=/usr/sbin/policy-rc.d
kept=
restore() {
    if [ -n "$kept" ]; then mv "$kept" $policy; else rm -f $policy; fi
}
if ! { [ -x $policy ] && { $policy any start >/dev/null 2>&1 || [ $? = 101 ]; }; }; then
    [ ! -e $policy ] || { kept=$policy.before-vampire && mv $policy "$kept"; }
    trap restore EXIT
    trap 'exit 1' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod 755 $policy
fi

# What starts with the system, by systemd or by init scripts.
enabled() {
    find /etc/systemd/system -path '*.wants/*' -type l 2>/dev/null | sed 's|.*/||'
    find /etc/rc[2-5S].d -name 'S*' 2>/dev/null | sed 's|.*/S[0-9]*||'
}

apt-get -q update
echo "Of the packages that this needs ($*),$(echo "$missing" | wc -w) are not installed. apt-get says:"
# shellcheck disable=SC2086 # a list
apt-get install --assume-no --no-install-recommends $missing 2>/dev/null |
    grep -E '^[0-9]+ upgraded|^Need to get|^After this' | sed 's/^/  /' || true
before=$(enabled | sort -u)
# shellcheck disable=SC2086
apt-get -q install -y --no-install-recommends $missing
for name in $(enabled | sort -u); do
    echo "$before" | grep -qxF "$name" && continue
    [ "$name" = x11-common ] && what="which another package brought along" || what="which vampire's tests start themselves when they need it"
    case $name in
    *.*) deb-systemd-helper disable "$name" >/dev/null 2>&1 || true ;;
    *) update-rc.d "$name" disable >/dev/null 2>&1 || true ;;
    esac
    echo "not enabled: $name, $what"
done
