#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# libraries.sh DIRECTORY: the Debian packages with the shared libraries of the programs and plug-ins
# in DIRECTORY, one a line; what an image needs besides them.
set -eu
find "$1" -type f \( -path '*/bin/*' -o -name '*.so*' \) -exec ldd {} + 2>/dev/null |
    sed -n 's|.*=> \(/[^ ]*\) .*|\1|p' | sort -u | while read -r library; do
    # Debian's list has the path before or after /lib became a link to /usr/lib.
    file=$(readlink -f "$library")
    dpkg-query -S "$file" "${file#/usr}" 2>/dev/null || true
done | sed 's/:.*//' | sort -u
