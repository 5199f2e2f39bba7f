/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/event/event.h"

#include <inttypes.h>
#include <stdio.h>

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

static const char *name_or_unknown(const char *const *names, unsigned count, unsigned value)
{
    return value < count ? names[value] : "unknown";
}

const char *vamp_event_kind_name(unsigned kind)
{
    const char *name = kind <= VAMP_EVENT_REJECTED ? kind_texts[kind].name : NULL;
    return name != NULL ? name : "unknown";
}

const char *vamp_event_kind_help(unsigned kind)
{
    const char *help = kind <= VAMP_EVENT_REJECTED ? kind_texts[kind].help : NULL;
    return help != NULL ? help : "unknown";
}

const char *vamp_tier_name(unsigned tier)
{
    return name_or_unknown(tier_names, VAMP_TIER_COUNT, tier);
}

const char *vamp_cause_name(unsigned cause)
{
    return name_or_unknown(cause_names, VAMP_CAUSE_COUNT, cause);
}

const char *vamp_leave_reason_name(unsigned reason)
{
    return name_or_unknown(leave_names, VAMP_LEAVE_REASON_COUNT, reason);
}

const char *vamp_loss_name(unsigned loss)
{
    return name_or_unknown(loss_names, VAMP_LOSS_COUNT, loss);
}

void vamp_cdo_id_text(struct vamp_cdo_id id, char text[static VAMP_CDO_ID_TEXT_BYTES])
{
    (void)snprintf(text, VAMP_CDO_ID_TEXT_BYTES, "%016" PRIx64 "%016" PRIx64, id.high, id.low);
}
