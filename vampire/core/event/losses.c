/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/event/losses.h"

void vamp_losses_note(struct vamp_losses *losses, const struct vamp_event *event,
                      enum vamp_loss reason)
{
    if (event->kind == VAMP_EVENT_TIME) {
        return;
    }
    losses->any = true;
    switch (event->kind) {
    case VAMP_EVENT_GONE:
        losses->gone = true;
        losses->gone_ns = event->time_ns;
        return;
    case VAMP_EVENT_UNWATCHED:
        losses->unwatched = true;
        losses->unwatched_ns = event->time_ns;
        return;
    case VAMP_EVENT_LOST:
        losses->lost[event->reason] += event->count;
        break;
    case VAMP_EVENT_REJECTED:
        losses->rejected += event->count;
        break;
    default:
        losses->lost[reason]++;
        break;
    }
    losses->time_ns = event->time_ns;
}

/* The marks go into the room of an event of the kind `before`. */
struct reporting {
    struct vamp_ring *ring;
    unsigned before;
};

static bool report_one(const struct reporting *reporting, const struct vamp_losses *losses,
                       enum vamp_event_kind kind, uint8_t reason, uint64_t *count)
{
    if (*count == 0) {
        return true;
    }
    const struct vamp_event mark = {
        .kind = (uint8_t)kind,
        .reason = reason,
        .count = *count,
        .time_ns = losses->time_ns,
    };
    if (!vamp_ring_push_before(reporting->ring, &mark, reporting->before)) {
        return false;
    }
    *count = 0;
    return true;
}

static bool report_mark(const struct reporting *reporting, enum vamp_event_kind kind,
                        int64_t time_ns, bool *waiting)
{
    const struct vamp_event mark = {.kind = (uint8_t)kind, .time_ns = time_ns};
    *waiting = *waiting && !vamp_ring_push_before(reporting->ring, &mark, reporting->before);
    return !*waiting;
}

static bool report_all(const struct reporting *reporting, struct vamp_losses *losses)
{
    for (unsigned reason = 0; reason < VAMP_LOSS_COUNT; reason++) {
        if (!report_one(reporting, losses, VAMP_EVENT_LOST, (uint8_t)reason,
                        &losses->lost[reason])) {
            return false;
        }
    }
    losses->any =
        !(report_one(reporting, losses, VAMP_EVENT_REJECTED, 0, &losses->rejected) &&
          report_mark(reporting, VAMP_EVENT_GONE, losses->gone_ns, &losses->gone) &&
          report_mark(reporting, VAMP_EVENT_UNWATCHED, losses->unwatched_ns, &losses->unwatched));
    return !losses->any;
}

bool vamp_losses_report(struct vamp_losses *losses, struct vamp_ring *ring, unsigned kind)
{
    const struct reporting reporting = {ring, kind};
    return report_all(&reporting, losses);
}

bool vamp_losses_finish(struct vamp_losses *losses, struct vamp_ring *ring)
{
    return !losses->any || vamp_losses_report(losses, ring, VAMP_EVENT_LEAVE);
}
