/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces as archives in the Open Trace Format 2 (docs/output-trace.md, "OTF2"), by libotf2, which
 * has the events of all locations in memory until the archive is completed. Private to the folder;
 * one thread.
 */
#ifndef VAMP_WRITERS_OTF2_INTERNAL_H
#define VAMP_WRITERS_OTF2_INTERNAL_H

#include <otf2/otf2.h>

#include "vampire/core/map.h"
#include "writers/trace/sink.h"

/* Of the tree of systems: the workflow. */
#define OTF2_ROOT 0
/* Transports are messages of this communicator, in which the rank of a track is its number. */
#define OTF2_COMMUNICATOR 0

/* What an event says besides its region. */
enum otf2_attribute { OTF2_OF_CDO, OTF2_OF_BYTES, OTF2_OF_PEER, OTF2_OF_END };
#define OTF2_ATTRIBUTES 4

/* The regions: what a span is, and of a part of a wait which. */
#define OTF2_REGIONS (VAMP_TRACE_WHAT_COUNT + VAMP_WAIT_PART_COUNT)
/* Kinds of marks: anomalies, and what happens to the run. */
#define OTF2_MARKERS_MAX 64

/* Texts by their numbers in the archive, each written once. */
struct otf2_texts {
    struct map map;
    OTF2_GlobalDefWriter *writer;
    uint32_t count;
};

/* A track, which is a location of the archive. */
struct otf2_location {
    OTF2_EvtWriter *writer;
    uint32_t name, process;
    uint64_t events;
};

/* A process, which is a group of locations. */
struct otf2_process {
    uint32_t name;  /* OTF2_UNDEFINED_STRING: it has no track */
    uint32_t group; /* its number in the archive */
};

struct otf2_archive {
    char *directory, *path; /* of the archive, of its anchor file in it */
    unsigned access;        /* enum vamp_target_access */
    OTF2_Archive *archive;
    OTF2_MarkerWriter *markers;
    OTF2_AttributeList *attributes;
    struct otf2_texts texts;
    struct otf2_location *locations; /* by number of the track */
    size_t count, capacity;
    struct otf2_process *processes; /* by number of the process */
    size_t process_count;
    const char *marker_words[OTF2_MARKERS_MAX];
    unsigned marker_count;
    uint64_t least_ns, most_ns;
    bool failed;
};

/* Texts. `writer` outlives them. */
VAMP_MUST_CHECK int otf2_texts_init(struct otf2_texts *texts, OTF2_GlobalDefWriter *writer);
void otf2_texts_done(struct otf2_texts *texts);
VAMP_MUST_CHECK OTF2_ErrorCode otf2_text(struct otf2_texts *texts, const char *text,
                                         uint32_t *ret_number);

/* The region of a span that is no mark. */
OTF2_RegionRef otf2_region(const struct vamp_trace_span *span);
/* What the events refer to, once all of them are known. */
VAMP_MUST_CHECK OTF2_ErrorCode otf2_define(struct otf2_archive *archive);

#endif
