#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# deb.sh DIRECTORY: makes Debian packages in DIRECTORY of this source, changes included, with
# debhelper and the files of packaging/debian, in a copy below build/deb. Prints their names. The
# same source in the same place gives the same bytes. DEBFULLNAME and DEBEMAIL name the maintainer.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
out=$(cd "$1" && pwd)
version=$(sh packaging/version.sh)
date=$(sh packaging/version.sh date)
maintainer="${DEBFULLNAME:-vampire maintainers} <${DEBEMAIL:-maintainers@vampire.invalid}>"

copy=$PWD/build/deb/vampire-$version
rm -rf build/deb
mkdir -p "$copy"
tar -cf - --exclude=./build --exclude=./.git --exclude='./demo-*' --exclude=__pycache__ . | tar -xf - -C "$copy"
cd "$copy"
printf '%s\n%s\n' "$version" "$date" >packaging/archived
mv packaging/debian debian
sed -i "s/^Maintainer: .*/Maintainer: $maintainer/" debian/control
{
    # The revision of a package that is not Debian's own, and older than it.
    printf 'vampire (%s-0vampire1) unstable; urgency=medium\n\n' "$version"
    printf '  * This version; changelog.gz has what is new.\n\n'
    printf ' -- %s  %s\n' "$maintainer" "$(LC_ALL=C date -u -R -d "@$date")"
} >debian/changelog

log=$copy/../build.log
# Not the variables of the make that calls this: MODE and B would reach the build.
env -u MAKEFLAGS -u MAKEOVERRIDES -u MFLAGS -u MAKELEVEL -u MODE -u B dpkg-buildpackage -us -uc -b >"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    echo "make deb: dpkg-buildpackage failed; build/deb/build.log has all it printed" >&2
    exit 1
}
for package in ../*.deb; do
    mv "$package" "$out"
    echo "$out/${package##*/}"
done
