#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What version this source is, on one line:
#
#   version.sh          as programs show it: of the commit, with "-dirty" after changes
#   version.sh commit   of the commit alone: what `make dist` packs
#   version.sh debian   as Debian orders it: tags as they are, commits without a tag by their date
#   version.sh date     seconds since 1970 of the commit
#
# A source archive has all of it in its file VERSION, and no git; that file goes first, because
# an archive may have been unpacked inside another project's checkout.
set -eu
cd "$(dirname "$0")/.."

if [ -f VERSION ]; then
    version=$(sed -n 1p VERSION)
    date=$(sed -n 2p VERSION)
else
    version=$(git describe --always --dirty --tags 2>/dev/null) || version=unknown
    date=$(git log -1 --format=%ct 2>/dev/null) || date=
fi
date=${date:-0}

case ${1:-} in
'') echo "$version" ;;
commit) echo "${version%-dirty}" ;;
date) echo "$date" ;;
debian)
    case $version in
    v[0-9]*) echo "${version#v}" ;;
    [0-9]*.*) echo "$version" ;;
    *) echo "0~$(date -u -d "@$date" +%Y%m%d.%H%M%S).$version" ;;
    esac | sed 's/-/+/g' # a hyphen would begin Debian's own revision
    ;;
*)
    echo "$0: there is no '$1'; it is nothing, commit, date or debian" >&2
    exit 2
    ;;
esac
