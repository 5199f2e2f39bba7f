/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/event/event.h"

#include <inttypes.h>
#include <stdio.h>

#include "vampire/core/values.h"

struct kind_text {
    const char *name, *help;
};

static const struct kind_text kind_texts[] = {
#define VAMP_EVENT_KIND(symbol, number, name, help) [number] = {#name, help},
#include "vampire/core/event/kinds.def"
    [VAMP_EVENT_SAMPLE] = {"sample", NULL},     [VAMP_EVENT_UNWANTED] = {"unwanted", NULL},
    [VAMP_EVENT_GONE] = {"gone", NULL},         [VAMP_EVENT_UNWATCHED] = {"unwatched", NULL},
    [VAMP_EVENT_TIME] = {"time", NULL},         [VAMP_EVENT_LOST] = {"lost", NULL},
    [VAMP_EVENT_REJECTED] = {"rejected", NULL},
};

static const char *const tier_names[VAMP_TIER_COUNT] = {"unknown", "OFI", "GFS", "MIO"};
static const char *const cause_names[VAMP_CAUSE_COUNT] = {"unknown", "demand", "manager"};
static const char *const leave_names[VAMP_LEAVE_REASON_COUNT] = {
    "unknown", "finalized", "vanished", "protocol", "pool_ended", "pool_gone"};
static const char *const loss_names[VAMP_LOSS_COUNT] = {"pool_manager", "ring", "recording"};

static struct kind_text text_of(unsigned kind)
{
    if (kind > VAMP_EVENT_REJECTED) {
        return (struct kind_text){NULL, NULL};
    }
    return kind_texts[kind];
}

const char *vamp_event_kind_name(unsigned kind)
{
    return vamp_text_or(text_of(kind).name, "unknown");
}

const char *vamp_event_kind_help(unsigned kind)
{
    return vamp_text_or(text_of(kind).help, "unknown");
}

const char *vamp_tier_name(unsigned tier)
{
    return VAMP_NAME_AT(tier_names, tier);
}

const char *vamp_cause_name(unsigned cause)
{
    return VAMP_NAME_AT(cause_names, cause);
}

const char *vamp_leave_reason_name(unsigned reason)
{
    return VAMP_NAME_AT(leave_names, reason);
}

const char *vamp_loss_name(unsigned loss)
{
    return VAMP_NAME_AT(loss_names, loss);
}

void vamp_cdo_id_text(struct vamp_cdo_id id, char text[static VAMP_CDO_ID_TEXT_BYTES])
{
    (void)snprintf(text, VAMP_CDO_ID_TEXT_BYTES, "%016" PRIx64 "%016" PRIx64, id.high, id.low);
}
