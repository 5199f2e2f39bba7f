/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "programs/vampire-top/input_internal.h"

/* Only this much of a longer file is read, unless the user asks for the whole. */
#define TAIL_BYTES (16 * 1024 * 1024)
/* How many segment numbers are tried: other runs may have taken some. */
#define SEGMENTS_AHEAD 64

/* ---- sockets */

union address {
    struct sockaddr any;
    struct sockaddr_un path;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int parse_unix(const char *source, const char *path, union address *ret,
                      struct vamp_err *err)
{
    *ret = (union address){.path = {.sun_family = AF_UNIX}};
    if (*path == '\0' || strlen(path) >= sizeof ret->path.sun_path) {
        return vamp_err_set(err, -EINVAL, "%s: the path of a socket has 1 to %zu bytes", source,
                            sizeof ret->path.sun_path - 1);
    }
    memcpy(ret->path.sun_path, path, strlen(path) + 1);
    return 0;
}

/* PORT or ADDRESS:PORT, the address in numbers or "localhost", IPv6 in brackets. */
static int parse_tcp(const char *source, const char *text, union address *ret, struct vamp_err *err)
{
    char host[64] = "127.0.0.1";
    const char *colon = strrchr(text, ':');
    const char *port_text = colon != NULL ? colon + 1 : text;
    if (colon != NULL) {
        size_t bytes = (size_t)(colon - text);
        bool brackets = bytes > 2 && text[0] == '[' && colon[-1] == ']';
        (void)snprintf(host, sizeof host, "%.*s", (int)(brackets ? bytes - 2 : bytes),
                       text + brackets);
    }
    char *end = NULL;
    unsigned long port = strtoul(port_text, &end, 10);
    bool is_port =
        *port_text >= '0' && *port_text <= '9' && *end == '\0' && port > 0 && port <= 65535;
    const char *numbers = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    struct in_addr v4;
    struct in6_addr v6;
    if (is_port && inet_pton(AF_INET, numbers, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127) {
        *ret = (union address){
            .v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = v4}};
        return 0;
    }
    if (is_port && inet_pton(AF_INET6, numbers, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6)) {
        *ret = (union address){
            .v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = v6}};
        return 0;
    }
    return vamp_err_set(err, -EINVAL,
                        "%s: expected tcp:PORT or tcp:ADDRESS:PORT with an address of this "
                        "machine, such as tcp:127.0.0.1:7100 or tcp:[::1]:7100",
                        source);
}

static int parse_socket(const char *source, union address *ret, struct vamp_err *err)
{
    return strncmp(source, "unix:", 5) == 0 ? parse_unix(source, source + 5, ret, err)
                                            : parse_tcp(source, source + 4, ret, err);
}

int input_check_socket(const char *source, struct vamp_err *err)
{
    union address address;
    return parse_socket(source, &address, err);
}

static int connect_to(struct top_input *input, const union address *address, struct vamp_err *err)
{
    socklen_t bytes = address->any.sa_family == AF_UNIX   ? sizeof address->path
                      : address->any.sa_family == AF_INET ? sizeof address->v4
                                                          : sizeof address->v6;
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* Blocking: on this machine a connection is there or refused at once. */
    if (fd < 0 || connect(fd, &address->any, bytes) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
        int code = vamp_err_set_errno(err, errno, "connect to %s", input->options.source);
        if (fd >= 0) {
            (void)close(fd);
        }
        return code;
    }
    input->fd = fd;
    return 0;
}

int input_connect_unix(struct top_input *input, const char *path, struct vamp_err *err)
{
    union address address;
    int code = parse_unix(input->options.source, path, &address, err);
    return code != 0 ? code : connect_to(input, &address, err);
}

int input_connect(struct top_input *input, struct vamp_err *err)
{
    union address address;
    int code = parse_socket(input->options.source, &address, err);
    return code != 0 ? code : connect_to(input, &address, err);
}

/* ---- files */

/* A long file is read from some line near its end. Its first line, the header, is read in any
 * case: it names the workflow. */
static void skip_to_tail(struct top_input *input, off_t size)
{
    if (input->options.whole || size <= TAIL_BYTES) {
        return;
    }
    ssize_t bytes = pread(input->fd, input->buffer, sizeof input->buffer, 0);
    const char *end = bytes > 0 ? memchr(input->buffer, '\n', (size_t)bytes) : NULL;
    input->taken = 0;
    input->held = end != NULL ? (size_t)(end - input->buffer) + 1 : 0;
    off_t start = lseek(input->fd, size - TAIL_BYTES, SEEK_SET);
    input->offset = start > 0 ? start : 0;
    input->begins_within_line = start > 0;
}

static void restart(struct top_input *input)
{
    input->offset = 0;
    input->taken = input->held = 0;
    input->hung_up = input->rotated = input->finished = false;
    input->begins_within_line = input->skip_line = input->skip_silently = false;
}

static int take_fd(struct top_input *input, int fd, struct vamp_err *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return vamp_err_set_errno(err, errno, "look at %s", input->path);
    }
    if (S_ISDIR(status.st_mode)) {
        return vamp_err_set(err, -EISDIR,
                            "open %s: it is a directory; name the file, such as "
                            "%.200s/vampire.jsonl",
                            input->path, input->path);
    }
    input->kind = S_ISREG(status.st_mode)    ? INPUT_FILE
                  : S_ISFIFO(status.st_mode) ? INPUT_FIFO
                                             : INPUT_STREAM;
    input->device = status.st_dev;
    input->inode = status.st_ino;
    restart(input);
    if (input->fd > STDIN_FILENO) {
        (void)close(input->fd);
    }
    input->fd = fd;
    if (input->kind == INPUT_FILE) {
        skip_to_tail(input, status.st_size);
    }
    return 0;
}

int input_open_path(struct top_input *input, struct vamp_err *err)
{
    /* A FIFO without a writer must not block. */
    int fd = open(input->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 && errno == ENXIO) {
        input->kind = INPUT_STREAM;
        return input_connect_unix(input, input->path, err);
    }
    if (fd < 0) {
        return vamp_err_set_errno(err, errno, "open %s", input->path);
    }
    int code = take_fd(input, fd, err);
    if (code != 0) {
        (void)close(fd);
    }
    return code;
}

/* ---- segments */

/* NAME, NAME.0002, NAME.0003, ... and RUN-0001.jsonl, RUN-0002.jsonl, ...: where the number
 * stands, and the number (1 when there is none). */
static unsigned segment_number(const char *path, size_t *ret_prefix_bytes, const char **ret_suffix)
{
    static const char suffix[] = ".jsonl";
    size_t bytes = strlen(path);
    const char *digits = NULL;
    if (bytes > 11 && strcmp(path + bytes - 6, suffix) == 0 && path[bytes - 11] == '-') {
        digits = path + bytes - 10;
        *ret_suffix = suffix;
    } else if (bytes > 5 && path[bytes - 5] == '.') {
        digits = path + bytes - 4;
        *ret_suffix = "";
    }
    if (digits != NULL && strspn(digits, "0123456789") >= 4) {
        *ret_prefix_bytes = (size_t)(digits - path);
        return (unsigned)strtoul(digits, NULL, 10);
    }
    *ret_prefix_bytes = 0;
    return 1;
}

static void segment_path(char out[static INPUT_PATH_BYTES], const char *path, unsigned ahead)
{
    size_t prefix_bytes = 0;
    const char *suffix = "";
    unsigned number = segment_number(path, &prefix_bytes, &suffix) + ahead;
    int length = prefix_bytes == 0 ? snprintf(out, INPUT_PATH_BYTES, "%s.%04u", path, number)
                                   : snprintf(out, INPUT_PATH_BYTES, "%.*s%04u%s",
                                              (int)prefix_bytes, path, number, suffix);
    if (length < 0 || length >= INPUT_PATH_BYTES) {
        out[0] = '\0'; /* no such file then */
    }
}

/* Whether this file's header, in its first bytes, names the present run. */
static bool is_of_run(int fd, const char *run)
{
    char begin[256];
    char wanted[64];
    ssize_t bytes = pread(fd, begin, sizeof begin - 1, 0);
    begin[bytes > 0 ? bytes : 0] = '\0';
    (void)snprintf(wanted, sizeof wanted, "\"run\":\"%s\"", run);
    return strstr(begin, wanted) != NULL;
}

static bool next_segment(struct top_input *input, const struct top_model *model)
{
    for (unsigned ahead = 1; ahead <= SEGMENTS_AHEAD; ahead++) {
        char path[INPUT_PATH_BYTES];
        segment_path(path, input->path, ahead);
        int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (fd < 0) {
            return false;
        }
        if (is_of_run(fd, top_model_run(model)) && take_fd(input, fd, NULL) == 0) {
            memcpy(input->path, path, strlen(path) + 1);
            return true;
        }
        (void)close(fd);
    }
    return false;
}

bool input_follow(struct top_input *input, const struct top_model *model)
{
    struct stat status;
    if (input->rotated && next_segment(input, model)) {
        return true;
    }
    if (stat(input->path, &status) != 0) {
        return false; /* moved away: wait for the file that replaces it */
    }
    if (status.st_dev == input->device && status.st_ino == input->inode) {
        if (status.st_size >= input->offset) {
            return false;
        }
        /* Cut, to be written again. */
        if (lseek(input->fd, 0, SEEK_SET) != 0) {
            return false;
        }
        restart(input);
        return true;
    }
    return input_open_path(input, NULL) == 0;
}
