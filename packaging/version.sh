#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Prints the version of this source on one line:
#
#   version.sh          the version
#   version.sh commit   the version without ".dirty": of the commit, which is what `make dist` packs
#   version.sh date     the time of the commit in seconds since 1970
#
# The release number is in the file VERSION. A commit that has the tag v0.9.0 is 0.9.0; any other is
# 0.9.0+N.HASH, N commits after VERSION changed (N is left out in a shallow clone, which cannot count
# them), with ".dirty" after changes that are not committed. This is a semantic version, and one
# that Debian and Python accept and order by N.
#
# A source archive has no git: there the two lines of packaging/archived are the version and the
# date. Without both, the version is the release number and the date that of the file VERSION.
set -eu
cd "$(dirname "$0")/.."

release=$(sed 1q VERSION)
version=$release
date=
if [ -f packaging/archived ]; then
    version=$(sed -n 1p packaging/archived)
    date=$(sed -n 2p packaging/archived)
elif [ -e .git ] && commit=$(git describe --always --dirty --exclude='*' 2>/dev/null); then
    date=$(git log -1 --format=%ct)
    tag=$(git describe --tags --exact-match --match "v$release" 2>/dev/null) || tag=
    count=
    [ "$(git rev-parse --is-shallow-repository)" = true ] ||
        count=$(git rev-list --count "$(git log -1 --format=%H -- VERSION)..HEAD").
    case $tag$commit in
    v*-dirty) version=$release+dirty ;;
    v*) ;;
    *-dirty) version=$release+$count${commit%-dirty}.dirty ;;
    *) version=$release+$count$commit ;;
    esac
fi

case ${1:-} in
'') echo "$version" ;;
commit) echo "$version" | sed 's/[.+]dirty$//' ;;
date) echo "${date:-$(date -r VERSION +%s)}" ;;
*)
    echo "$0: there is no '$1'; it is nothing, commit or date" >&2
    exit 2
    ;;
esac
