/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces as archives in the Open Trace Format 2 (docs/output-trace.md, "OTF2"): a directory with an
 * anchor file, the definitions, and a file of events for each location. libotf2 keeps all events in
 * memory until the archive is completed. Only a completed archive can be read, so an incomplete one
 * is removed. One thread at a time.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <otf2/otf2.h>

#include "vampire/core/clock.h"
#include "vampire/core/event/event.h"
#include "vampire/core/list.h"
#include "vampire/core/map.h"
#include "vampire/core/values.h"
#include "vampire/stats/bucket/bucket.h"
#include "version.h"
#include "writers/format/file.h"
#include "writers/trace/sink.h"

#define NAME "trace"

/* The root of the system tree: the workflow. */
#define ROOT 0
/* Transports are messages of this communicator. Its members are the tracks, by number. */
#define COMMUNICATOR 0
#define LOCATIONS_GROUP 0
#define RANKS_GROUP 1

/* Attributes of events. */
enum attribute { OF_CDO, OF_BYTES, OF_PEER, OF_END };
#define ATTRIBUTES 4

/* Regions: one for each kind of span, and for each part of a wait. */
#define REGIONS (VAMP_TRACE_WHAT_COUNT + VAMP_WAIT_PART_COUNT)
/* Limit on the kinds of instants: anomalies, and events of the run. */
#define MARKERS_MAX 64

/* A string in the archive, where each string is written once. */
struct text {
    struct map_link link;
    uint32_t number;
    char text[];
};

/* A track, which is a location of the archive. */
struct location {
    OTF2_EvtWriter *writer;
    uint32_t name, process;
    uint64_t events;
};

/* A process, which is a group of locations. */
struct process {
    uint32_t name;
    uint32_t group; /* number of the group in the archive */
};

struct archive {
    char *directory; /* path of the archive */
    char *path;      /* path of its anchor file */
    unsigned access; /* enum vamp_target_access */
    OTF2_Archive *archive;
    OTF2_MarkerWriter *markers;
    OTF2_AttributeList *attributes;
    OTF2_GlobalDefWriter *definitions;
    struct map texts;
    uint32_t text_count;
    struct location *locations; /* indexed by track number */
    unsigned count, capacity;
    struct process *processes; /* indexed by process number */
    unsigned process_count;
    const char *marker_words[MARKERS_MAX];
    unsigned marker_count;
    uint64_t least_ns, most_ns;
    /* The first failure, after which the archive is unusable, and the value of errno at that time.
     */
    OTF2_ErrorCode code;
    int system;
};

/* ---- errors */

/* Replaces the library's error callback, which prints to stderr. */
static OTF2_ErrorCode be_quiet(void *context, const char *file, uint64_t line, const char *function,
                               OTF2_ErrorCode code, const char *format, va_list values)
{
    (void)context, (void)file, (void)line, (void)function, (void)format, (void)values;
    return code;
}

/* Records the first failure. Some of the library's functions report only the state of the archive;
 * the cause is in errno, which the callers set to 0 first. */
static void must(struct archive *archive, OTF2_ErrorCode code)
{
    if (code != OTF2_SUCCESS && archive->code == OTF2_SUCCESS) {
        archive->code = code;
        archive->system = code == OTF2_ERROR_ENOMEM ? ENOMEM : errno;
    }
}

/* Returns 0, or -errno with a text if a failure was recorded. */
static int outcome(const struct archive *archive, struct vamp_err *err)
{
    if (archive->code == OTF2_SUCCESS) {
        return 0;
    }
    if (archive->system != 0) {
        return vamp_err_set_errno(err, archive->system, "write %s", archive->path);
    }
    return vamp_err_set(err, -EIO, "write %s: %s", archive->path,
                        OTF2_Error_GetDescription(archive->code));
}

/* ---- texts */

/* Returns the number of the string, which is written if it is new; 0 after a failure. */
static uint32_t text_number(struct archive *archive, const char *text)
{
    const size_t length = strlen(text);
    const uint64_t hash = map_hash_text(&archive->texts, text, length);
    for (struct map_link *link = map_first(&archive->texts, hash); link != NULL;
         link = map_next(link)) {
        const struct text *known = CONTAINER_OF(link, struct text, link);
        if (strcmp(known->text, text) == 0) {
            return known->number;
        }
    }
    struct text *known = malloc(sizeof *known + length + 1);
    if (known == NULL) {
        must(archive, OTF2_ERROR_ENOMEM);
        return 0;
    }
    known->number = archive->text_count++;
    memcpy(known->text, text, length + 1);
    map_insert(&archive->texts, &known->link, hash);
    must(archive, OTF2_GlobalDefWriter_WriteString(archive->definitions, known->number, text));
    return known->number;
}

static void free_text(struct map_link *link)
{
    free(CONTAINER_OF(link, struct text, link));
}

/* ---- events */

/* Returns the region of a span that is not an instant. */
static OTF2_RegionRef region_of(const struct vamp_trace_span *span)
{
    if (span->what == VAMP_TRACE_PART) {
        return VAMP_TRACE_WHAT_COUNT + span->part;
    }
    return (OTF2_RegionRef)span->what;
}

/* Returns the time as a timestamp of an archive, which is unsigned. */
static uint64_t time_of(struct archive *archive, int64_t time_ns)
{
    const uint64_t time = (uint64_t)VAMP_MAX(time_ns, 0);
    archive->least_ns = VAMP_MIN(archive->least_ns, time);
    archive->most_ns = VAMP_MAX(archive->most_ns, time);
    return time;
}

static void add_text(struct archive *archive, enum attribute attribute, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        must(archive, OTF2_AttributeList_AddStringRef(archive->attributes, attribute,
                                                      text_number(archive, text)));
    }
}

/* Writes the beginning of a span with its attributes, and the message of an arrow that begins
 * there. */
static void enter(struct archive *archive, struct location *location,
                  const struct vamp_trace_span *span)
{
    const uint64_t time = time_of(archive, span->start_ns);
    char id[VAMP_CDO_ID_TEXT_BYTES] = "";
    if (span->id_known) {
        vamp_cdo_id_text(span->id, id);
    }
    add_text(archive, OF_CDO, span->cdo[0] != '\0' ? span->cdo : id);
    if (span->size_known) {
        must(archive,
             OTF2_AttributeList_AddUint64(archive->attributes, OF_BYTES, span->size_bytes));
    }
    add_text(archive, OF_PEER, span->peer);
    add_text(archive, OF_END, span->end);
    must(archive,
         OTF2_EvtWriter_Enter(location->writer, archive->attributes, time, region_of(span)));
    location->events++;
    if (span->arrow == VAMP_TRACE_ARROW_BEGINS) {
        must(archive,
             OTF2_EvtWriter_MpiSend(location->writer, NULL, time, span->arrow_track, COMMUNICATOR,
                                    (uint32_t)span->arrow_id, span->size_bytes));
        location->events++;
    }
}

/* Writes the end of a span, and the message of an arrow that ends there. */
static void leave(struct archive *archive, struct location *location,
                  const struct vamp_trace_span *span)
{
    const uint64_t time = time_of(archive, span->end_ns);
    if (span->arrow == VAMP_TRACE_ARROW_ENDS) {
        must(archive,
             OTF2_EvtWriter_MpiRecv(location->writer, NULL, time, span->arrow_track, COMMUNICATOR,
                                    (uint32_t)span->arrow_id, span->size_bytes));
        location->events++;
    }
    must(archive, OTF2_EvtWriter_Leave(location->writer, NULL, time, region_of(span)));
    location->events++;
}

/* Returns the number of the marker definition with this name; adds the definition if it is new. */
static OTF2_MarkerRef marker_of(struct archive *archive, const char *word)
{
    unsigned i = 0;
    while (i < archive->marker_count && strcmp(archive->marker_words[i], word) != 0) {
        i++;
    }
    if (i == archive->marker_count) {
        if (i == MARKERS_MAX) {
            must(archive, OTF2_ERROR_EOVERFLOW);
            return 0;
        }
        archive->marker_words[archive->marker_count++] = word;
        must(archive, OTF2_MarkerWriter_WriteDefMarker(archive->markers, i, "vampire", word,
                                                       OTF2_SEVERITY_MEDIUM));
    }
    return i;
}

static void write_mark(struct archive *archive, uint32_t location,
                       const struct vamp_trace_span *mark)
{
    char text[VAMP_CDO_NAME_BYTES + 32];
    (void)snprintf(text, sizeof text, "%llu%s%s", (unsigned long long)mark->count,
                   mark->cdo[0] != '\0' ? " " : "", mark->cdo);
    must(archive, OTF2_MarkerWriter_WriteMarker(archive->markers, time_of(archive, mark->start_ns),
                                                0, marker_of(archive, mark->word),
                                                OTF2_MARKER_SCOPE_LOCATION, location, text));
}

/* Writes the first span and, inside of it, the others. An instant is written as a marker. */
static int otf2_spans(void *self, const struct vamp_trace_track *track,
                      const struct vamp_trace_span *spans, unsigned count, struct vamp_err *err)
{
    struct archive *archive = self;
    errno = 0;
    if (archive->code != OTF2_SUCCESS) {
        return outcome(archive, err);
    }
    assert(track->number < archive->count);
    struct location *location = &archive->locations[track->number];
    if (spans[0].what == VAMP_TRACE_MARK) {
        write_mark(archive, track->number, &spans[0]);
        return outcome(archive, err);
    }
    enter(archive, location, &spans[0]);
    for (unsigned i = 1; i < count; i++) {
        enter(archive, location, &spans[i]);
        leave(archive, location, &spans[i]);
    }
    leave(archive, location, &spans[0]);
    return outcome(archive, err);
}

/* ---- tracks */

/* Adds a location for the track. */
static int otf2_track(void *self, const struct vamp_trace_track *track, struct vamp_err *err)
{
    struct archive *archive = self;
    char lane[64];
    errno = 0;
    if (archive->code != OTF2_SUCCESS) {
        return outcome(archive, err);
    }
    assert(track->number == archive->count);
    OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive->archive, archive->count);
    const bool good = vamp_array_reserve(&archive->locations, &archive->capacity, archive->count,
                                         sizeof *archive->locations) &&
                      vamp_array_reserve(&archive->processes, &archive->process_count,
                                         track->process, sizeof *archive->processes);
    if (writer == NULL || !good) {
        must(archive, OTF2_ERROR_ENOMEM);
        return outcome(archive, err);
    }
    const char *kind = vamp_trace_kind_name(track->kind);
    (void)snprintf(lane, sizeof lane, track->lane == 0 ? "%s" : "%s %u", kind, track->lane + 1);
    archive->locations[archive->count++] = (struct location){
        .writer = writer, .process = track->process, .name = text_number(archive, lane)};
    archive->processes[track->process].name = text_number(archive, track->name);
    return outcome(archive, err);
}

/* ---- definitions of everything that the events refer to */

static const char *region_name(unsigned region)
{
    if (region < VAMP_TRACE_WHAT_COUNT) {
        return vamp_trace_what_name((enum vamp_trace_what)region);
    }
    return vamp_wait_part_name(region - VAMP_TRACE_WHAT_COUNT);
}

static void define_regions(struct archive *archive)
{
    const uint32_t empty = text_number(archive, "");
    for (unsigned i = 0; i < REGIONS; i++) {
        OTF2_RegionRole role = OTF2_REGION_ROLE_FUNCTION;
        if (i == VAMP_TRACE_SEND || i == VAMP_TRACE_RECEIVE) {
            role = OTF2_REGION_ROLE_POINT2POINT;
        }
        const uint32_t name = text_number(archive, region_name(i));
        must(archive, OTF2_GlobalDefWriter_WriteRegion(archive->definitions, i, name, name, empty,
                                                       role, OTF2_PARADIGM_USER,
                                                       OTF2_REGION_FLAG_NONE, empty, 0, 0));
    }
}

static void define_attributes(struct archive *archive)
{
    static const struct {
        const char *name, *description;
        OTF2_Type type;
    } attributes[ATTRIBUTES] = {
        [OF_CDO] = {"cdo", "name of the CDO, or its id", OTF2_TYPE_STRING},
        [OF_BYTES] = {"bytes", "size of the CDO", OTF2_TYPE_UINT64},
        [OF_PEER] = {"component", "the component at the other end", OTF2_TYPE_STRING},
        [OF_END] = {"end", "how it ended", OTF2_TYPE_STRING},
    };
    for (unsigned i = 0; i < ATTRIBUTES; i++) {
        const uint32_t name = text_number(archive, attributes[i].name);
        const uint32_t description = text_number(archive, attributes[i].description);
        must(archive, OTF2_GlobalDefWriter_WriteAttribute(archive->definitions, i, name,
                                                          description, attributes[i].type));
    }
}

/* Defines a group of locations for each process, in this order. */
static int otf2_order(void *self, const uint32_t *processes, size_t count, struct vamp_err *err)
{
    struct archive *archive = self;
    for (size_t i = 0; i < count; i++) {
        struct process *process = &archive->processes[processes[i]];
        process->group = (uint32_t)i;
        must(archive, OTF2_GlobalDefWriter_WriteLocationGroup(
                          archive->definitions, process->group, process->name,
                          OTF2_LOCATION_GROUP_TYPE_PROCESS, ROOT, OTF2_UNDEFINED_LOCATION_GROUP));
    }
    return outcome(archive, err);
}

static void define_locations(struct archive *archive)
{
    for (size_t i = 0; i < archive->count; i++) {
        const struct location *location = &archive->locations[i];
        must(archive, OTF2_GlobalDefWriter_WriteLocation(
                          archive->definitions, i, location->name, OTF2_LOCATION_TYPE_CPU_THREAD,
                          location->events, archive->processes[location->process].group));
    }
}

/* Defines the communicator of the transports, whose members are all tracks. */
static void define_communicator(struct archive *archive)
{
    OTF2_GlobalDefWriter *writer = archive->definitions;
    const uint32_t name = text_number(archive, "transports");
    const uint32_t count = (uint32_t)archive->count;
    uint64_t *members = calloc(archive->count + 1, sizeof *members);
    if (members == NULL) {
        must(archive, OTF2_ERROR_ENOMEM);
        return;
    }
    for (size_t i = 0; i < archive->count; i++) {
        members[i] = i;
    }
    must(archive, OTF2_GlobalDefWriter_WriteGroup(writer, LOCATIONS_GROUP, name,
                                                  OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                                  OTF2_GROUP_FLAG_NONE, count, members));
    must(archive,
         OTF2_GlobalDefWriter_WriteGroup(writer, RANKS_GROUP, name, OTF2_GROUP_TYPE_COMM_GROUP,
                                         OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, count, members));
    must(archive, OTF2_GlobalDefWriter_WriteComm(writer, COMMUNICATOR, name, RANKS_GROUP,
                                                 OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
    free(members);
}

/* The clock counts ns since 1970-01-01 UTC. */
static void define_clock(struct archive *archive)
{
    uint64_t first = 0, length = 0;
    if (archive->least_ns <= archive->most_ns) {
        first = archive->least_ns;
        length = archive->most_ns - first;
    }
    must(archive, OTF2_GlobalDefWriter_WriteClockProperties(
                      archive->definitions, VAMP_NS_PER_SECOND, first, length + 1, first));
}

/* ---- begin and end */

/* Sets `*ret_path` to a file of the archive, malloc'ed, or NULL if out of memory: first the files
 * of each location 0, 1, ..., then the others, then the directories. Returns false if there is no
 * file with this number. */
static bool file_of(const struct archive *archive, size_t number, char **ret_path)
{
    static const char *const rest[] = {NAME ".otf2", NAME ".def", NAME ".marker", NAME, ""};
    const size_t of_locations = archive->count * 2;
    if (number >= of_locations + sizeof rest / sizeof *rest) {
        return false;
    }
    int length = 0;
    if (number < of_locations) {
        length = asprintf(ret_path, "%s/" NAME "/%zu.%s", archive->directory, number / 2,
                          number % 2 == 0 ? "evt" : "def");
    } else {
        length = asprintf(ret_path, "%s/%s", archive->directory, rest[number - of_locations]);
    }
    if (length < 0) {
        *ret_path = NULL;
    }
    return true;
}

/* Calls `apply` for every file, directories last. Returns 0, or the first -errno of `apply`. */
static int for_each_file(const struct archive *archive,
                         int (*apply)(const char *path, unsigned access))
{
    char *path = NULL;
    int first = 0;
    for (size_t i = 0; file_of(archive, i, &path); i++) {
        int code = -ENOMEM;
        if (path != NULL) {
            code = apply(path, archive->access);
        }
        if (first == 0) {
            first = code;
        }
        free(path);
    }
    return first;
}

static int remove_file(const char *path, unsigned access)
{
    (void)access;
    return remove(path) == 0 ? 0 : -errno;
}

/* Sets the mode of a file that the library created according to the umask of the process. */
static int permit(const char *path, unsigned access)
{
    struct stat status;
    if (lstat(path, &status) != 0) {
        return 0;
    }
    return vamp_target_permit(path, (enum vamp_target_access)access, S_ISDIR(status.st_mode));
}

/* Closes the events and writes the (empty) definitions of all locations. */
static void close_locations(struct archive *archive)
{
    for (size_t i = 0; i < archive->count; i++) {
        must(archive, OTF2_Archive_CloseEvtWriter(archive->archive, archive->locations[i].writer));
    }
    must(archive, OTF2_Archive_CloseEvtFiles(archive->archive));
    must(archive, OTF2_Archive_OpenDefFiles(archive->archive));
    /* Stops at the first failure: a writer that is not closed would leak. */
    for (size_t i = 0; i < archive->count && archive->code == OTF2_SUCCESS; i++) {
        OTF2_DefWriter *writer = OTF2_Archive_GetDefWriter(archive->archive, i);
        OTF2_ErrorCode code = OTF2_ERROR_ENOMEM;
        if (writer != NULL) {
            code = OTF2_Archive_CloseDefWriter(archive->archive, writer);
        }
        must(archive, code);
    }
    must(archive, OTF2_Archive_CloseDefFiles(archive->archive));
}

/* Writes the definitions and all files of the archive, and sets their modes. */
static int otf2_complete(void *self, struct vamp_err *err)
{
    struct archive *archive = self;
    errno = 0;
    close_locations(archive);
    define_clock(archive);
    define_regions(archive);
    define_attributes(archive);
    define_locations(archive);
    define_communicator(archive);
    must(archive, OTF2_Archive_CloseMarkerWriter(archive->archive, archive->markers));
    if (archive->code != OTF2_SUCCESS) {
        return outcome(archive, err);
    }
    OTF2_Archive *closing = archive->archive;
    archive->archive = NULL;
    must(archive, OTF2_Archive_Close(closing));
    if (archive->code != OTF2_SUCCESS) {
        return outcome(archive, err);
    }
    const int result = for_each_file(archive, permit);
    if (result != 0) {
        must(archive, OTF2_ERROR_EPERM);
        return vamp_err_set_errno(err, -result, "set the permissions of %s", archive->directory);
    }
    return 0;
}

/* Frees everything. Removes the archive if it is incomplete or not wanted. */
static int otf2_close(void *self, const struct vamp_trace_end *end, bool remove,
                      struct vamp_err *err)
{
    struct archive *archive = self;
    (void)err;
    const bool incomplete = archive->archive != NULL || archive->code != OTF2_SUCCESS;
    if (archive->archive != NULL) {
        (void)OTF2_Archive_Close(archive->archive);
    }
    if (remove || end == NULL || incomplete) {
        (void)for_each_file(archive, remove_file);
    }
    if (archive->attributes != NULL) {
        (void)OTF2_AttributeList_Delete(archive->attributes);
    }
    map_drop(&archive->texts, free_text);
    free(archive->locations);
    free(archive->processes);
    free(archive->directory);
    free(archive->path);
    free(archive);
    return 0;
}

/* Called by the library when a buffer is full; allows it to write. */
static OTF2_FlushType always_flush(void *context, OTF2_FileType type, OTF2_LocationRef location,
                                   void *caller, bool is_last)
{
    (void)context, (void)type, (void)location, (void)caller, (void)is_last;
    return OTF2_FLUSH;
}

/* Writes the run's labels as properties VAMPIRE::WORKFLOW, VAMPIRE::RUN and so on; unknown labels
 * are omitted. */
static void describe_run(struct archive *archive, const struct vamp_run *run)
{
    must(archive, OTF2_Archive_SetCreator(archive->archive, "vampire " VAMP_VERSION));
    must(archive, OTF2_Archive_SetDescription(archive->archive, run->id));
    for (unsigned label = 0; label < VAMP_RUN_LABEL_COUNT; label++) {
        char name[64], scratch[VAMP_RUN_LABEL_BYTES];
        const char *value = vamp_run_label(run, (enum vamp_run_label)label, scratch);
        (void)snprintf(name, sizeof name, "VAMPIRE::%s", vamp_run_label_words[label]);
        if (value[0] != '\0') {
            must(archive, OTF2_Archive_SetProperty(archive->archive, name, value, true));
        }
    }
    const uint32_t workflow = text_number(archive, run->workflow);
    must(archive, OTF2_GlobalDefWriter_WriteSystemTreeNode(archive->definitions, ROOT, workflow,
                                                           text_number(archive, "workflow"),
                                                           OTF2_UNDEFINED_SYSTEM_TREE_NODE));
}

/* Opens the archive and its writers, and writes the properties of the run. Returns 0 or -errno. */
static int open_archive(struct archive *archive, const struct vamp_writer_target *target,
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
    must(archive, OTF2_Archive_SetFlushCallbacks(archive->archive, &flushing, NULL));
    must(archive, OTF2_Archive_SetSerialCollectiveCallbacks(archive->archive));
    must(archive, OTF2_Archive_OpenEvtFiles(archive->archive));
    if (archive->code != OTF2_SUCCESS) {
        return outcome(archive, err);
    }
    archive->attributes = OTF2_AttributeList_New();
    archive->markers = OTF2_Archive_GetMarkerWriter(archive->archive);
    archive->definitions = OTF2_Archive_GetGlobalDefWriter(archive->archive);
    if (archive->attributes == NULL || archive->markers == NULL || archive->definitions == NULL ||
        map_init(&archive->texts) != 0) {
        must(archive, OTF2_ERROR_ENOMEM);
    } else {
        describe_run(archive, target->run);
    }
    return outcome(archive, err);
}

/* Creates the directory of the archive and opens the archive. Returns 0 or -errno. */
static int otf2_open(const struct vamp_writer_target *target, const char *directory,
                     unsigned access, void **ret_self, struct vamp_err *err)
{
    struct archive *archive = calloc(1, sizeof *archive);
    if (archive == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the target");
    }
    (void)OTF2_Error_RegisterCallback(be_quiet, NULL);
    archive->access = access;
    archive->least_ns = UINT64_MAX;
    archive->directory = vamp_target_name(directory, target, "otf2");
    int code = 0;
    if (archive->directory == NULL ||
        asprintf(&archive->path, "%s/" NAME ".otf2", archive->directory) < 0) {
        archive->path = NULL;
        code = vamp_err_set_errno(err, ENOMEM, "prepare the target");
    } else {
        code =
            vamp_target_create_directory(archive->directory, (enum vamp_target_access)access, err);
    }
    if (code != 0) {
        free(archive->directory);
        free(archive->path);
        free(archive);
        return code;
    }
    code = open_archive(archive, target, err);
    if (code != 0) {
        (void)otf2_close(archive, NULL, true, NULL);
        return code;
    }
    *ret_self = archive;
    return 0;
}

static const char *otf2_path(const void *self)
{
    return ((const struct archive *)self)->path;
}

const struct vamp_trace_sink_ops vamp_trace_plug_in = {
    .version = VAMP_VERSION,
    .open = otf2_open,
    .track = otf2_track,
    .spans = otf2_spans,
    .order = otf2_order,
    .complete = otf2_complete,
    .path = otf2_path,
    .close = otf2_close,
};
