/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "vampire/core/clock.h"
#include "vampire/core/hash.h"
#include "vampire/core/units.h"
#include "vampire/core/utf8.h"
#include "vampire/core/values.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns the kind of a message: a hash of the text without numbers, never 0. */
static uint64_t kind_of(const char *text)
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

/* Returns the entry with this key, else a free one, else the one that has been inactive for
 * longest. */
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
    const uint64_t key = kind_of(message);
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

bool vamp_reminder_take_due(struct vamp_reminder *reminder, const char *message, int64_t now_ns)
{
    const uint64_t kind = kind_of(message);
    if (kind != reminder->kind) {
        *reminder = (struct vamp_reminder){.kind = kind,
                                           .due_ns = now_ns + VAMP_REMINDER_FIRST_NS,
                                           .pause_ns = VAMP_REMINDER_FIRST_NS};
        return true;
    }
    if (now_ns < reminder->due_ns) {
        return false;
    }
    reminder->pause_ns = VAMP_MIN(reminder->pause_ns * 2, VAMP_REMINDER_LONGEST_NS);
    reminder->due_ns = now_ns + reminder->pause_ns;
    return true;
}

void vamp_reminder_end(struct vamp_reminder *reminder)
{
    *reminder = (struct vamp_reminder){.kind = 0};
}

#define LINE_BYTES 512

void vamp_status_init(struct vamp_status *status, const char *program, bool quiet,
                      const struct vamp_clock *clock)
{
    const int64_t now_ns = vamp_clock_monotonic_ns(clock);
    *status = (struct vamp_status){
        .program = program,
        .stream = stderr,
        .live = !quiet && isatty(STDERR_FILENO) != 0,
        .quiet = quiet,
        .started_ns = now_ns,
        .previous_ns = now_ns,
        .clock = clock,
    };
    (void)pthread_mutex_init(&status->lock, NULL);
}

static int terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) {
        return size.ws_col;
    }
    return 80;
}

const char *vamp_quantile_text(const struct vamp_histogram *histogram, const struct vamp_bins *bins,
                               double q, uint64_t resolution_ns,
                               char text[static VAMP_UNIT_TEXT_BYTES])
{
    const struct vamp_range range =
        vamp_histogram_quantile_range(histogram, bins, q, resolution_ns);
    return vamp_duration_between(range.low, range.high, text);
}

/* Writes the transports' part of the line; "" if there are no transports. */
static void transports_text(const struct vamp_totals *totals, const struct vamp_bins *bins,
                            char *text, size_t bytes)
{
    text[0] = '\0';
    if (totals->transport_ns == NULL || totals->transport_ns->count == 0) {
        return;
    }
    char middle[VAMP_UNIT_TEXT_BYTES];
    char slow[VAMP_UNIT_TEXT_BYTES];
    (void)snprintf(text, bytes, " | transport p50 %s p99 %s",
                   vamp_quantile_text(totals->transport_ns, bins, 0.5,
                                      totals->accounting.resolution_ns, middle),
                   vamp_quantile_text(totals->transport_ns, bins, 0.99,
                                      totals->accounting.resolution_ns, slow));
}

/* Writes how much of a replay was read, and how long the rest takes at the same speed; "" if it is
 * not known. */
static void replay_text(const struct vamp_status *status, int64_t now_ns, char *text, size_t bytes)
{
    text[0] = '\0';
    if (status->fraction > 0) {
        const double seconds = (double)(now_ns - status->started_ns) / VAMP_NS_PER_SECOND;
        (void)snprintf(text, bytes, " | %.0f %% replayed, %.0f s left",
                       floor(100 * status->fraction),
                       ceil(seconds * (1 - status->fraction) / status->fraction));
    }
}

void vamp_status_show(struct vamp_status *status, const struct vamp_totals *totals,
                      const struct vamp_bins *bins, int64_t now_ns)
{
    if (!status->live) {
        return;
    }
    uint64_t operations = vamp_totals_operations(totals);
    double seconds = (double)(now_ns - status->previous_ns) / 1e9;
    if (seconds <= 0) {
        seconds = 1;
    }
    double per_second = (double)(operations - status->previous_operations) / seconds;
    double bytes_per_second = (double)(totals->transport_bytes - status->previous_bytes) / seconds;
    status->previous_ns = now_ns;
    status->previous_operations = operations;
    status->previous_bytes = totals->transport_bytes;

    char transports[96], replay[64];
    char rate[VAMP_UNIT_TEXT_BYTES], speed[VAMP_UNIT_TEXT_BYTES], in_pool[VAMP_UNIT_TEXT_BYTES];
    char size[VAMP_UNIT_TEXT_BYTES], lost[VAMP_UNIT_TEXT_BYTES];
    transports_text(totals, bins, transports, sizeof transports);
    replay_text(status, now_ns, replay, sizeof replay);
    char line[LINE_BYTES];
    /* The least important part comes last, because a narrow terminal truncates the line. */
    (void)snprintf(
        line, sizeof line, "%4lld s%s | %s ops/s | moved %s/s | pool %s CDOs %s | lost %s%s",
        (long long)((now_ns - status->started_ns) / VAMP_NS_PER_SECOND), replay,
        vamp_count_people((uint64_t)per_second, rate), vamp_bytes_people(bytes_per_second, speed),
        vamp_count_people(totals->pool_cdos, in_pool),
        vamp_bytes_people((double)totals->pool_bytes, size),
        vamp_count_people(vamp_totals_lost(totals), lost), transports);
    (void)pthread_mutex_lock(&status->lock);
    (void)fprintf(status->stream, "\r%.*s\033[K", terminal_columns() - 1, line);
    (void)fflush(status->stream);
    status->shown = true;
    (void)pthread_mutex_unlock(&status->lock);
}

/* The functions up to the next heading are called with the lock held. */

static void clear_line(struct vamp_status *status)
{
    if (status->shown) {
        (void)fputs("\r\033[K", status->stream);
        (void)fflush(status->stream);
        status->shown = false;
    }
}

static void print_repeats(void *context, const char *line)
{
    struct vamp_status *status = context;
    clear_line(status);
    (void)fprintf(status->stream, "%s: %s\n", status->program, line);
}

static void keep_message(struct vamp_status *status, const char *text, bool error)
{
    struct vamp_status_message *message = &status->kept[status->said++ % VAMP_STATUS_KEPT];
    message->utc_ns = vamp_clock_utc_ns(status->clock);
    message->error = error;
    (void)snprintf(message->text, sizeof message->text, "%s", text);
}

static void print_message(struct vamp_status *status, const char *text, bool error)
{
    keep_message(status, text, error);
    if (status->quiet && !error) {
        return;
    }
    if (vamp_repeats_admit(&status->repeats, text, vamp_clock_monotonic_ns(status->clock),
                           print_repeats, status)) {
        clear_line(status);
        (void)fprintf(status->stream, "%s: %s%s\n", status->program, error ? "error: " : "", text);
    }
}

/* ---- any thread, without the lock */

void vamp_status_clear(struct vamp_status *status)
{
    (void)pthread_mutex_lock(&status->lock);
    clear_line(status);
    (void)pthread_mutex_unlock(&status->lock);
}

static void VAMP_PRINTF(3, 0)
    print_formatted(struct vamp_status *status, bool error, const char *format, va_list arguments)
{
    char text[VAMP_STATUS_TEXT_BYTES];
    (void)vsnprintf(text, sizeof text, format, arguments);
    vamp_utf8_clean(text);
    (void)pthread_mutex_lock(&status->lock);
    print_message(status, text, error);
    (void)pthread_mutex_unlock(&status->lock);
}

void vamp_status_say(struct vamp_status *status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_formatted(status, false, format, arguments);
    va_end(arguments);
}

void vamp_status_say_line(void *context, const char *line)
{
    vamp_status_say(context, "%s", line);
}

void vamp_status_error(struct vamp_status *status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_formatted(status, true, format, arguments);
    va_end(arguments);
}

void vamp_status_flush(struct vamp_status *status)
{
    (void)pthread_mutex_lock(&status->lock);
    vamp_repeats_flush(&status->repeats, vamp_clock_monotonic_ns(status->clock), false,
                       print_repeats, status);
    (void)pthread_mutex_unlock(&status->lock);
}

void vamp_status_kept(struct vamp_status *status,
                      void (*each)(void *context, const struct vamp_status_message *message),
                      void *context)
{
    (void)pthread_mutex_lock(&status->lock);
    const unsigned kept = VAMP_MIN(status->said, (unsigned)VAMP_STATUS_KEPT);
    for (unsigned i = status->said - kept; i != status->said; i++) {
        each(context, &status->kept[i % VAMP_STATUS_KEPT]);
    }
    (void)pthread_mutex_unlock(&status->lock);
}

void vamp_status_done(struct vamp_status *status)
{
    (void)pthread_mutex_lock(&status->lock);
    vamp_repeats_flush(&status->repeats, vamp_clock_monotonic_ns(status->clock), true,
                       print_repeats, status);
    (void)pthread_mutex_unlock(&status->lock);
    (void)pthread_mutex_destroy(&status->lock);
}
