/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/trace/sink.h"

const char *vamp_trace_kind_name(enum vamp_trace_kind kind)
{
    static const char *const names[VAMP_TRACE_KIND_COUNT] = {
        [VAMP_TRACE_WAITS] = "waits", [VAMP_TRACE_RECEIVES] = "receives",
        [VAMP_TRACE_SENDS] = "sends", [VAMP_TRACE_LIVES] = "CDOs",
        [VAMP_TRACE_MARKS] = "marks",
    };
    return names[kind];
}

const char *vamp_trace_what_name(enum vamp_trace_what what)
{
    static const char *const names[VAMP_TRACE_WHAT_COUNT] = {
        [VAMP_TRACE_LIFE] = "life",       [VAMP_TRACE_IN_POOL] = "in pool",
        [VAMP_TRACE_DEMAND] = "demand",   [VAMP_TRACE_PART] = "part",
        [VAMP_TRACE_PENDING] = "pending", [VAMP_TRACE_WITHDRAW] = "withdraw",
        [VAMP_TRACE_LEAVE] = "leave",     [VAMP_TRACE_SEND] = "send",
        [VAMP_TRACE_RECEIVE] = "receive", [VAMP_TRACE_MARK] = "mark",
    };
    return names[what];
}
