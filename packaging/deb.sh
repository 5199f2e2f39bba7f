#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# deb.sh TREE DIRECTORY: makes Debian packages in DIRECTORY of what `make install PREFIX=/usr
# DESTDIR=TREE` has put into TREE, and empties TREE: a file that no package takes is an error.
# Prints their names. Needs dpkg-dev (part of build-essential); neither root nor debhelper. The
# same build gives the same bytes. DEBFULLNAME and DEBEMAIL name the maintainer, as for Debian's
# own tools.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
tree=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)

version=$(sh "$source/packaging/version.sh")
SOURCE_DATE_EPOCH=$(sh "$source/packaging/version.sh" date)
export SOURCE_DATE_EPOCH
machine=$(dpkg --print-architecture)
maintainer="${DEBFULLNAME:-vampire maintainers} <${DEBEMAIL:-vampire@localhost.localdomain}>"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What is the same in all packages.
{
    echo "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
    echo "Upstream-Name: vampire"
    echo
    echo "Files: *"
    echo "Copyright: $(sed -n 's/^Copyright (c) //p' "$source/LICENSE")"
    echo "License: BSD-3-Clause"
    sed -e '1,/^All rights reserved/d' "$source/LICENSE" | sed -e '/./,$!d' -e 's/^$/./' -e 's/^/ /'
} >"$work/copyright"
{
    printf 'vampire (%s) unstable; urgency=medium\n\n' "$version"
    printf '  * Built from the commit %s.\n\n' "$(sh "$source/packaging/version.sh")"
    printf ' -- %s  %s\n' "$maintainer" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")"
} | gzip -9 -n >"$work/changelog.gz"

# take ROOT PATTERN...: moves what exists below TREE into the package.
take() {
    root=$1
    shift
    for pattern; do
        for path in "$tree"/$pattern; do
            [ -e "$path" ] || [ -L "$path" ] || continue
            below=${path#"$tree"/}
            mkdir -p "$root/$(dirname "$below")"
            mv "$path" "$root/$below"
        done
    done
}

# The packages of the shared libraries that these programs need.
libraries() {
    [ $# -gt 0 ] || return 0
    mkdir -p "$work/shlibs/debian"
    printf 'Source: vampire\n\nPackage: vampire\nArchitecture: any\n' >"$work/shlibs/debian/control"
    (cd "$work/shlibs" && dpkg-shlibdeps -O --ignore-missing-info --warnings=0 "$@") |
        sed -n 's/^shlibs:Depends=//p'
}

# Programs and libraries without symbols, texts compressed, as Debian has them.
finish_files() {
    root=$1
    find "$root" -type f -path '*/share/man/*' -exec gzip -9 -n {} +
    for program in "$root"/usr/bin/*; do
        if [ -f "$program" ] && ! head -c 2 "$program" | grep -q '^#!'; then
            strip --remove-section=.comment --remove-section=.note "$program"
        fi
    done
    for library in "$root"/usr/lib/*.so.* "$root"/usr/lib/vampire/*.so; do
        [ ! -f "$library" ] || {
            strip --remove-section=.comment --remove-section=.note --strip-unneeded "$library"
            chmod 644 "$library"
        }
    done
    find "$root" -type d -exec chmod 755 {} +
}

# package NAME ARCHITECTURE SECTION; the other fields of its control file come from standard
# input, with @LIBRARIES@ and @VERSION@.
package() {
    name=$1 architecture=$2 section=$3 root=$work/$1
    mkdir -p "$root/DEBIAN" "$root/usr/share/doc/$name"
    finish_files "$root"
    cp "$work/copyright" "$root/usr/share/doc/$name/copyright"
    cp "$work/changelog.gz" "$root/usr/share/doc/$name/changelog.gz"
    chmod 644 "$root/usr/share/doc/$name/"*
    needed=
    if [ "$architecture" != all ]; then
        set --
        for file in "$root"/usr/bin/* "$root"/usr/lib/*.so.* "$root"/usr/lib/vampire/*.so; do
            [ ! -f "$file" ] || set -- "$@" "$file"
        done
        needed=$(libraries "$@")
    fi
    {
        echo "Package: $name"
        echo "Source: vampire"
        echo "Version: $version"
        echo "Architecture: $architecture"
        echo "Maintainer: $maintainer"
        echo "Section: $section"
        echo "Priority: optional"
        echo "Installed-Size: $(find "$root" -path "$root/DEBIAN" -prune -o -type f -printf '%s\n' |
            awk '{ kib += int(($1 + 1023) / 1024) } END { print kib }')"
        sed -e "s/@LIBRARIES@/$needed/" -e "s/@VERSION@/$version/"
    } >"$root/DEBIAN/control"
    (cd "$root" && find . -path ./DEBIAN -prune -o -type f -printf '%P\n' | LC_ALL=C sort |
        xargs -d '\n' md5sum) >"$root/DEBIAN/md5sums"
    chmod 644 "$root/DEBIAN/"*
    file=$out/${name}_${version}_$architecture.deb
    dpkg-deb --root-owner-group --uniform-compression -Zxz --build "$root" "$file" >/dev/null
    echo "$file"
}

# ---- which file goes where: who only looks, or only reads files, needs little

take "$work/vampire-top" usr/bin/vampire-top 'usr/share/man/man1/vampire-top.1' \
    usr/share/bash-completion/completions/vampire-top
take "$work/vampire-report" usr/bin/vampire-report 'usr/share/man/man1/vampire-report.1' \
    usr/share/vampire/notebooks
take "$work/python3-vampire" usr/lib/python3
take "$work/libmaestro-vampire" 'usr/include' 'usr/lib/*.so*' 'usr/lib/pkgconfig'
rm -f "$tree/usr/share/doc/vampire/LICENSE" # copyright says it
take "$work/vampire" 'usr/bin/*' 'usr/share/man/man*/*' 'usr/share/bash-completion/completions/*' \
    'usr/share/zsh/*/*' 'usr/share/fish/*/*' \
    'usr/share/vampire/*' 'usr/share/doc/vampire/*' 'usr/lib/systemd/*/*.service' usr/lib/vampire

left=$(find "$tree" ! -type d)
if [ -n "$left" ]; then
    echo "make deb: no package takes these files; say in $0 which one does:" >&2
    echo "$left" >&2
    exit 1
fi

package vampire "$machine" science <<'END'
Depends: @LIBRARIES@
Recommends: vampire-top, vampire-report, python3-vampire
Suggests: bash-completion, munge
Description: telemetry of HPC workflows that are coupled by Maestro
 vampire joins a running workflow as a normal component, subscribes to the
 events of the pool, and counts them: operations and bytes a second, waits,
 transports from source to sink, losses. It writes HDF5 files with
 time-bucketed histograms, JSON lines, and recordings of the events.
 .
 This package has the program, its manuals, and a pool manager.
END

package vampire-top "$machine" science <<'END'
Depends: @LIBRARIES@
Enhances: vampire
Description: live view of what vampire sees, in a terminal
 vampire-top reads the JSON lines of a running vampire from a file, a FIFO or
 a socket, and shows operations, bytes, waits and losses of the workflow. It
 works in a terminal of 80 by 24, and as plain text in a pipe.
END

package vampire-report all science <<'END'
Depends: python3:any, python3-vampire (= @VERSION@), python3-matplotlib
Enhances: vampire
Suggests: jupyter-notebook
Description: reports and notebooks of what vampire wrote
 vampire-report makes one self-contained HTML page with tables and pictures
 of vampire's HDF5 files, plain text or CSV, of one run or of what differs
 between two. A notebook for a first look at a run is part of it.
END

package python3-vampire all python <<'END'
Depends: python3:any, python3-h5py, python3-numpy, python3-pandas, python3-xarray
Recommends: python3-matplotlib
Enhances: vampire
Description: reads what vampire wrote, for Python
 The Python package vampire reads vampire's HDF5 files of any format: one
 file, the files of a run, several runs, also while they are written.
 Quantiles, sums, rates and tidy tables need little memory however large the
 files are; xarray opens them with the engine "vampire".
END

mkdir -p "$work/libmaestro-vampire/DEBIAN"
echo 'activate-noawait ldconfig' >"$work/libmaestro-vampire/DEBIAN/triggers"
echo 'libmaestro 0 libmaestro-vampire (>= 0~)' >"$work/libmaestro-vampire/DEBIAN/shlibs"
package libmaestro-vampire "$machine" libdevel <<'END'
Depends: @LIBRARIES@
Description: vampire's embedded Maestro as a library
 A small implementation of Maestro Core's public interface, for components
 that talk to the pool manager of the package vampire: the shared library, its
 header and the file for pkg-config. It does not talk to upstream's processes.
END
