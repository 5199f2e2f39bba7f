/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/status.h"

#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "vampire/core/clock.h"
#include "vampire/units.h"

#define LINE_BYTES 512

void vamp_status_init(struct vamp_status *status, bool quiet, int64_t now_ns)
{
    *status = (struct vamp_status){
        .stream = stderr,
        .live = !quiet && isatty(STDERR_FILENO) != 0,
        .quiet = quiet,
        .started_ns = now_ns,
        .previous_ns = now_ns,
    };
}

uint64_t vamp_totals_operations(const struct vamp_totals *totals)
{
    uint64_t sum = 0;
    for (unsigned kind = 0; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        sum += totals->operations[kind];
    }
    return sum;
}

uint64_t vamp_totals_lost(const struct vamp_totals *totals)
{
    uint64_t sum = 0;
    for (unsigned reason = 0; reason < VAMP_LOSS_COUNT; reason++) {
        sum += totals->accounting.lost[reason];
    }
    return sum;
}

static int terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) {
        return size.ws_col;
    }
    return 80;
}

/* The transports' part of the line, or "" when there were none. */
static void transports_text(const struct vamp_totals *totals, const struct vamp_bins *bins,
                            char *text, size_t bytes)
{
    text[0] = '\0';
    if (totals->transport_ns == NULL || totals->transport_ns->count == 0) {
        return;
    }
    char middle[VAMP_UNIT_TEXT_BYTES];
    char slow[VAMP_UNIT_TEXT_BYTES];
    (void)snprintf(
        text, bytes, " | transport p50 %s p99 %s",
        vamp_duration_people(vamp_histogram_quantile(totals->transport_ns, bins, 0.5), middle),
        vamp_duration_people(vamp_histogram_quantile(totals->transport_ns, bins, 0.99), slow));
}

void vamp_status_show(struct vamp_status *status, const struct vamp_totals *totals,
                      const struct vamp_bins *bins, int64_t now_ns)
{
    if (!status->live) {
        return;
    }
    uint64_t operations = vamp_totals_operations(totals);
    double seconds = (double)(now_ns - status->previous_ns) / 1e9;
    seconds = seconds > 0 ? seconds : 1;
    double per_second = (double)(operations - status->previous_operations) / seconds;
    double bytes_per_second = (double)(totals->transport_bytes - status->previous_bytes) / seconds;
    status->previous_ns = now_ns;
    status->previous_operations = operations;
    status->previous_bytes = totals->transport_bytes;

    char transports[96];
    char rate[VAMP_UNIT_TEXT_BYTES], speed[VAMP_UNIT_TEXT_BYTES], in_pool[VAMP_UNIT_TEXT_BYTES];
    char size[VAMP_UNIT_TEXT_BYTES], lost[VAMP_UNIT_TEXT_BYTES];
    transports_text(totals, bins, transports, sizeof transports);
    char line[LINE_BYTES];
    (void)snprintf(line, sizeof line, "%4lld s | %s ops/s | %s/s | pool %s CDOs %s%s | lost %s",
                   (long long)((now_ns - status->started_ns) / VAMP_NS_PER_SECOND),
                   vamp_count_people((uint64_t)per_second, rate),
                   vamp_bytes_people(bytes_per_second, speed),
                   vamp_count_people(totals->pool_cdos, in_pool),
                   vamp_bytes_people((double)totals->pool_bytes, size), transports,
                   vamp_count_people(vamp_totals_lost(totals), lost));
    (void)fprintf(status->stream, "\r%.*s\033[K", terminal_columns() - 1, line);
    (void)fflush(status->stream);
    status->shown = true;
}

void vamp_status_clear(struct vamp_status *status)
{
    if (status->shown) {
        (void)fputs("\r\033[K", status->stream);
        (void)fflush(status->stream);
        status->shown = false;
    }
}

void vamp_status_say(struct vamp_status *status, const char *format, ...)
{
    if (status->quiet) {
        return;
    }
    vamp_status_clear(status);
    va_list arguments;
    va_start(arguments, format);
    (void)fputs("vampire: ", status->stream);
    (void)vfprintf(status->stream, format, arguments);
    (void)fputc('\n', status->stream);
    va_end(arguments);
}

void vamp_status_error(struct vamp_status *status, const char *format, ...)
{
    vamp_status_clear(status);
    va_list arguments;
    va_start(arguments, format);
    (void)fputs("vampire: error: ", status->stream);
    (void)vfprintf(status->stream, format, arguments);
    (void)fputc('\n', status->stream);
    va_end(arguments);
}
