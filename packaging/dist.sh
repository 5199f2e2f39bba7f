#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dist.sh DIRECTORY: packs the commit that is checked out into DIRECTORY/vampire-VERSION.tar.gz.
# The same commit gives the same bytes. Changes that are not committed are left out, and said.
set -eu
cd "$(dirname "$0")/.."
directory=$1

if [ ! -e .git ]; then
    echo "make dist: this is no git checkout; an archive is made of a commit" >&2
    exit 2
fi
if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
    echo "make dist: the archive is of the commit; changes since then are not in it" >&2
fi
version=$(sh packaging/version.sh commit)
name=vampire-$version
archive=$directory/$name.tar.gz
mkdir -p "$directory"
# Not the user's settings, and no name or time in what gzip writes.
git -c tar.umask=0022 -c core.autocrlf=false archive --format=tar --prefix="$name/" \
    --add-virtual-file="$name/packaging/archived:$version
$(sh packaging/version.sh date)
" HEAD >"$archive.tar"
gzip -9 -n <"$archive.tar" >"$archive.new"
rm "$archive.tar"
mv "$archive.new" "$archive"
echo "$archive"
