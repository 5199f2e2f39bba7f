/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/repeats.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vampire/core/clock.h"
#include "vampire/core/hash.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

uint64_t vamp_repeats_kind(const char *text)
{
    uint64_t hash = 0;
    for (const char *c = text; *c != '\0'; c++) {
        if (is_digit(*c) && c != text && is_digit(c[-1])) {
            continue;
        }
        hash = vamp_hash_word(hash, (unsigned char)(is_digit(*c) ? '0' : *c));
    }
    return hash != 0 ? hash : 1;
}

static void end_stretch(struct vamp_repeat *kind, vamp_repeats_fn *report, void *context)
{
    if (kind->count > VAMP_REPEATS_SAID) {
        char line[VAMP_REPEATS_TEXT_BYTES + 64];
        (void)snprintf(line, sizeof line, "%s ... %" PRIu64 " more like this in %.0f s", kind->text,
                       kind->count - VAMP_REPEATS_SAID,
                       (double)(kind->last_ns - kind->began_ns) / (double)VAMP_NS_PER_SECOND);
        report(context, line);
    }
    kind->key = 0;
}

void vamp_repeats_flush(struct vamp_repeats *repeats, int64_t now_ns, bool all,
                        vamp_repeats_fn *report, void *context)
{
    for (unsigned i = 0; i < VAMP_REPEATS_KINDS; i++) {
        struct vamp_repeat *kind = &repeats->kinds[i];
        if (kind->key != 0 && (all || now_ns - kind->began_ns >= VAMP_REPEATS_NS)) {
            end_stretch(kind, report, context);
        }
    }
}

/* The kind with this key, else a free one, else the one that has been silent longest. */
static struct vamp_repeat *find_repeat(struct vamp_repeats *repeats, uint64_t key)
{
    struct vamp_repeat *best = &repeats->kinds[0];
    for (unsigned i = 0; i < VAMP_REPEATS_KINDS; i++) {
        struct vamp_repeat *kind = &repeats->kinds[i];
        if (kind->key == key) {
            return kind;
        }
        if (best->key != 0 && (kind->key == 0 || kind->last_ns < best->last_ns)) {
            best = kind;
        }
    }
    return best;
}

bool vamp_repeats_admit(struct vamp_repeats *repeats, const char *message, int64_t now_ns,
                        vamp_repeats_fn *report, void *context)
{
    vamp_repeats_flush(repeats, now_ns, false, report, context);
    const uint64_t key = vamp_repeats_kind(message);
    struct vamp_repeat *kind = find_repeat(repeats, key);
    if (kind->key != key) {
        if (kind->key != 0) {
            end_stretch(kind, report, context);
        }
        *kind = (struct vamp_repeat){.key = key, .began_ns = now_ns};
        (void)snprintf(kind->text, sizeof kind->text, "%s", message);
    }
    kind->last_ns = now_ns;
    return ++kind->count <= VAMP_REPEATS_SAID;
}
