#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# bare_machine.sh SUITE: what a newcomer sees on a bare Debian of that SUITE (bookworm: 12, trixie: 13), in a
# root that debootstrap makes below build/: `make demo` from git and make alone, a workflow over shared
# memory, then the unit tests, OTLP to the server of 13, and an installation. Looks at what the packages
# wanted to start, at what runs and at what is enabled afterwards. Prints a tally, "N passed, N failed".
# Skips with a word where it can neither be root nor make such a root. KEEP_ROOT=1 keeps it, as a
# failure does.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
suite=${1:?bare_machine.sh SUITE, such as trixie}
root=$(pwd -P)/build/roots/$suite
passed=0 failed=0 skipped=0
# Debian 12's VictoriaMetrics has no OTLP.
otlp=$([ "$suite" = bookworm ] || echo victoria-metrics python3-pytest python3-protobuf)

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

units() { # what starts with the system
    (cd "$root/etc" && find systemd/system rc[2-5S].d ! -name 'K*' -type l | sort)
}

nothing_runs() {
    local process
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/root")" != "$root" ] || { tr '\0' ' ' <"$process/cmdline" && return 1; }
    done
}

remove() {
    umount "$root/dev/shm" "$root/dev/pts" "$root/dev" "$root/proc" 2>/dev/null
    [ "$1" = keep ] || rm -rf --one-file-system "$root"
}

mkdir -p build/roots
if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null || skip "this is not root"
    exec sudo -n KEEP_ROOT="${KEEP_ROOT:-}" bash tests/bare_machine.sh "$@"
fi
# In a mount namespace of its own: however this script ends, the host's /dev is not left mounted below
# build/, where removing the folder would remove the devices.
if [ -z "${OWN_MOUNTS:-}" ]; then
    unshare --mount --propagation private true || skip "a mount namespace is refused"
    OWN_MOUNTS=1 exec unshare --mount --propagation private bash tests/bare_machine.sh "$@"
fi
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
remove old
trap 'remove keep' EXIT
debootstrap --variant=minbase "$suite" "$root" >"$root.log" 2>&1 || skip "debootstrap: $(tail -n 1 "$root.log")"
if ! mount -t proc proc "$root/proc" || ! mount --bind /dev "$root/dev" || ! mount -t tmpfs shm "$root/dev/shm"; then
    skip "mount is refused"
fi
mount --bind /dev/pts "$root/dev/pts" # apt's log, where there are terminals
# Refuses to start services, as the one of install_packages.sh, and notes who asked.
printf '#!/bin/sh\necho "$@" >>/asked\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
check "git and make are installed" inside 'apt-get -q update && apt-get -q install -y --no-install-recommends git make >/dev/null'
mkdir "$root/vampire"
git ls-files -z | tar -c --null -T - | tar -x -C "$root/vampire"
units >"$root.before"
began=$SECONDS
check "make demo" inside 'cd /vampire && make -j"$(nproc)" demo >/demo.log 2>&1; code=$?; cat /demo.log; exit $code'
echo "      $((SECONDS - began)) s, packages included"
check "no warning of this compiler" inside '! grep "warning: " /demo.log'
check "make demo, shared memory" inside 'cd /vampire && make demo DEMO_OPTIONS="--seconds 3 --provider shm"'
# What the unit tests need besides; those of plug-ins need their libraries.
check "the rest is installed" inside "cd /vampire && sh tests/install_packages.sh more unit $otlp >/dev/null"
check "no service runs" nothing_runs
units >"$root.after"
check "no service is enabled that was not before" diff "$root.before" "$root.after"
[ ! -e "$root/asked" ] || sed 's/^/      policy-rc.d refused: /' "$root/asked"
check "unit tests are built" inside 'cd /vampire && make -j"$(nproc)" all unit'
check "unit tests" inside 'cd /vampire && tests/run.py --only unit >/unit.log 2>&1; code=$?; grep "^FAIL" -A20 /unit.log; grep -B1 "^          " /unit.log; tail -n 1 /unit.log; exit $code'
if [[ $(tail -n 1 "$root/unit.log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2])) skipped=${BASH_REMATCH[4]:-0}
fi
[ -z "$otlp" ] || check "OTLP to a real server" inside 'cd /vampire &&
    python3 -m pytest -q tests/e2e/test_otlp.py -k victoria >/otlp.log 2>&1; tail -n 25 /otlp.log; grep -q "^1 passed" /otlp.log'
check "make install, import vampire, plug-ins" inside 'cd /vampire && make install >/install.log && cd / && python3 -c "import vampire" &&
    /usr/local/bin/vampire --version | grep "^plug-in" && ! /usr/local/bin/vampire --version | grep "^plug-in.*not available"'
[ -n "${KEEP_ROOT:-}" ] || [ $failed -gt 0 ] || remove all
echo "$passed passed, $failed failed$([ "$skipped" = 0 ] || echo ", $skipped skipped")"
[ $failed -eq 0 ]
