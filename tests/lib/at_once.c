/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/lib/at_once.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct child {
    pid_t process;
    FILE *output; /* a file without a name, for both streams */
};

static int start(struct child *child, int (*run)(const void *, size_t), const void *context,
                 size_t number)
{
    child->output = tmpfile();
    child->process = child->output != NULL ? fork() : -1;
    if (child->process != 0) {
        return child->process < 0 ? -1 : 0;
    }
    (void)dup2(fileno(child->output), STDOUT_FILENO);
    (void)dup2(fileno(child->output), STDERR_FILENO);
    exit(run(context, number)); /* not _exit: sanitizers report at the end */
}

static int finish(const struct child *child)
{
    int status = -1;
    if (child->process > 0) {
        (void)waitpid(child->process, &status, 0);
    }
    if (child->output != NULL) {
        char text[4096];
        size_t bytes;
        rewind(child->output);
        while ((bytes = fread(text, 1, sizeof text, child->output)) > 0) {
            (void)fwrite(text, 1, bytes, stdout);
        }
        (void)fclose(child->output);
    }
    if (status != 0) {
        (void)printf("# a child process ended with %s %d\n",
                     WIFSIGNALED(status) ? "signal" : "code",
                     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    (void)fflush(stdout);
    return status == 0 ? 0 : 1;
}

int at_once(int (*run)(const void *context, size_t number), const void *context, size_t count)
{
    struct child *children = calloc(count, sizeof *children);
    int failures = 0;
    if (children == NULL) {
        return 1;
    }
    (void)fflush(stdout);
    (void)fflush(stderr);
    for (size_t i = 0; i < count; i++) {
        failures += start(&children[i], run, context, i) == 0 ? 0 : 1;
    }
    for (size_t i = 0; i < count; i++) {
        failures += finish(&children[i]);
    }
    free(children);
    return failures;
}

int at_once_without_tsan(int (*run)(const void *context, size_t number), const void *context,
                         size_t count)
{
#ifdef __SANITIZE_THREAD__
    (void)run;
    (void)context;
    (void)count;
    (void)puts("1..0 # SKIP libfabric is not built for the thread sanitizer");
    return 0;
#else
    return at_once(run, context, count);
#endif
}
