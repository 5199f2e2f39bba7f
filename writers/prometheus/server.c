/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers requests for the page, on a thread of libmicrohttpd. A scraper that reads slowly keeps
 * the page that it asked for, and nothing waits for it. */
#include <microhttpd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "writers/prometheus/internal.h"

#define CONNECTIONS_MAX 32U
#define IDLE_SECONDS 30U

struct server {
    struct MHD_Daemon *daemon;
    struct page *page;
};

static const char text_type[] = "text/plain; version=0.0.4; charset=utf-8";
static const char openmetrics_type[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";

static void release_text(void *text)
{
    page_release(text);
}

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status,
                              struct MHD_Response *response, const char *type)
{
    if (response == NULL) {
        return MHD_NO; /* no memory: the connection is closed */
    }
    enum MHD_Result result = MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (result == MHD_YES) {
        result = MHD_queue_response(connection, status, response);
    }
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_constant(struct MHD_Connection *connection, unsigned status,
                                       const char *text)
{
    /* Nothing writes to it. */
    void *bytes = (void *)(uintptr_t)text;
    return answer(connection, status,
                  MHD_create_response_from_buffer(strlen(text), bytes, MHD_RESPMEM_PERSISTENT),
                  "text/plain; charset=utf-8");
}

static enum MHD_Result answer_page(const struct server *server, struct MHD_Connection *connection)
{
    const char *accepted =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    const bool openmetrics =
        accepted != NULL && strstr(accepted, "application/openmetrics-text") != NULL;
    struct page_text *text = page_hold(server->page, openmetrics ? PAGE_OPENMETRICS : PAGE_TEXT);
    if (text == NULL) {
        return answer_constant(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "no memory\n");
    }
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        text->length, text->bytes, release_text, text);
    if (response == NULL) {
        page_release(text);
    }
    return answer(connection, MHD_HTTP_OK, response, openmetrics ? openmetrics_type : text_type);
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
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        return answer_constant(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET or HEAD\n");
    }
    if (strcmp(url, "/metrics") == 0) {
        return answer_page(context, connection);
    }
    return strcmp(url, "/") == 0
               ? answer_constant(connection, MHD_HTTP_OK, "vampire: the page is /metrics\n")
               : answer_constant(connection, MHD_HTTP_NOT_FOUND, "the page is /metrics\n");
}

int server_start(struct page *page, int listening_fd, struct server **ret_server,
                 struct vamp_err *err)
{
    struct server *server = calloc(1, sizeof *server);
    if (server == NULL) {
        (void)close(listening_fd);
        return vamp_err_set_errno(err, ENOMEM, "serve the page");
    }
    server->page = page;
    /* The library's thread takes no signals, as all of vampire's but one. */
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    server->daemon = MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD, 0, NULL, NULL, handle, server,
                                      MHD_OPTION_LISTEN_SOCKET, listening_fd,
                                      MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
                                      MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_END);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (server->daemon == NULL) {
        free(server);
        return vamp_err_set_errno(err, EAGAIN, "start the thread that serves the page");
    }
    *ret_server = server;
    return 0;
}

void server_stop(struct server *server)
{
    if (server != NULL) {
        MHD_stop_daemon(server->daemon);
        free(server);
    }
}
