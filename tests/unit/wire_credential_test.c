/* SPDX-License-Identifier: BSD-3-Clause */
/* Credentials of MUNGE, made and checked with a munged of the test's own, each with its key and
 * socket. Skipped where munged is not installed. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "maestro/wire/credential.h"
#include "vampire/core/clock.h"

#define MUNGED "/usr/sbin/munged"
#define PATIENCE_NS (20 * VAMP_NS_PER_SECOND)

enum { OPTIONS = 5 };

struct daemon {
    char folder[32];
    char options[OPTIONS][80]; /* key, socket, pid, log, seed */
    pid_t process;
};

static const char *path_of(struct daemon *daemon, unsigned option)
{
    return strchr(daemon->options[option], '=') + 1;
}

static void make_key(const char *path, char byte)
{
    char key[64];
    memset(key, byte, sizeof key);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
    assert_true(file >= 0);
    assert_int_equal(write(file, key, sizeof key), sizeof key);
    assert_int_equal(close(file), 0);
}

static bool answers(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    const bool connected = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    (void)close(fd);
    return connected;
}

/* The socket exists before the daemon listens on it. */
static void await_socket(const char *path)
{
    const int64_t until_ns = vamp_clock_monotonic_ns(&vamp_clock_system) + PATIENCE_NS;
    while (!answers(path) && vamp_clock_monotonic_ns(&vamp_clock_system) < until_ns) {
        (void)usleep(1000);
    }
    assert_true(answers(path));
}

static void start_daemon(struct daemon *daemon, char key)
{
    static const char *const names[OPTIONS] = {"key-file", "socket", "pid-file", "log-file",
                                               "seed-file"};
    (void)strcpy(daemon->folder, "/tmp/vampire-munge-XXXXXX");
    assert_non_null(mkdtemp(daemon->folder));
    assert_int_equal(chmod(daemon->folder, 0711), 0);
    for (unsigned i = 0; i < OPTIONS; i++) {
        (void)snprintf(daemon->options[i], sizeof daemon->options[i], "--%s=%s/%s", names[i],
                       daemon->folder, names[i]);
    }
    make_key(path_of(daemon, 0), key);
    daemon->process = fork();
    assert_true(daemon->process >= 0);
    if (daemon->process == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        (void)dup2(nowhere, STDOUT_FILENO);
        (void)dup2(nowhere, STDERR_FILENO);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves none behind */
        (void)execl(MUNGED, "munged", "--foreground", "--force", daemon->options[0],
                    daemon->options[1], daemon->options[2], daemon->options[3], daemon->options[4],
                    (char *)NULL);
        _exit(127);
    }
    await_socket(path_of(daemon, 1));
}

static void stop_daemon(struct daemon *daemon)
{
    char command[64];
    assert_int_equal(kill(daemon->process, SIGTERM), 0);
    assert_int_equal(waitpid(daemon->process, NULL, 0), daemon->process);
    (void)snprintf(command, sizeof command, "rm -r %s", daemon->folder);
    assert_int_equal(system(command), 0);
}

/* Uses the daemon from now on. */
static struct credentials *credentials_of(struct daemon *daemon)
{
    struct credentials *credentials = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(setenv(CREDENTIAL_ENV_SOCKET, path_of(daemon, 1), 1), 0);
    if (credentials_open(&credentials, &err) != 0) {
        fail_msg("%s", err.text);
    }
    return credentials;
}

static struct secure_binding binding_of(uint8_t byte)
{
    struct secure_binding binding;
    memset(binding.bytes, byte, sizeof binding.bytes);
    return binding;
}

static void assert_refused(struct credentials *credentials, const struct secure_binding *binding,
                           const struct credential *credential, int result, const char *why)
{
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(credential_check(credentials, binding, (const uint8_t *)credential->text,
                                      credential->length, &err),
                     result);
    if (strstr(err.text, why) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
    }
}

static struct credential make(struct credentials *credentials, const struct secure_binding *binding)
{
    struct credential credential = {.length = 0};
    struct vamp_err err = VAMP_ERR_NONE;
    if (credential_make(credentials, binding, &credential, &err) != 0) {
        fail_msg("%s", err.text);
    }
    return credential;
}

/* Another user makes the credential. Needs to be root. */
static void assert_other_user_refused(struct credentials *credentials,
                                      const struct secure_binding *binding)
{
    int ends[2];
    struct credential credential = {.length = 0};
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct vamp_err err = VAMP_ERR_NONE;
        const bool made = setuid(65534) == 0 &&
                          credential_make(credentials, binding, &credential, &err) == 0 &&
                          write(ends[1], &credential, sizeof credential) == sizeof credential;
        (void)fputs(err.text, stderr);
        _exit(made ? 0 : 1);
    }
    assert_int_equal(close(ends[1]), 0);
    assert_int_equal(read(ends[0], &credential, sizeof credential), sizeof credential);
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_refused(credentials, binding, &credential, -EACCES, "runs as user 65534");
}

static void test_credentials(void **state)
{
    (void)state;
    struct daemon daemon;
    struct daemon foreign;
    const struct secure_binding binding = binding_of(1);
    const struct secure_binding other = binding_of(2);
    struct credential none = {.length = 0};
    start_daemon(&daemon, 'k');
    start_daemon(&foreign, 'f');
    struct credentials *elsewhere = credentials_of(&foreign);
    struct credentials *credentials = credentials_of(&daemon);

    struct credential credential = make(credentials, &binding);
    assert_int_equal(credential_check(credentials, &binding, (const uint8_t *)credential.text,
                                      credential.length, NULL),
                     0);
    assert_refused(credentials, &binding, &credential, -EACCES, "has been used before");
    credential = make(credentials, &other);
    assert_refused(credentials, &binding, &credential, -EACCES, "belongs to another connection");
    credential = make(elsewhere, &binding);
    assert_refused(credentials, &binding, &credential, -EACCES, "the same MUNGE key");
    assert_refused(credentials, &binding, &none, -EACCES, "has no credential");
    (void)strcpy(none.text, "MUNGE:nonsense:");
    none.length = strlen(none.text);
    assert_refused(credentials, &binding, &none, -EACCES, "not accepted");
    if (geteuid() == 0) {
        assert_other_user_refused(credentials, &binding);
    }

    stop_daemon(&daemon);
    credential = make(elsewhere, &binding);
    assert_refused(credentials, &binding, &credential, -ECONNREFUSED, "munged does not answer at");
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(credential_make(credentials, &binding, &credential, &err), -ECONNREFUSED);
    assert_non_null(strstr(err.text, "is it running on this host"));
    credentials_close(credentials);
    credentials_close(elsewhere);
    credentials_close(NULL);
    stop_daemon(&foreign);
}

int main(void)
{
    if (access(MUNGED, X_OK) != 0) {
        (void)puts("skipped: " MUNGED " is not installed");
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_credentials)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
