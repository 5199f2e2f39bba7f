/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/self_usage.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "vampire/core/clock.h"

int64_t vamp_self_rss_bytes(void)
{
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    char text[128];
    ssize_t length = read(file, text, sizeof text - 1);
    (void)close(file);
    if (length <= 0) {
        return 0;
    }
    text[length] = '\0';
    /* "total resident shared ...", in pages */
    char *end = NULL;
    (void)strtoull(text, &end, 10);
    return (int64_t)strtoull(end, NULL, 10) * sysconf(_SC_PAGESIZE);
}

static int64_t timeval_ns(struct timeval time)
{
    return (int64_t)time.tv_sec * VAMP_NS_PER_SECOND + (int64_t)time.tv_usec * 1000;
}

int64_t vamp_self_cpu_ns(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) {
        return 0;
    }
    return timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
}
