/* SPDX-License-Identifier: BSD-3-Clause */
/* What the events of an archive refer to. Its clock counts ns since 1970, UTC. */
#include <stdlib.h>
#include <string.h>

#include "vampire/core/clock.h"
#include "writers/otf2/internal.h"

/* Of the communicator of transports: its members, and their ranks, which are the same. */
#define LOCATIONS_GROUP 0
#define RANKS_GROUP 1

static unsigned part_number(const char *word)
{
    unsigned part = 0;
    while (part < VAMP_WAIT_UNKNOWN && strcmp(vamp_wait_part_name(part), word) != 0) {
        part++;
    }
    return part;
}

OTF2_RegionRef otf2_region(const struct vamp_trace_span *span)
{
    return span->what == VAMP_TRACE_PART ? VAMP_TRACE_WHAT_COUNT + part_number(span->word)
                                         : (OTF2_RegionRef)span->what;
}

static OTF2_RegionRole role_of(unsigned region)
{
    return region == VAMP_TRACE_SEND || region == VAMP_TRACE_RECEIVE ? OTF2_REGION_ROLE_POINT2POINT
                                                                     : OTF2_REGION_ROLE_FUNCTION;
}

static OTF2_ErrorCode define_regions(struct otf2_texts *texts)
{
    uint32_t empty = 0, name = 0;
    OTF2_ErrorCode code = otf2_text(texts, "", &empty);
    for (unsigned i = 0; i < OTF2_REGIONS && code == OTF2_SUCCESS; i++) {
        code = otf2_text(texts,
                         i < VAMP_TRACE_WHAT_COUNT ? vamp_trace_what_name((enum vamp_trace_what)i)
                                                   : vamp_wait_part_name(i - VAMP_TRACE_WHAT_COUNT),
                         &name);
        if (code == OTF2_SUCCESS) {
            code = OTF2_GlobalDefWriter_WriteRegion(texts->writer, i, name, name, empty, role_of(i),
                                                    OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE,
                                                    empty, 0, 0);
        }
    }
    return code;
}

static OTF2_ErrorCode define_attributes(struct otf2_texts *texts)
{
    static const struct {
        const char *name, *description;
        OTF2_Type type;
    } attributes[OTF2_ATTRIBUTES] = {
        [OTF2_OF_CDO] = {"cdo", "name of the CDO, or its id", OTF2_TYPE_STRING},
        [OTF2_OF_BYTES] = {"bytes", "size of the CDO", OTF2_TYPE_UINT64},
        [OTF2_OF_PEER] = {"component", "the component at the other end", OTF2_TYPE_STRING},
        [OTF2_OF_END] = {"end", "how it ended", OTF2_TYPE_STRING},
    };
    OTF2_ErrorCode code = OTF2_SUCCESS;
    for (unsigned i = 0; i < OTF2_ATTRIBUTES && code == OTF2_SUCCESS; i++) {
        uint32_t name = 0, description = 0;
        code = otf2_text(texts, attributes[i].name, &name);
        code =
            code == OTF2_SUCCESS ? otf2_text(texts, attributes[i].description, &description) : code;
        code = code == OTF2_SUCCESS ? OTF2_GlobalDefWriter_WriteAttribute(
                                          texts->writer, i, name, description, attributes[i].type)
                                    : code;
    }
    return code;
}

/* The processes that have tracks, numbered without gaps. */
static OTF2_ErrorCode define_groups(const struct otf2_archive *archive)
{
    uint32_t group = 0;
    OTF2_ErrorCode code = OTF2_SUCCESS;
    for (size_t i = 0; i < archive->process_count && code == OTF2_SUCCESS; i++) {
        struct otf2_process *process = &archive->processes[i];
        if (process->name != OTF2_UNDEFINED_STRING) {
            process->group = group++;
            code = OTF2_GlobalDefWriter_WriteLocationGroup(
                archive->texts.writer, process->group, process->name,
                OTF2_LOCATION_GROUP_TYPE_PROCESS, OTF2_ROOT, OTF2_UNDEFINED_LOCATION_GROUP);
        }
    }
    return code;
}

static OTF2_ErrorCode define_locations(const struct otf2_archive *archive)
{
    OTF2_ErrorCode code = OTF2_SUCCESS;
    for (size_t i = 0; i < archive->count && code == OTF2_SUCCESS; i++) {
        const struct otf2_location *location = &archive->locations[i];
        code = OTF2_GlobalDefWriter_WriteLocation(archive->texts.writer, i, location->name,
                                                  OTF2_LOCATION_TYPE_CPU_THREAD, location->events,
                                                  archive->processes[location->process].group);
    }
    return code;
}

static OTF2_ErrorCode define_communicator(struct otf2_archive *archive)
{
    OTF2_GlobalDefWriter *writer = archive->texts.writer;
    uint32_t name = 0;
    OTF2_ErrorCode code = otf2_text(&archive->texts, "transports", &name);
    uint64_t *members = calloc(archive->count + 1, sizeof *members);
    if (members == NULL || code != OTF2_SUCCESS) {
        free(members);
        return code != OTF2_SUCCESS ? code : OTF2_ERROR_ENOMEM;
    }
    for (size_t i = 0; i < archive->count; i++) {
        members[i] = i;
    }
    const uint32_t count = (uint32_t)archive->count;
    code = OTF2_GlobalDefWriter_WriteGroup(writer, LOCATIONS_GROUP, name,
                                           OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                           OTF2_GROUP_FLAG_NONE, count, members);
    if (code == OTF2_SUCCESS) {
        code = OTF2_GlobalDefWriter_WriteGroup(writer, RANKS_GROUP, name,
                                               OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                               OTF2_GROUP_FLAG_NONE, count, members);
    }
    free(members);
    return code != OTF2_SUCCESS
               ? code
               : OTF2_GlobalDefWriter_WriteComm(writer, OTF2_COMMUNICATOR, name, RANKS_GROUP,
                                                OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
}

static OTF2_ErrorCode define_clock(const struct otf2_archive *archive)
{
    const uint64_t first = archive->least_ns <= archive->most_ns ? archive->least_ns : 0;
    const uint64_t length = archive->least_ns <= archive->most_ns ? archive->most_ns - first : 0;
    return OTF2_GlobalDefWriter_WriteClockProperties(archive->texts.writer, VAMP_NS_PER_SECOND,
                                                     first, length + 1, first);
}

OTF2_ErrorCode otf2_define(struct otf2_archive *archive)
{
    OTF2_ErrorCode code = define_clock(archive);
    code = code == OTF2_SUCCESS ? define_regions(&archive->texts) : code;
    code = code == OTF2_SUCCESS ? define_attributes(&archive->texts) : code;
    code = code == OTF2_SUCCESS ? define_groups(archive) : code;
    code = code == OTF2_SUCCESS ? define_locations(archive) : code;
    return code == OTF2_SUCCESS ? define_communicator(archive) : code;
}
