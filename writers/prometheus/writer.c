/* SPDX-License-Identifier: BSD-3-Clause */
/* The prometheus format: instead of a target it has a page, the same for all segments of a run. */
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "vampire/core/clock.h"
#include "vampire/core/values.h"
#include "vampire/core/worker.h"
#include "version.h"
#include "writers/format/bounds.h"
#include "writers/format/gzip.h"
#include "writers/format/listener.h"
#include "writers/prometheus/page.h"

#define PAUSE_NS 50000000
#define CONNECTIONS_MAX 32U
/* Slots reserved for new connections: with fewer free slots, the connection that has been idle for
 * longest is closed. */
#define PLACES_KEPT 8U
#define IDLE_SECONDS 5U

struct prometheus {
    const struct prometheus_options *options;
    const atomic_int *stop;
    struct page *page;
    struct MHD_Daemon *server; /* NULL: the previous instance still uses the address */
    char path[VAMP_LISTENER_NAME_BYTES];
    /* Used only by the server's thread: the newest rendering of each page. All scrapers of a page
     * share it, and a slow reader keeps a reference, so that there is never a copy per scraper. */
    struct {
        struct MHD_Response *response;
        uint64_t version;
    } pages[PAGE_KIND_COUNT][2];              /* the second one is compressed by gzip */
    struct libdeflate_compressor *compressor; /* NULL: not created yet */
    /* Used only by the server's thread: the time at which each connection was opened or sent its
     * last request; monotonic; 0: a free slot. */
    struct place {
        int64_t asked_ns;
        int fd;
    } places[CONNECTIONS_MAX];
    bool announced; /* the address was reported */
};

/* ---- requests for the page, on a thread of libmicrohttpd. A slow scraper keeps the page that it
 * requested, and does not block others. */

static const char *const types[] = {
    [PAGE_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
    [PAGE_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
    [PAGE_MESSAGES] = ("application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; "
                       "encoding=delimited"),
};

/* Sets the content type. Returns the response, which may be NULL; NULL if out of memory. */
static struct MHD_Response *of_type(struct MHD_Response *response, const char *type)
{
    if (response != NULL &&
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type) != MHD_YES) {
        MHD_destroy_response(response);
        return NULL;
    }
    return response;
}

/* Sends a text that is never freed; closes the connection if out of memory. */
static enum MHD_Result answer_constant(struct MHD_Connection *connection, unsigned status,
                                       const char *text)
{
    /* The text is never modified. */
    void *bytes = (void *)(uintptr_t)text;
    struct MHD_Response *response =
        of_type(MHD_create_response_from_buffer(strlen(text), bytes, MHD_RESPMEM_PERSISTENT),
                "text/plain; charset=utf-8");
    if (response == NULL) {
        return MHD_NO; /* closes the connection */
    }
    const enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* Compresses the text in place. Returns false if out of memory. */
static bool pack(struct prometheus *self, struct vamp_text *text)
{
    struct vamp_text packed = {.bytes = NULL};
    if (self->compressor == NULL) {
        self->compressor = libdeflate_alloc_compressor(VAMP_GZIP_LEVEL);
    }
    const bool good = self->compressor != NULL && vamp_gzip(self->compressor, text, &packed);
    vamp_text_done(text);
    *text = packed;
    return good;
}

/* Renders the page, compressed if `packed`. Returns NULL if out of memory. */
static struct MHD_Response *make_page(struct prometheus *self, enum page_kind kind, bool packed)
{
    struct vamp_text text = {.bytes = NULL};
    page_render(self->page, kind, &text);
    struct MHD_Response *response = NULL;
    if (!text.failed && (!packed || pack(self, &text))) {
        response = MHD_create_response_from_buffer(text.used, text.bytes, MHD_RESPMEM_MUST_FREE);
    }
    if (response == NULL) {
        vamp_text_done(&text);
        return NULL;
    }
    response = of_type(response, types[kind]);
    if (response != NULL && packed &&
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip") != MHD_YES) {
        MHD_destroy_response(response);
        return NULL;
    }
    return response;
}

/* Returns the current page, or NULL if out of memory. The library counts the references to it. */
static struct MHD_Response *page_of(struct prometheus *self, enum page_kind kind, bool packed)
{
    const uint64_t version = page_version(self->page);
    if (self->pages[kind][packed].response == NULL ||
        self->pages[kind][packed].version != version) {
        struct MHD_Response *response = make_page(self, kind, packed);
        if (response == NULL) {
            return NULL;
        }
        MHD_destroy_response(self->pages[kind][packed].response); /* NULL is allowed */
        self->pages[kind][packed].response = response;
        self->pages[kind][packed].version = version;
    }
    return self->pages[kind][packed].response;
}

/* Returns the weight (q) of an element of an Accept header, in thousandths. */
static int weight_of_element(const char *element)
{
    const char *at = element + strcspn(element, ";,");
    while (*at == ';') {
        at += 1 + strspn(at + 1, " \t");
        if (strncasecmp(at, "q=", 2) == 0) {
            const double weight = strtod(at + 2, NULL);
            return weight > 0 && weight <= 1 ? (int)(weight * 1000) : 0;
        }
        at += strcspn(at, ";,");
    }
    return 1000;
}

/* Returns the largest weight of a media type or coding in the header; -1 if it is not listed. */
static int weight_of(const char *header, const char *word)
{
    const size_t length = strlen(word);
    int weight = -1;
    for (const char *at = header; *at != '\0';) {
        at += strspn(at, " \t,");
        if (strncasecmp(at, word, length) == 0 && strchr("; \t,", at[length]) != NULL) {
            const int other = weight_of_element(at);
            weight = VAMP_MAX(weight, other);
        }
        at += strcspn(at, ",");
    }
    return weight;
}

/* Returns the accepted format with the largest weight. Ties: protobuf, OpenMetrics, text. If none
 * is accepted: text. */
static enum page_kind choose_kind(const char *accept)
{
    static const char *const names[] = {[PAGE_TEXT] = "text/plain",
                                        [PAGE_OPENMETRICS] = "application/openmetrics-text",
                                        [PAGE_MESSAGES] = "application/vnd.google.protobuf"};
    static const enum page_kind by_richness[] = {PAGE_OPENMETRICS, PAGE_MESSAGES};
    enum page_kind kind = PAGE_TEXT;
    int best = weight_of(accept, names[PAGE_TEXT]);
    if (best < 0) {
        const int any_text = weight_of(accept, "text/*"), any = weight_of(accept, "*/*");
        best = any_text >= 0 ? any_text : any;
    }
    for (size_t i = 0; i < sizeof by_richness / sizeof by_richness[0]; i++) {
        const int weight = weight_of(accept, names[by_richness[i]]);
        if (weight > 0 && weight >= best) {
            kind = by_richness[i];
            best = weight;
        }
    }
    return kind;
}

static bool accepts_gzip(const char *accept)
{
    const int weight = weight_of(accept, "gzip");
    return weight > 0 || (weight < 0 && weight_of(accept, "*") > 0);
}

static const char *header_of(struct MHD_Connection *connection, const char *name)
{
    const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
    return vamp_text_or(value, "");
}

/* Sends the page in the form that the request accepts. */
static enum MHD_Result answer_page(struct prometheus *self, struct MHD_Connection *connection)
{
    /* Prometheus requests messages only if it is configured for native histograms. */
    const enum page_kind kind = choose_kind(header_of(connection, MHD_HTTP_HEADER_ACCEPT));
    struct MHD_Response *response =
        page_of(self, kind, accepts_gzip(header_of(connection, MHD_HTTP_HEADER_ACCEPT_ENCODING)));
    if (response == NULL) {
        return answer_constant(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "no memory\n");
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, response);
}

/* ---- connections: idle and slow clients must not block others */

static void note_asked(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *place =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (place != NULL && place->socket_context != NULL) {
        ((struct place *)place->socket_context)->asked_ns = vamp_worker_now_ns();
    }
}

/* Called by the library when a connection was opened or closed: assigns or frees its slot. If few
 * slots are free, shuts down the connection that has been idle for longest; the library closes a
 * connection whose peer is gone. */
static void note_connection(void *context, struct MHD_Connection *connection, void **place_of,
                            enum MHD_ConnectionNotificationCode what)
{
    struct prometheus *self = context;
    struct place *place = *place_of, *oldest = NULL;
    unsigned free_places = 0;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (place != NULL) {
            place->asked_ns = 0;
        }
        return;
    }
    for (unsigned i = 0; i < CONNECTIONS_MAX; i++) {
        struct place *other = &self->places[i];
        if (other->asked_ns == 0) {
            free_places++;
            place = other;
        } else if (oldest == NULL || other->asked_ns < oldest->asked_ns) {
            oldest = other;
        }
    }
    if (place != NULL) {
        *place = (struct place){
            vamp_worker_now_ns(),
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd};
        *place_of = place;
    }
    if (free_places <= PLACES_KEPT && oldest != NULL) {
        (void)shutdown(oldest->fd, SHUT_RDWR);
        oldest->asked_ns = INT64_MAX; /* excludes it from the next search */
    }
}

/* NOLINTNEXTLINE(readability-function-size): the parameters are those of the library. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_bytes, void **request)
{
    (void)version;
    (void)upload;
    (void)upload_bytes;
    (void)request;
    note_asked(connection);
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        return answer_constant(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET or HEAD\n");
    }
    if (strcmp(url, "/metrics") == 0) {
        return answer_page(context, connection);
    }
    if (strcmp(url, "/") == 0) {
        return answer_constant(connection, MHD_HTTP_OK, "vampire: the page is /metrics\n");
    }
    return answer_constant(connection, MHD_HTTP_NOT_FOUND, "the page is /metrics\n");
}

/* ---- the format */

/* Listens and starts the server's thread. Returns 0 or -errno. */
static int start(struct prometheus *self, struct vamp_err *err)
{
    struct vamp_listener listener;
    int code = vamp_listener_open(self->options->listen, VAMP_ACCESS_PRIVATE, &listener, err);
    if (code != 0) {
        return code;
    }
    (void)snprintf(self->path, sizeof self->path, "http://%.140s/metrics",
                   listener.name + strlen("tcp:"));
    /* Signals are blocked in the library's thread, as in all threads of vampire except one. */
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    self->server = MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD, 0, NULL, NULL, handle, self, MHD_OPTION_LISTEN_SOCKET,
        listener.fd, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, MHD_OPTION_NOTIFY_CONNECTION,
        note_connection, self, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_END);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (self->server == NULL) {
        return vamp_err_set_errno(err, EAGAIN, "start the thread that serves the page");
    }
    return 0;
}

static void prometheus_free(struct prometheus *self)
{
    if (self->server != NULL) {
        MHD_stop_daemon(self->server);
    }
    for (unsigned i = 0; i < 2 * PAGE_KIND_COUNT; i++) {
        MHD_destroy_response(self->pages[i / 2][i % 2].response); /* NULL is allowed */
    }
    libdeflate_free_compressor(self->compressor);
    page_free(self->page);
    free(self);
}

static int prometheus_open(const void *options, const struct vamp_writer_target *target,
                           void **ret_self, struct vamp_err *err)
{
    struct prometheus *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the page");
    }
    self->options = options;
    self->stop = target->stop;
    (void)snprintf(self->path, sizeof self->path, "%s", self->options->listen);
    int code = page_create(options, target, &self->page, err);
    if (code == 0) {
        code = start(self, err);
        /* The output before a reload still uses the address; prometheus_write retries. */
        if (code == -EADDRINUSE && target->segment > 1) {
            code = 0;
        }
    }
    if (code != 0) {
        prometheus_free(self);
        return code;
    }
    *ret_self = self;
    return 0;
}

/* Adds the bucket to the page, and starts the server if it does not run yet. */
static int prometheus_write(void *context, const struct vamp_delivery *delivery,
                            struct vamp_err *err)
{
    struct prometheus *self = context;
    if (self->server == NULL) {
        const int code = start(self, err);
        if (code != 0 && code != -EADDRINUSE) {
            return -EAGAIN;
        }
    }
    /* If memory runs out, the bucket can be added later. */
    return page_add(self->page, delivery, err) == 0 ? 0 : -EAGAIN;
}

static const char *prometheus_path(const void *self)
{
    return ((const struct prometheus *)self)->path;
}

static bool prometheus_remark(void *context, char text[static VAMP_ERR_TEXT_BYTES])
{
    struct prometheus *self = context;
    if (self->server != NULL && !self->announced) {
        self->announced = true;
        (void)snprintf(text, VAMP_ERR_TEXT_BYTES, "the page is %s", self->path);
        return true;
    }
    return false;
}

static int64_t prometheus_linger_ns(const void *options)
{
    return ((const struct prometheus_options *)options)->linger_ns;
}

/* Waits until the time has elapsed or a signal arrives; after a signal, until the deadline. */
static void linger(const struct prometheus *self, const struct vamp_ending *ending)
{
    int64_t until = vamp_clock_monotonic_ns(&vamp_clock_system) + self->options->linger_ns;
    if (ending->stop != 0) {
        until = VAMP_MIN(until, ending->until_ns);
    }
    while (vamp_clock_monotonic_ns(&vamp_clock_system) < until &&
           (self->stop == NULL || atomic_load(self->stop) == ending->stop)) {
        vamp_sleep_ns(PAUSE_NS);
    }
}

static int prometheus_close(void *context, const struct vamp_ending *ending, struct vamp_err *err)
{
    struct prometheus *self = context;
    (void)err;
    if (ending != NULL && ending->completed) {
        page_end(self->page);
        linger(self, ending);
    }
    prometheus_free(self);
    return 0;
}

/* Returns the maximum number of lines of the page for a series. */
static unsigned prometheus_lines(const void *context, const struct vamp_metric *metric,
                                 const struct vamp_bins *bins)
{
    const struct prometheus_options *options = context;
    switch (metric->kind) {
    case VAMP_COUNTER:
        return 1;
    case VAMP_GAUGE:
        return 3;
    case VAMP_HISTOGRAM:
        break;
    }
    return vamp_bounds_count(metric, bins, options->bounds) + 3;
}

static const struct vamp_writer_ops functions = {
    .name = "prometheus",
    .element = VAMP_ELEMENT_BUCKET,
    .open = prometheus_open,
    .write_bucket = prometheus_write,
    .path = prometheus_path,
    .remark = prometheus_remark,
    .lines = prometheus_lines,
    .linger_ns = prometheus_linger_ns,
    .close = prometheus_close,
};

const struct vamp_writer_plug_in vamp_writer_plug_in = {VAMP_VERSION, &functions,
                                                        vamp_metrics_share};
