#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Detects the features of the selected <maestro.h> and writes them as a C header for
# vampire/live/maestro_fields.c and session.c. Test programs are compiled, but not linked or run.
#
#   sh maestro_probe.sh OUTPUT CC [CFLAGS...]
#
# For each feature NAME the header defines VAMP_MSTRO_HAS_NAME as 1 if it is available, else as 0.
# For each event kind it defines VAMP_MSTRO_KIND_<kind> (0: no such kind), and the accessors
# VAMP_MSTRO_APPID_<kind>(e) and VAMP_MSTRO_NAME_<kind>(e), which are meaningful only if
# VAMP_MSTRO_HAS_APPID_<kind> and VAMP_MSTRO_HAS_NAME_<kind> are 1. For each field in
# vampire/core/event/fields.def that has an entry for maestro.h it defines
# VAMP_MSTRO_GIVES_<symbol>(e), which is true if the event has the field, and
# VAMP_MSTRO_VALUE_<symbol>(e).
set -eu

if [ $# -lt 2 ]; then
    echo "usage: $0 OUTPUT CC [CFLAGS...]" >&2
    exit 2
fi
output=$1
compiler=$2
shift 2
flags=$* # the compiler's command and flags are words without blanks, as in every Makefile
messages=$output.messages
mkdir -p "$(dirname "$output")"
trap 'rm -f "$messages" "$output.new"' EXIT

# $1: statements that compile only if the feature is available; they may use `event`.
compiles() {
    # shellcheck disable=SC2086
    printf '%s\n' '#include <stdbool.h>' '#include <stdint.h>' '#include <maestro.h>' \
        'void probe(struct mstro_pool_event_ *event);' \
        'void probe(struct mstro_pool_event_ *event)' '{' '(void)event;' "$1" '}' |
        $compiler $flags -std=c17 -D_GNU_SOURCE -fsyntax-only \
            -Werror=implicit-function-declaration -Werror=int-conversion \
            -Werror=incompatible-pointer-types -x c - 2>"$messages"
}

# $1: NAME, $2: statements
has() {
    if compiles "$2"; then
        echo "#define VAMP_MSTRO_HAS_$1 1"
    else
        echo "#define VAMP_MSTRO_HAS_$1 0"
    fi
}

# $1: NAME, $2: kind, $3: type, $4: expression without `event`, $5: value if missing
accessor() {
    if compiles "$3 value = event->$4; (void)value;"; then
        echo "#define VAMP_MSTRO_HAS_$1_$2 1"
        echo "#define VAMP_MSTRO_$1_$2(event) ((event)->$4)"
    else
        echo "#define VAMP_MSTRO_HAS_$1_$2 0"
        echo "#define VAMP_MSTRO_$1_$2(event) ($5)"
    fi
}

# $1: kind, $2: its name in maestro.h, $3: the member of its name
kind() {
    if compiles "uint64_t kind = (uint64_t)MSTRO_POOL_EVENT_$2; (void)kind;"; then
        echo "#define VAMP_MSTRO_KIND_$1 ((uint64_t)MSTRO_POOL_EVENT_$2)"
    else
        echo "#define VAMP_MSTRO_KIND_$1 UINT64_C(0)"
    fi
    accessor APPID "$1" uint64_t "$payload$1.appid" 0
    accessor NAME "$1" 'const char *' "$payload$1.$3" NULL
}

# $1: symbol, $2: its presence bit in maestro.h, $3: its member there
extension() {
    there="(event->present & MSTRO_POOL_EVENT_HAS_$2) != 0"
    if compiles "bool there = $there; uint64_t value = event->$3; (void)there, (void)value;"; then
        echo "#define VAMP_MSTRO_HAS_$1 1"
        echo "#define VAMP_MSTRO_GIVES_$1(event) (((event)->present & MSTRO_POOL_EVENT_HAS_$2) != 0)"
        echo "#define VAMP_MSTRO_VALUE_$1(event) ((uint64_t)(event)->$3)"
    else
        echo "#define VAMP_MSTRO_HAS_$1 0"
        echo "#define VAMP_MSTRO_GIVES_$1(event) ((void)(event), false)"
        echo "#define VAMP_MSTRO_VALUE_$1(event) UINT64_C(0)"
    fi
}

# The entries of the list of fields that concern maestro.h, one per line.
extensions() {
    printf '%s\n' '#define VAMP_EVENT_MAESTRO(symbol, bit, member, name) symbol bit member' \
        "#include \"$(cd "$(dirname "$0")" && pwd)/../core/event/fields.def\"" |
        $compiler -E -P -x c - | grep .
}

all() {
    echo '/* Made by vampire/live/maestro_probe.sh: what the maestro.h of this build has. */'
    echo '#ifndef VAMP_MAESTRO_PROBE_H'
    echo '#define VAMP_MAESTRO_PROBE_H'
    if [ "$payload" = payload. ]; then
        echo '#define VAMP_MSTRO_HAS_PAYLOAD 1'
    else
        echo '#define VAMP_MSTRO_HAS_PAYLOAD 0'
    fi
    kind join APP_JOIN component_name
    kind leave APP_LEAVE component_name
    for pair in declare:DECLARE seal:SEAL offer:OFFER require:REQUIRE demand:DEMAND \
        retract:RETRACT withdraw:WITHDRAW dispose:DISPOSE transport_init:TRANSPORT_INIT \
        transport_completed:TRANSPORT_COMPLETED transport_failed:TRANSPORT_FAILED; do
        kind "${pair%%:*}" "${pair##*:}" cdo_name
    done
    kind subscribe SUBSCRIBE component_name
    kind unsubscribe UNSUBSCRIBE component_name
    has KIND_LOST 'uint64_t kind = MSTRO_POOL_EVENT_LOST; (void)kind;
        uint64_t count = event->payload.lost.count; (void)count;'
    has KIND_SAMPLE 'uint64_t kind = MSTRO_POOL_EVENT_SAMPLE; (void)kind;
        const char *text = event->payload.sample.text; (void)text;'
    has KIND_POOL_GONE 'uint64_t kind = MSTRO_POOL_EVENT_POOL_GONE; (void)kind;'
    has SERIAL 'uint64_t serial = event->serial; (void)serial;'
    extensions | while read -r symbol bit member; do
        extension "$symbol" "$bit" "$member"
    done
    has CDO_ID 'bool there = (event->present & MSTRO_POOL_EVENT_HAS_CDO_ID) != 0; (void)there;
        unsigned char value[sizeof event->cdo_id == 16 ? 1 : -1];
        value[0] = event->cdo_id[15]; (void)value;'
    has NAME_LENGTH 'uint32_t value = event->name_length; (void)value;'
    has SIGNAL_BEFORE 'uint64_t option = MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE; (void)option;'
    has HARMLESS_BEFORE 'int promised = MSTRO_SIGNAL_BEFORE_HOLDS_UP_NOTHING; (void)promised;'
    has DROPS 'int promised = MSTRO_FULL_SUBSCRIPTION_DROPS; (void)promised;'
    has STATUS_NO_PM 'mstro_status status = MSTRO_NO_PM; (void)status;'
    has STATUS_NOMEM 'mstro_status status = MSTRO_NOMEM; (void)status;'
    has STATUS_REFUSED 'mstro_status status = MSTRO_REFUSED; (void)status;'
    has STATUS_NOMATCH 'mstro_status status = MSTRO_NOMATCH; (void)status;'
    has LAST_ERROR 'const char *text = mstro_last_error(); (void)text;'
    has LOG_QUIET 'mstro_log_quiet();'
    has PACKED 'mstro_receive_packed(); size_t length = event->payload.packed.length; (void)length;'
    has FINISH 'mstro_subscription subscription = 0; uint64_t waiting = 0;
        (void)mstro_subscription_finish(subscription, 0, &waiting);'
    has VERSION 'const char *text = mstro_version(); (void)text;'
    has ENV_POOL_INFO 'const char *name = MSTRO_ENV_POOL_INFO; (void)name;'
    echo '#endif'
}

# These are required, so the compiler's own error messages are shown if they are missing.
if ! compiles 'mstro_pool_event list = 0; mstro_subscription subscription = 0;
    mstro_status status = mstro_subscription_poll(subscription, &list);
    struct timespec until = {0, 0};
    status = mstro_subscription_timedwait(subscription, &until, &list);
    status = mstro_subscribe(0, 0, MSTRO_SUBSCRIPTION_OPTS_DEFAULT, &subscription);
    uint64_t kind = (uint64_t)event->kind; list = event->next;
    if (status != MSTRO_OK && status != MSTRO_TIMEOUT) { kind = 0; } (void)kind;'; then
    echo "maestro_probe: <maestro.h> as found with '$compiler $flags' cannot be used:" >&2
    cat "$messages" >&2
    exit 1
fi
# Until spring 2024 these were members of the event itself.
payload=payload.
if ! compiles 'uint64_t id = event->payload.join.appid; (void)id;' &&
    compiles 'uint64_t id = event->join.appid; (void)id;'; then
    payload=
fi
all >"$output.new"
mv "$output.new" "$output"
