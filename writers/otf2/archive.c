/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of an archive: a directory with an anchor file, the definitions, and a file of events
 * for each location. Only a completed archive can be read, so whatever is not completed is removed.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vampire/core/event/cdo_id.h"
#include "version.h"
#include "writers/format/file.h"
#include "writers/format/run_labels.h"
#include "writers/otf2/internal.h"

#define NAME "trace"
#define FIRST_CAPACITY 64

/* ---- errors */

/* The library writes to stderr what it returns, unless it is told not to. */
static OTF2_ErrorCode be_quiet(void *context, const char *file, uint64_t line, const char *function,
                               OTF2_ErrorCode code, const char *format, va_list values)
{
    (void)context, (void)file, (void)line, (void)function, (void)format, (void)values;
    return code;
}

/* Some of the library's functions return what is wrong with the archive and not what the system
 * refused, which is in errno: 0 before the calls. */
static int check_code(struct otf2_archive *archive, OTF2_ErrorCode code, struct vamp_err *err)
{
    if (code == OTF2_SUCCESS) {
        return 0;
    }
    archive->failed = true;
    return errno != 0 ? vamp_err_set_errno(err, errno, "write %s", archive->path)
                      : vamp_err_set(err, -EIO, "write %s: %s", archive->path,
                                     OTF2_Error_GetDescription(code));
}

static int no_memory(struct otf2_archive *archive, struct vamp_err *err)
{
    archive->failed = true;
    return vamp_err_set_errno(err, ENOMEM, "write %s", archive->path);
}

/* ---- events */

/* The times of an archive have no sign. */
static uint64_t time_of(struct otf2_archive *archive, int64_t time_ns)
{
    const uint64_t time = time_ns < 0 ? 0 : (uint64_t)time_ns;
    archive->least_ns = time < archive->least_ns ? time : archive->least_ns;
    archive->most_ns = time > archive->most_ns ? time : archive->most_ns;
    return time;
}

static OTF2_ErrorCode add_text(struct otf2_archive *archive, enum otf2_attribute attribute,
                               const char *text)
{
    uint32_t number = 0;
    if (text == NULL || text[0] == '\0') {
        return OTF2_SUCCESS;
    }
    const OTF2_ErrorCode code = otf2_text(&archive->texts, text, &number);
    return code == OTF2_SUCCESS
               ? OTF2_AttributeList_AddStringRef(archive->attributes, attribute, number)
               : code;
}

static OTF2_ErrorCode add_attributes(struct otf2_archive *archive,
                                     const struct vamp_trace_span *span)
{
    char id[VAMP_CDO_ID_TEXT_BYTES] = "";
    if (span->id_known) {
        vamp_cdo_id_text(span->id, id);
    }
    OTF2_ErrorCode code = add_text(archive, OTF2_OF_CDO, span->cdo[0] != '\0' ? span->cdo : id);
    if (code == OTF2_SUCCESS && span->size_known) {
        code = OTF2_AttributeList_AddUint64(archive->attributes, OTF2_OF_BYTES, span->size_bytes);
    }
    code = code == OTF2_SUCCESS ? add_text(archive, OTF2_OF_PEER, span->peer) : code;
    return code == OTF2_SUCCESS ? add_text(archive, OTF2_OF_END, span->end) : code;
}

static OTF2_ErrorCode enter(struct otf2_archive *archive, struct otf2_location *location,
                            const struct vamp_trace_span *span)
{
    const uint64_t time = time_of(archive, span->start_ns);
    OTF2_ErrorCode code = add_attributes(archive, span);
    if (code == OTF2_SUCCESS) {
        code = OTF2_EvtWriter_Enter(location->writer, archive->attributes, time, otf2_region(span));
        location->events++;
    }
    if (code == OTF2_SUCCESS && span->arrow == VAMP_TRACE_ARROW_BEGINS) {
        code =
            OTF2_EvtWriter_MpiSend(location->writer, NULL, time, span->arrow_track,
                                   OTF2_COMMUNICATOR, (uint32_t)span->arrow_id, span->size_bytes);
        location->events++;
    }
    return code;
}

static OTF2_ErrorCode leave(struct otf2_archive *archive, struct otf2_location *location,
                            const struct vamp_trace_span *span)
{
    const uint64_t time = time_of(archive, span->end_ns);
    OTF2_ErrorCode code = OTF2_SUCCESS;
    if (span->arrow == VAMP_TRACE_ARROW_ENDS) {
        code =
            OTF2_EvtWriter_MpiRecv(location->writer, NULL, time, span->arrow_track,
                                   OTF2_COMMUNICATOR, (uint32_t)span->arrow_id, span->size_bytes);
        location->events++;
    }
    location->events++;
    return code == OTF2_SUCCESS
               ? OTF2_EvtWriter_Leave(location->writer, NULL, time, otf2_region(span))
               : code;
}

static OTF2_ErrorCode marker_of(struct otf2_archive *archive, const char *word,
                                OTF2_MarkerRef *ret_marker)
{
    unsigned i = 0;
    while (i < archive->marker_count && strcmp(archive->marker_words[i], word) != 0) {
        i++;
    }
    *ret_marker = i;
    if (i < archive->marker_count) {
        return OTF2_SUCCESS;
    }
    if (i == OTF2_MARKERS_MAX) {
        return OTF2_ERROR_EOVERFLOW;
    }
    archive->marker_words[archive->marker_count++] = word;
    return OTF2_MarkerWriter_WriteDefMarker(archive->markers, i, "vampire", word,
                                            OTF2_SEVERITY_MEDIUM);
}

static OTF2_ErrorCode write_mark(struct otf2_archive *archive, uint32_t location,
                                 const struct vamp_trace_span *mark)
{
    OTF2_MarkerRef marker = 0;
    char text[VAMP_CDO_NAME_BYTES + 32];
    (void)snprintf(text, sizeof text, "%llu%s%s", (unsigned long long)mark->count,
                   mark->cdo[0] != '\0' ? " " : "", mark->cdo);
    const OTF2_ErrorCode code = marker_of(archive, mark->word, &marker);
    return code == OTF2_SUCCESS
               ? OTF2_MarkerWriter_WriteMarker(archive->markers, time_of(archive, mark->start_ns),
                                               0, marker, OTF2_MARKER_SCOPE_LOCATION, location,
                                               text)
               : code;
}

static int otf2_spans(void *self, const struct vamp_trace_track *track,
                      const struct vamp_trace_span *spans, unsigned count, struct vamp_err *err)
{
    struct otf2_archive *archive = self;
    struct otf2_location *location = &archive->locations[track->number];
    errno = 0;
    if (spans[0].what == VAMP_TRACE_MARK) {
        return check_code(archive, write_mark(archive, track->number, &spans[0]), err);
    }
    OTF2_ErrorCode code = enter(archive, location, &spans[0]);
    for (unsigned i = 1; i < count && code == OTF2_SUCCESS; i++) {
        code = enter(archive, location, &spans[i]);
        code = code == OTF2_SUCCESS ? leave(archive, location, &spans[i]) : code;
    }
    code = code == OTF2_SUCCESS ? leave(archive, location, &spans[0]) : code;
    return check_code(archive, code, err);
}

/* ---- tracks */

static int grow_locations(struct otf2_archive *archive)
{
    if (archive->count < archive->capacity) {
        return 0;
    }
    const size_t capacity = archive->capacity > 0 ? archive->capacity * 2 : FIRST_CAPACITY;
    struct otf2_location *locations = reallocarray(archive->locations, capacity, sizeof *locations);
    if (locations == NULL) {
        return -ENOMEM;
    }
    archive->locations = locations;
    archive->capacity = capacity;
    return 0;
}

static int grow_processes(struct otf2_archive *archive, uint32_t process)
{
    size_t count = archive->process_count > 0 ? archive->process_count : FIRST_CAPACITY;
    while (count <= process) {
        count *= 2;
    }
    if (count == archive->process_count) {
        return 0;
    }
    struct otf2_process *processes = reallocarray(archive->processes, count, sizeof *processes);
    if (processes == NULL) {
        return -ENOMEM;
    }
    archive->processes = processes;
    while (archive->process_count < count) {
        processes[archive->process_count++] = (struct otf2_process){.name = OTF2_UNDEFINED_STRING};
    }
    return 0;
}

static OTF2_ErrorCode name_track(struct otf2_archive *archive, const struct vamp_trace_track *track)
{
    char lane[64];
    const char *kind = vamp_trace_kind_name(track->kind);
    (void)snprintf(lane, sizeof lane, track->lane == 0 ? "%s" : "%s %u", kind, track->lane + 1);
    const OTF2_ErrorCode code =
        otf2_text(&archive->texts, lane, &archive->locations[track->number].name);
    return code == OTF2_SUCCESS
               ? otf2_text(&archive->texts, track->name, &archive->processes[track->process].name)
               : code;
}

static int otf2_track(void *self, const struct vamp_trace_track *track, struct vamp_err *err)
{
    struct otf2_archive *archive = self;
    assert(track->number == archive->count);
    errno = 0;
    OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive->archive, archive->count);
    if (writer == NULL || grow_locations(archive) != 0 ||
        grow_processes(archive, track->process) != 0) {
        return no_memory(archive, err);
    }
    archive->locations[archive->count++] =
        (struct otf2_location){.writer = writer, .process = track->process};
    return check_code(archive, name_track(archive, track), err);
}

/* ---- begin and end */

static int otf2_begin(void *self, int64_t begin_ns, struct vamp_err *err)
{
    (void)self, (void)begin_ns, (void)err;
    return 0;
}

static int otf2_flush(void *self, struct vamp_err *err)
{
    (void)self, (void)err;
    return 0;
}

/* The files of the archive: for `location` = 0, 1, ... of each, then the rest, then the folders.
 * False at the end. */
static bool file_of(const struct otf2_archive *archive, size_t number, char **ret_path)
{
    static const char *const rest[] = {NAME ".otf2", NAME ".def", NAME ".marker", NAME, ""};
    const size_t of_locations = archive->count * 2;
    if (number >= of_locations + sizeof rest / sizeof *rest) {
        return false;
    }
    const int length =
        number < of_locations
            ? asprintf(ret_path, "%s/" NAME "/%zu.%s", archive->directory, number / 2,
                       number % 2 == 0 ? "evt" : "def")
            : asprintf(ret_path, "%s/%s", archive->directory, rest[number - of_locations]);
    *ret_path = length < 0 ? NULL : *ret_path;
    return true;
}

/* `apply` to every file, folders last. 0, or the first -errno of `apply`. */
static int for_each_file(const struct otf2_archive *archive,
                         int (*apply)(const char *path, unsigned access))
{
    char *path = NULL;
    int first = 0;
    for (size_t i = 0; file_of(archive, i, &path); i++) {
        const int code = path != NULL ? apply(path, archive->access) : -ENOMEM;
        first = first != 0 ? first : code;
        free(path);
    }
    return first;
}

static int remove_file(const char *path, unsigned access)
{
    (void)access;
    return remove(path) == 0 ? 0 : -errno;
}

/* The library creates files with the modes that the process was started with. */
static int permit(const char *path, unsigned access)
{
    struct stat status;
    return lstat(path, &status) == 0
               ? vamp_target_permit(path, (enum vamp_target_access)access, S_ISDIR(status.st_mode))
               : 0;
}

static OTF2_ErrorCode close_locations(struct otf2_archive *archive)
{
    OTF2_ErrorCode code = OTF2_SUCCESS;
    for (size_t i = 0; i < archive->count && code == OTF2_SUCCESS; i++) {
        code = OTF2_Archive_CloseEvtWriter(archive->archive, archive->locations[i].writer);
    }
    code = code == OTF2_SUCCESS ? OTF2_Archive_CloseEvtFiles(archive->archive) : code;
    code = code == OTF2_SUCCESS ? OTF2_Archive_OpenDefFiles(archive->archive) : code;
    for (size_t i = 0; i < archive->count && code == OTF2_SUCCESS; i++) {
        OTF2_DefWriter *writer = OTF2_Archive_GetDefWriter(archive->archive, i);
        code = writer != NULL ? OTF2_Archive_CloseDefWriter(archive->archive, writer)
                              : OTF2_ERROR_ENOMEM;
    }
    return code == OTF2_SUCCESS ? OTF2_Archive_CloseDefFiles(archive->archive) : code;
}

static int otf2_complete(void *self, struct vamp_err *err)
{
    struct otf2_archive *archive = self;
    errno = 0;
    OTF2_ErrorCode code = close_locations(archive);
    code = code == OTF2_SUCCESS ? otf2_define(archive) : code;
    code = code == OTF2_SUCCESS ? OTF2_Archive_CloseMarkerWriter(archive->archive, archive->markers)
                                : code;
    if (code == OTF2_SUCCESS) {
        OTF2_Archive *closing = archive->archive;
        archive->archive = NULL;
        code = OTF2_Archive_Close(closing);
    }
    if (code != OTF2_SUCCESS) {
        return check_code(archive, code, err);
    }
    const int result = for_each_file(archive, permit);
    archive->failed = result != 0;
    return result == 0
               ? 0
               : vamp_err_set_errno(err, -result, "set the permissions of %s", archive->directory);
}

static void free_archive(struct otf2_archive *archive)
{
    if (archive->attributes != NULL) {
        (void)OTF2_AttributeList_Delete(archive->attributes);
    }
    otf2_texts_done(&archive->texts);
    free(archive->locations);
    free(archive->processes);
    free(archive->directory);
    free(archive->path);
    free(archive);
}

static int otf2_close(void *self, const struct vamp_trace_end *end, bool remove,
                      struct vamp_err *err)
{
    struct otf2_archive *archive = self;
    (void)err;
    if (archive == NULL) {
        return 0;
    }
    const bool incomplete = archive->archive != NULL || archive->failed;
    if (archive->archive != NULL) {
        (void)OTF2_Archive_Close(archive->archive);
    }
    if (remove || end == NULL || incomplete) {
        (void)for_each_file(archive, remove_file);
    }
    free_archive(archive);
    return 0;
}

static OTF2_FlushType always_flush(void *context, OTF2_FileType type, OTF2_LocationRef location,
                                   void *caller, bool is_last)
{
    (void)context, (void)type, (void)location, (void)caller, (void)is_last;
    return OTF2_FLUSH;
}

/* Who and where, as properties VAMPIRE::WORKFLOW, VAMPIRE::RUN and so on; those that are not known
 * are left out. */
static OTF2_ErrorCode set_properties(struct otf2_archive *archive, const struct vamp_run *run)
{
    OTF2_ErrorCode code = OTF2_SUCCESS;
    for (unsigned label = 0; label < VAMP_RUN_LABEL_COUNT && code == OTF2_SUCCESS; label++) {
        char name[64], scratch[VAMP_RUN_LABEL_BYTES];
        const char *value = vamp_run_label(run, (enum vamp_run_label)label, scratch);
        (void)snprintf(name, sizeof name, "VAMPIRE::%s", vamp_run_label_words[label]);
        if (value[0] != '\0') {
            code = OTF2_Archive_SetProperty(archive->archive, name, value, true);
        }
    }
    return code;
}

static OTF2_ErrorCode describe_run(struct otf2_archive *archive,
                                   const struct vamp_writer_target *target)
{
    uint32_t workflow = 0, kind = 0;
    OTF2_ErrorCode code = OTF2_Archive_SetCreator(archive->archive, "vampire " VAMP_VERSION);
    code = code == OTF2_SUCCESS ? OTF2_Archive_SetDescription(archive->archive, target->run->id)
                                : code;
    code = code == OTF2_SUCCESS ? set_properties(archive, target->run) : code;
    code =
        code == OTF2_SUCCESS ? otf2_text(&archive->texts, target->run->workflow, &workflow) : code;
    code = code == OTF2_SUCCESS ? otf2_text(&archive->texts, "workflow", &kind) : code;
    return code == OTF2_SUCCESS
               ? OTF2_GlobalDefWriter_WriteSystemTreeNode(archive->texts.writer, OTF2_ROOT,
                                                          workflow, kind,
                                                          OTF2_UNDEFINED_SYSTEM_TREE_NODE)
               : code;
}

static int open_archive(struct otf2_archive *archive, const struct vamp_writer_target *target,
                        struct vamp_err *err)
{
    static const OTF2_FlushCallbacks flushing = {.otf2_pre_flush = always_flush};
    errno = 0;
    archive->archive =
        OTF2_Archive_Open(archive->directory, NAME, OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_MIN,
                          OTF2_CHUNK_SIZE_MIN, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (archive->archive == NULL) {
        return vamp_err_set(err, -EIO, "create an OTF2 archive in %s: libotf2 refused",
                            archive->directory);
    }
    OTF2_ErrorCode code = OTF2_Archive_SetFlushCallbacks(archive->archive, &flushing, NULL);
    code =
        code == OTF2_SUCCESS ? OTF2_Archive_SetSerialCollectiveCallbacks(archive->archive) : code;
    code = code == OTF2_SUCCESS ? OTF2_Archive_OpenEvtFiles(archive->archive) : code;
    if (code != OTF2_SUCCESS) {
        return check_code(archive, code, err);
    }
    archive->attributes = OTF2_AttributeList_New();
    archive->markers = OTF2_Archive_GetMarkerWriter(archive->archive);
    OTF2_GlobalDefWriter *definitions = OTF2_Archive_GetGlobalDefWriter(archive->archive);
    if (archive->attributes == NULL || archive->markers == NULL || definitions == NULL ||
        otf2_texts_init(&archive->texts, definitions) != 0) {
        return no_memory(archive, err);
    }
    return check_code(archive, describe_run(archive, target), err);
}

static int create_archive(struct otf2_archive *archive, const struct vamp_writer_target *target,
                          const char *directory, struct vamp_err *err)
{
    archive->directory = vamp_target_name(directory, target, "otf2");
    if (archive->directory == NULL ||
        asprintf(&archive->path, "%s/" NAME ".otf2", archive->directory) < 0) {
        archive->path = NULL;
        return vamp_err_set_errno(err, ENOMEM, "prepare the target");
    }
    return vamp_target_create_directory(archive->directory,
                                        (enum vamp_target_access)archive->access, err);
}

static int otf2_open(const struct vamp_writer_target *target, const char *directory,
                     unsigned access, void **ret_self, struct vamp_err *err)
{
    struct otf2_archive *archive = calloc(1, sizeof *archive);
    if (archive == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the target");
    }
    (void)OTF2_Error_RegisterCallback(be_quiet, NULL);
    archive->access = access;
    archive->least_ns = UINT64_MAX;
    int code = create_archive(archive, target, directory, err);
    if (code != 0) {
        free_archive(archive);
        return code;
    }
    code = open_archive(archive, target, err);
    if (code != 0) {
        struct vamp_err ignored = VAMP_ERR_NONE;
        (void)otf2_close(archive, NULL, true, &ignored);
        return code;
    }
    *ret_self = archive;
    return 0;
}

static const char *otf2_path(const void *self)
{
    return ((const struct otf2_archive *)self)->path;
}

const struct vamp_trace_sink_ops vamp_trace_plug_in = {
    .version = VAMP_VERSION,
    .open = otf2_open,
    .begin = otf2_begin,
    .track = otf2_track,
    .spans = otf2_spans,
    .flush = otf2_flush,
    .complete = otf2_complete,
    .path = otf2_path,
    .close = otf2_close,
};
