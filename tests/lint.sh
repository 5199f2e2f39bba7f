#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Format, clang-tidy, cppcheck, dependency direction, sizes and expressions of our own C files. Reports
# what is wrong and exits with 1 if anything is. Arguments: names of steps (format structure expressions
# cppcheck tidy); default: all. LINT_FILES limits format and tidy to these files. With
# LINT_TIDY=changed clang-tidy, which takes most of the time, checks only files that commits of the last
# day or uncommitted changes touch.
set -u
cd "$(dirname "$0")/.."

jobs=$(nproc)
failed=
# In a source archive there is no git to ask; nothing but sources is in it, and build/.
if [ -e .git ]; then
    files=$(git ls-files -co --exclude-standard '*.c' '*.h' | while read -r f; do [ -f "$f" ] && echo "$f"; done)
else
    files=$(find . -path ./build -prune -o -name '*.[ch]' -printf '%P\n' | sort)
fi
files=${LINT_FILES:-$files}
sources=$(echo "$files" | tr ' ' '\n' | grep '\.c$')
wanted=${*:-format structure expressions cppcheck tidy}

step() {
    name=$1
    shift
    case " $wanted " in *" $name "*) ;; *) return ;; esac
    began=$(date +%s)
    if "$@"; then
        echo "lint: $name: clean ($(($(date +%s) - began)) s)"
    else
        echo "lint: $name: see above ($(($(date +%s) - began)) s)"
        failed="$failed $name"
    fi
}

need() {
    command -v "$1" >/dev/null 2>&1 && return
    echo "lint: $1 is missing; sh tests/install_packages.sh lint installs it" >&2
    exit 2
}

# The flags of the Makefile that matter to a parser; -isystem keeps third parties' warnings out.
includes() {
    printf '%s ' -I. -Ibuild/gen -Ibuild/release/gen -idirafter maestro
    pkg-config --cflags libfabric openssl libprotobuf-c yaml-0.1 libpcre2-8 uuid hdf5-serial jansson cmocka libmicrohttpd libcurl libnats |
        sed 's/-I/-isystem /g'
}

format() {
    need clang-format-14
    echo "$files" | xargs clang-format-14 --dry-run -Werror
}

tidy() {
    need clang-tidy-14
    make -s build/gen/event.pb-c.h build/gen/pool.pb-c.h build/gen/telemetry.pb-c.h build/gen/otlp.pb-c.h build/release/gen/maestro_probe.h || return 1
    checked=$sources
    [ "${LINT_TIDY:-all}" = all ] || checked=$(echo "$sources" | tr ' ' '\n' | grep -Fx "$(changed_files)")
    # Tests run under the sanitizers and are not analyzed. Tests of seeds are the fuzz targets with a main.
    code=0
    echo "$checked" | grep -v '^tests/' | tidy_files '' || code=1
    echo "$checked" | grep '^tests/' | grep -v '_seeds_test\.c$' | tidy_files '-clang-analyzer-*' || code=1
    return $code
}

# In a source archive, which has no history, every file.
changed_files() {
    [ -e .git ] || { echo "$files"; return; }
    day_before=$(($(git log -1 --format=%ct) - 86400))
    git log --since="@$day_before" --name-only --format=
    git diff --name-only HEAD
}

# Fewer files at a time than there are, so that all processors stay busy to the end. $1: checks besides
# those of .clang-tidy, or without.
tidy_files() {
    xargs -r -P "$jobs" -n 4 sh -c \
        'flags=$1 checks=$2; shift 2
        clang-tidy-14 --quiet --checks="$checks" "$@" -- -std=c17 -D_GNU_SOURCE $flags 2>/dev/null' \
        sh "$(includes)" "$1"
}

check_cpp() {
    need cppcheck
    echo "$sources" | xargs cppcheck -j "$jobs" --quiet --std=c11 --language=c \
        --enable=warning,portability,performance --inline-suppr --error-exitcode=1 \
        --suppress=missingInclude --suppress=unknownMacro \
        --suppress=internalAstError --suppress=pointerSize \
        --template='{file}:{line}: {id}: {message}' -D_GNU_SOURCE -I.
}

step format format
step structure /usr/bin/python3 tests/lint_structure.py
step expressions /usr/bin/python3 tests/lint_expressions.py
step cppcheck check_cpp
step tidy tidy
if [ -n "$failed" ]; then
    echo "lint: not clean:$failed"
    exit 1
fi
echo "lint: clean"
