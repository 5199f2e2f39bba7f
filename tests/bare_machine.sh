#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# bare_machine.sh SUITE: what a newcomer sees on a bare Debian of that SUITE (bookworm: 12, trixie: 13), in a
# root that debootstrap makes below build/: `make demo` from git and make alone, then the unit tests.
# Looks at what the packages wanted to start and at what is enabled afterwards. Prints a tally,
# "N passed, N failed". Skips with a word where it is not root, or debootstrap is refused.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
suite=${1:?bare_machine.sh SUITE, such as trixie}
root=$PWD/build/roots/$suite
passed=0 failed=0

skip() {
    echo "skipped: no root of $suite: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

check() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@"; then passed=$((passed + 1)) && echo "ok    $what ($SECONDS s)"; else
        failed=$((failed + 1)) && echo "FAIL  $what ($SECONDS s)"
    fi
}

inside() { # as somebody who has just logged in
    chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C sh -c "$1"
}

leave() {
    umount "$root/dev/shm" "$root/dev" "$root/proc" 2>/dev/null
}

[ "$(id -u)" = 0 ] || skip "this is not root"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
rm -rf "$root"
mkdir -p "$root"
trap leave EXIT
debootstrap --variant=minbase "$suite" "$root" >"$root.log" 2>&1 || skip "debootstrap: $(tail -n 1 "$root.log")"
if ! mount -t proc proc "$root/proc" || ! mount --bind /dev "$root/dev" || ! mount -t tmpfs shm "$root/dev/shm"; then
    skip "mount is refused"
fi
# Refuses to start services, as the one of install_packages.sh, and notes who asked.
printf '#!/bin/sh\necho "$@" >>/asked\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
check "git and make are installed" inside 'apt-get -q update && apt-get -q install -y --no-install-recommends git make >/dev/null'
mkdir "$root/vampire"
git ls-files -z | tar -c --null -T - | tar -x -C "$root/vampire"
units() { (cd "$root/etc" && find systemd/system rc[2-5S].d ! -name 'K*' -type l | sort); }
units >"$root.before"
began=$SECONDS
check "make demo" inside 'cd /vampire && make -j"$(nproc)" demo'
echo "      $((SECONDS - began)) s, packages included"
units >"$root.after"
check "no service was started" inside 'if [ -e /started ]; then cat /started; exit 1; fi'
check "no service is enabled that was not before" diff "$root.before" "$root.after"
[ ! -e "$root/asked" ] || sed 's/^/      policy-rc.d refused: /' "$root/asked"
# What the unit tests need besides; those of plug-ins need their libraries.
check "the rest is installed" inside 'cd /vampire && apt-get -q install -y --no-install-recommends libcmocka-dev python3-pytest munge \
    $(sed -n "s/^more  *\([^ ]*\).*/\1/p" packaging/packages) >/dev/null'
check "unit tests are built" inside 'cd /vampire && make -j"$(nproc)" all unit'
check "unit tests" inside 'cd /vampire && tests/run.py --only unit >/unit.log 2>&1; code=$?; grep -E "^FAIL" -A20 /unit.log; tail -n 1 /unit.log; exit $code'
tally=$(tail -n 1 "$root/unit.log" 2>/dev/null)
if [[ $tally =~ ^([0-9]+)\ passed ]]; then passed=$((passed + BASH_REMATCH[1] - 1)); fi
leave
[ -n "${KEEP_ROOT:-}" ] || [ $failed -gt 0 ] || rm -rf "$root"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
