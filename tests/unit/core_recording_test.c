/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings: what was written is read back, also when the file is cut or damaged anywhere. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "recording.pb-c.h"
#include "tests/lib/recorder.h"
#include "vampire/core/protobuf/wire.h"
#include "vampire/core/recording/recording.h"

struct fixture {
    char folder[64];
    char path[96];
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    (void)snprintf(fixture->folder, sizeof fixture->folder, "/tmp/vampire-recording-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    (void)snprintf(fixture->path, sizeof fixture->path, "%s/events.rec", fixture->folder);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    (void)unlink(fixture->path);
    assert_int_equal(rmdir(fixture->folder), 0);
    free(fixture);
    return 0;
}

static const struct vamp_recording_header header = {
    .workflow = "a workflow, \"quoted\"",
    .component = "vampire",
    .producer = "vampire test",
    .run_id = "0f9d",
    .host = "node1",
    .user = "operator",
    .batch_job = "4711.0",
    .pid = 4711,
    .started_ns = -7,
    .event_kinds = 0xfffe,
};

static struct vamp_event make_event(uint64_t number, char *name)
{
    uint32_t length = (uint32_t)(number * 31 % 300);
    memset(name, 'a' + (int)(number % 26), length);
    return (struct vamp_event){
        .kind = (uint8_t)(3 + number % 11),
        .phase = (uint8_t)(number % 2),
        .serial = number,
        .time_ns = 1000 * (int64_t)number,
        .present = (uint16_t)(VAMP_HAS_SERIAL | VAMP_HAS_CDO_NAME |
                              (number % 3 == 0 ? 0U : (unsigned)VAMP_HAS_TIME)),
        .name = name,
        .name_length = length,
    };
}

static bool is_event(const struct vamp_event *event, uint64_t number)
{
    char name[300];
    const struct vamp_event expected = make_event(number, name);
    return event->kind == expected.kind && event->phase == expected.phase &&
           event->serial == number && event->time_ns == expected.time_ns &&
           event->present == expected.present && event->name_length == expected.name_length &&
           memcmp(event->name, name, expected.name_length) == 0;
}

static void write_events(const char *path, uint64_t count, bool end)
{
    struct vamp_recorder *recorder = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(recorder_open(path, &header, &recorder, &err), 0);
    for (uint64_t i = 0; i < count; i++) {
        char name[300];
        const struct vamp_event event = make_event(i, name);
        assert_int_equal(vamp_recorder_add(recorder, &event, &err), 0);
        if (i % 1000 == 999) {
            const struct vamp_event mark = {.kind = VAMP_EVENT_LOST,
                                            .reason = VAMP_LOSS_RING,
                                            .count = i,
                                            .time_ns = event.time_ns};
            assert_int_equal(vamp_recorder_add(recorder, &mark, &err), 0);
        }
    }
    if (!end) { /* as if killed: the file ends with a whole batch and no end */
        assert_int_equal(vamp_recorder_flush(recorder, true, &err), 0);
        assert_int_equal(recorder->written, count);
        off_t bytes = (off_t)recorder->bytes;
        assert_int_equal(vamp_recorder_close(recorder, &err), 0);
        assert_int_equal(truncate(path, bytes), 0);
        return;
    }
    assert_int_equal(vamp_recorder_close(recorder, &err), 0);
}

struct tally {
    uint64_t events, lost, rejected, wrong, pauses;
    bool remarked;
};

/* Events whose names are valid. */
#define KEPT 64
struct kept {
    struct vamp_event events[KEPT];
    unsigned count;
};

static void keep(struct kept *kept, const struct vamp_event *event)
{
    if (kept->count < KEPT) {
        kept->events[kept->count++] = *event;
    }
}

static uint64_t drop_kept(struct kept *kept)
{
    uint64_t wrong = 0;
    for (unsigned i = 0; i < kept->count; i++) {
        wrong += !is_event(&kept->events[i], kept->events[i].serial);
    }
    kept->count = 0;
    return wrong;
}

/* Reads to the end; an event that is not one that was written counts as wrong, and so does one that
 * changes before the names may. */
static int read_all(const char *path, struct tally *tally)
{
    struct vamp_recording *recording = NULL;
    struct vamp_recording_header got;
    struct vamp_err err = VAMP_ERR_NONE;
    *tally = (struct tally){0};
    int result = vamp_recording_open(path, &recording, &got, &err);
    if (result != 0) {
        assert_true(err.text[0] != '\0');
        return result;
    }
    struct vamp_event event;
    struct kept kept = {.count = 0};
    enum vamp_recording_status status;
    while ((status = vamp_recording_next(recording, &event, &err)) <= VAMP_RECORDING_PAUSE) {
        if (status == VAMP_RECORDING_PAUSE) {
            tally->wrong += drop_kept(&kept);
            tally->pauses++;
        } else if (event.kind == VAMP_EVENT_LOST) {
            tally->lost += event.count;
        } else if (event.kind == VAMP_EVENT_REJECTED) {
            tally->rejected += event.count;
        } else {
            tally->wrong += !is_event(&event, event.serial);
            tally->events++;
            keep(&kept, &event);
        }
    }
    tally->wrong += drop_kept(&kept);
    assert_int_equal(status, VAMP_RECORDING_END);
    assert_int_equal(vamp_recording_next(recording, &event, &err), VAMP_RECORDING_END);
    tally->remarked = vamp_recording_remark(recording) != NULL;
    vamp_recording_close(recording);
    return 0;
}

static enum vamp_recording_status next_of(struct vamp_recording *recording,
                                          struct vamp_event *event, struct vamp_err *err)
{
    const enum vamp_recording_status status = vamp_recording_next(recording, event, err);
    return status != VAMP_RECORDING_PAUSE ? status : vamp_recording_next(recording, event, err);
}

static void what_is_written_is_read(void **state)
{
    struct fixture *fixture = *state;
    write_events(fixture->path, 5000, true);
    struct vamp_recording *recording = NULL;
    struct vamp_recording_header got;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_recording_open(fixture->path, &recording, &got, &err), 0);
    assert_string_equal(got.workflow, header.workflow);
    assert_string_equal(got.component, header.component);
    assert_string_equal(got.producer, header.producer);
    assert_string_equal(got.run_id, header.run_id);
    assert_string_equal(got.host, header.host);
    assert_string_equal(got.user, header.user);
    assert_string_equal(got.batch_job, header.batch_job);
    assert_int_equal(got.pid, header.pid);
    assert_true(got.started_ns == -7 && got.event_kinds == 0xfffe);
    struct vamp_event event;
    for (uint64_t i = 0; i < 5000; i++) {
        assert_int_equal(next_of(recording, &event, &err), VAMP_RECORDING_EVENT);
        assert_true(is_event(&event, i));
        if (i % 1000 == 999) { /* marks keep their place */
            assert_int_equal(next_of(recording, &event, &err), VAMP_RECORDING_EVENT);
            assert_int_equal(event.kind, VAMP_EVENT_LOST);
            assert_int_equal(event.reason, VAMP_LOSS_RING);
            assert_int_equal(event.count, i);
        }
    }
    assert_int_equal(next_of(recording, &event, &err), VAMP_RECORDING_END);
    assert_null(vamp_recording_remark(recording));
    vamp_recording_close(recording);
    vamp_recording_close(NULL);
    struct tally tally;
    assert_int_equal(read_all(fixture->path, &tally), 0);
    assert_int_equal(tally.wrong, 0);
    assert_true(tally.pauses > 0);
}

static size_t load(const char *path, uint8_t **ret_bytes)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    size_t length = (size_t)status.st_size;
    uint8_t *bytes = malloc(length);
    assert_non_null(bytes);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    *ret_bytes = bytes;
    return length;
}

/* A reader that takes a batch as a whole, as every protobuf library does, sees each mark. */
static void other_readers_see_the_same(void **state)
{
    struct fixture *fixture = *state;
    write_events(fixture->path, 5000, true);
    uint8_t *bytes = NULL;
    const size_t length = load(fixture->path, &bytes);
    uint64_t events = 0, marked = 0, messages = 0;
    bool end = false;
    for (size_t at = 0; at < length; messages++) {
        uint64_t message_length = 0;
        const uint8_t *body =
            vamp_varint_read(bytes + at, bytes + length, VAMP_VARINT_BYTES_MAX, &message_length);
        assert_non_null(body);
        at = (size_t)(body - bytes);
        if (messages != 0) { /* the header comes first */
            Vamp__Recording__Batch *batch =
                vamp__recording__batch__unpack(NULL, message_length, bytes + at);
            assert_non_null(batch);
            assert_false(end);
            assert_int_equal(batch->first, events);
            if (batch->mark != NULL) { /* it stands before the events of its batch */
                assert_int_equal(batch->first, batch->mark->count + 1);
                marked += batch->mark->count;
            }
            events += batch->n_events;
            end = batch->has_end && batch->end;
            vamp__recording__batch__free_unpacked(batch, NULL);
        }
        at += message_length;
    }
    free(bytes);
    assert_true(end);
    assert_int_equal(events, 5000);
    assert_int_equal(marked, 999 + 1999 + 2999 + 3999 + 4999);
}

static void an_empty_recording_is_one(void **state)
{
    struct fixture *fixture = *state;
    struct tally tally;
    write_events(fixture->path, 0, true);
    assert_int_equal(read_all(fixture->path, &tally), 0);
    assert_true(tally.events == 0 && !tally.remarked);
    struct vamp_recorder *recorder = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(recorder_open(fixture->path, &header, &recorder, &err), -EEXIST);
    assert_int_equal(vamp_recorder_close(NULL, &err), 0);
}

static void without_its_end_it_says_so(void **state)
{
    struct fixture *fixture = *state;
    struct tally tally;
    write_events(fixture->path, 100, false);
    assert_int_equal(read_all(fixture->path, &tally), 0);
    assert_true(tally.events == 100 && tally.lost == 0 && tally.remarked);
}

static void other_files_are_refused(void **state)
{
    struct fixture *fixture = *state;
    struct tally tally;
    assert_int_equal(read_all(fixture->path, &tally), -ENOENT);
    const char *const others[] = {"", "x", "\x89HDF\r\n\x1a\n", "{\"a\": 1}\n",
                                  "\x13\x0a\x11vampire-recordinX"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        FILE *file = fopen(fixture->path, "w");
        assert_non_null(file);
        assert_true(fputs(others[i], file) >= 0);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(read_all(fixture->path, &tally), -EBADMSG);
    }
    FILE *file = fopen(fixture->path, "w"); /* of a newer version */
    assert_non_null(file);
    assert_true(fputs("\x15\x0a\x11vampire-recording\x10\x02", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(read_all(fixture->path, &tally), -EPROTONOSUPPORT);
    assert_int_equal(read_all(fixture->folder, &tally), -EINVAL);
}

static void store(const char *path, const uint8_t *bytes, size_t length)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* kill -9 or a full disk at any moment: everything before the torn record is there. */
static void cut_anywhere(void **state)
{
    struct fixture *fixture = *state;
    write_events(fixture->path, 1500, true);
    uint8_t *bytes = NULL;
    size_t length = load(fixture->path, &bytes);
    uint64_t most = 0;
    for (size_t cut = length - 1; cut > 200 /* the header has fewer */;
         cut -= cut > 2000 ? 997 : 13) {
        assert_int_equal(truncate(fixture->path, (off_t)cut), 0);
        struct tally tally;
        assert_int_equal(read_all(fixture->path, &tally), 0);
        assert_true(tally.remarked);
        assert_int_equal(tally.wrong, 0);
        assert_int_equal(tally.rejected, 0);
        most = tally.events > most ? tally.events : most;
    }
    assert_int_equal(most, 1500);
    free(bytes);
}

/* Whether the file can be read at all; fails unless its damage is noticed. */
static bool is_noticed(const char *path, size_t at, unsigned change)
{
    struct tally tally;
    int result = read_all(path, &tally);
    assert_true(result == 0 || result == -EBADMSG || result == -EPROTONOSUPPORT);
    if (result == 0 && !tally.remarked) {
        fail_msg("byte %zu changed by %u: not noticed", at, change);
    }
    assert_true(result != 0 || tally.events <= 1100);
    return result == 0;
}

/* A changed byte changes at most what it lies in, and is always noticed: no crash, no endless loop,
 * no event too many. */
static void damaged_anywhere(void **state)
{
    struct fixture *fixture = *state;
    write_events(fixture->path, 1100, true);
    uint8_t *bytes = NULL;
    size_t length = load(fixture->path, &bytes);
    unsigned noticed = 0;
    for (size_t at = 0; at < length; at += at < 300 ? 1 : 331) {
        const uint8_t kept = bytes[at];
        for (unsigned change = 1; change < 256; change += 43) {
            bytes[at] = (uint8_t)(kept ^ change);
            store(fixture->path, bytes, length);
            noticed += is_noticed(fixture->path, at, change);
        }
        bytes[at] = kept;
    }
    assert_true(noticed > 50);
    free(bytes);
}

/* A batch that cannot be walked is skipped, and the next one says exactly how much it held. */
static void a_lost_batch_is_counted_exactly(void **state)
{
    struct fixture *fixture = *state;
    write_events(fixture->path, 3500, true);
    uint8_t *bytes = NULL;
    size_t length = load(fixture->path, &bytes);
    /* The third message, behind the header and the first batch: break its first event's tag. */
    size_t at = 0, start = 0;
    for (unsigned message = 0; message < 3; message++) {
        uint64_t message_length = 0;
        const uint8_t *body =
            vamp_varint_read(bytes + at, bytes + length, VAMP_VARINT_BYTES_MAX, &message_length);
        assert_non_null(body);
        start = (size_t)(body - bytes);
        at = start + message_length;
    }
    while (bytes[start] != 0x1a) { /* the first event's tag */
        start++;
    }
    bytes[start] = 0x07; /* a wire type that does not exist */
    store(fixture->path, bytes, length);
    struct tally tally;
    assert_int_equal(read_all(fixture->path, &tally), 0);
    assert_int_equal(tally.wrong, 0);
    assert_true(tally.remarked);
    const uint64_t told = 999 + 1999 + 2999; /* the marks that were recorded */
    assert_true(tally.lost > told);
    assert_int_equal(tally.events + tally.lost - told, 3500);
    free(bytes);
}

/* A full disk: the failure is reported, the file keeps its whole batches, and the count is
 * exact. */
static void a_full_disk(void **state)
{
    struct fixture *fixture = *state;
    const struct rlimit limit = {.rlim_cur = 100000, .rlim_max = RLIM_INFINITY};
    const struct rlimit none = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    (void)signal(SIGXFSZ, SIG_IGN);
    struct vamp_recorder *recorder = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(recorder_open(fixture->path, &header, &recorder, &err), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    uint64_t failures = 0;
    for (uint64_t i = 0; i < 2000; i++) {
        char name[300];
        const struct vamp_event event = make_event(i, name);
        failures += vamp_recorder_add(recorder, &event, &err) != 0;
    }
    assert_int_equal(err.code, -EFBIG);
    assert_true(failures > 0);
    assert_true(vamp_recorder_flush(recorder, false, &err) != 0);
    const uint64_t written = recorder->written;
    assert_int_equal(written + recorder->lost, 2000);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    assert_int_equal(vamp_recorder_close(recorder, &err), 0);
    struct tally tally;
    assert_int_equal(read_all(fixture->path, &tally), 0);
    assert_int_equal(tally.events, written);
    assert_true(tally.lost == 0 && tally.remarked && written > 0);
}

#define RECORDING_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECORDING_TEST(what_is_written_is_read),
        RECORDING_TEST(other_readers_see_the_same),
        RECORDING_TEST(an_empty_recording_is_one),
        RECORDING_TEST(without_its_end_it_says_so),
        RECORDING_TEST(other_files_are_refused),
        RECORDING_TEST(cut_anywhere),
        RECORDING_TEST(damaged_anywhere),
        RECORDING_TEST(a_lost_batch_is_counted_exactly),
        RECORDING_TEST(a_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
