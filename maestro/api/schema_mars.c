/* SPDX-License-Identifier: BSD-3-Clause */
/* The MARS keywords, known without configuration: the attributes of a meteorological field. */
#include "maestro/api/schema_internal.h"

#define TEXT(keyword)                                                                              \
    {                                                                                              \
        ".maestro.ecmwf." keyword, MSTRO_CDO_ATTR_VALUE_cstring, false, true                       \
    }
#define INTEGER(keyword)                                                                           \
    {                                                                                              \
        ".maestro.ecmwf." keyword, MSTRO_CDO_ATTR_VALUE_int64, false, true                         \
    }
#define NATURAL(keyword)                                                                           \
    {                                                                                              \
        ".maestro.ecmwf." keyword, MSTRO_CDO_ATTR_VALUE_uint64, false, true                        \
    }
#define TIMESTAMP(keyword)                                                                         \
    {                                                                                              \
        ".maestro.ecmwf." keyword, MSTRO_CDO_ATTR_VALUE_timestamp, false, true                     \
    }

/* Listed in docs/operations.md as well. */
static const struct schema_attribute keywords[] = {
    TEXT("class"),         TEXT("stream"),       TEXT("type"),           TEXT("expver"),
    TEXT("domain"),        TEXT("levtype"),      TEXT("model"),          TEXT("origin"),
    TEXT("dataset"),       TEXT("activity"),     TEXT("experiment"),     TEXT("resolution"),
    TEXT("repres"),        TEXT("georef"),       TIMESTAMP("date"),      TIMESTAMP("hdate"),
    NATURAL("time"),       INTEGER("step"),      INTEGER("param"),       INTEGER("levelist"),
    INTEGER("number"),     INTEGER("system"),    INTEGER("method"),      INTEGER("fcmonth"),
    INTEGER("generation"), INTEGER("channel"),   INTEGER("ident"),       INTEGER("instrument"),
    INTEGER("direction"),  INTEGER("frequency"), INTEGER("realization"), INTEGER("iteration"),
};

mstro_status schema_add_mars(struct schema_set *set, struct vamp_err *err)
{
    mstro_status status = MSTRO_OK;
    for (size_t i = 0; status == MSTRO_OK && i < sizeof keywords / sizeof keywords[0]; i++) {
        status = schema_add(set, &keywords[i], "MARS keywords", err);
    }
    return status;
}
