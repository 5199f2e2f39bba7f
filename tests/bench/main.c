/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The benchmark's lines that need only this process. tests/bench/run.py calls this program, once
 * for each line, so that memory and processor time are the line's own; and instructions.py does,
 * under callgrind.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"
#include "tests/bench/stream.h"

static const char usage[] =
    "usage: stages [OPTION]... LINE...      measure\n"
    "       stages --list                   the lines' names\n"
    "       stages --count                  every line with a limit, once, for callgrind\n"
    "       stages --record FILE [OPTION]...  write the stream of events to a recording\n"
    "  --events N      of a measured run, of a recording (1000000)\n"
    "  --live N        CDOs alive at the same time (100000)\n"
    "  --components N  of a recording (40)\n"
    "  --step NS       event time between two events of a recording (10000)\n"
    "  --brief         CDOs of a recording have 6 events, not 13\n"
    "  --pairs N       runs next to as many of the baseline\n"
    "  --directory DIR for files; they are removed (.)\n";

static const struct bench_line *const all_lines[] = {bench_event_lines,   bench_sample_lines,
                                                     bench_pairing_lines, bench_histogram_lines,
                                                     bench_output_lines,  bench_alarm_lines,
#ifdef BENCH_POOL
                                                     bench_pool_lines
#endif
};
#define FILES (sizeof all_lines / sizeof all_lines[0])

enum { LIST = 256, COUNT, RECORD, EVENTS, LIVE, COMPONENTS, STEP, BRIEF, PAIRS, DIRECTORY };
static const struct option long_options[] = {
    {"list", no_argument, NULL, LIST},
    {"count", no_argument, NULL, COUNT},
    {"record", required_argument, NULL, RECORD},
    {"events", required_argument, NULL, EVENTS},
    {"live", required_argument, NULL, LIVE},
    {"components", required_argument, NULL, COMPONENTS},
    {"step", required_argument, NULL, STEP},
    {"brief", no_argument, NULL, BRIEF},
    {"pairs", required_argument, NULL, PAIRS},
    {"directory", required_argument, NULL, DIRECTORY},
    {NULL, 0, NULL, 0},
};

struct choices {
    bool list, count;
    const char *record;
    unsigned pairs;
    struct bench_size size;
    struct bench_plan plan;
};

static bool take(struct choices *choices, int key)
{
    const uint64_t number = optarg != NULL ? strtoull(optarg, NULL, 10) : 0;
    switch (key) {
    case LIST:
        choices->list = true;
        return true;
    case COUNT:
        choices->count = true;
        return true;
    case RECORD:
        choices->record = optarg;
        return true;
    case DIRECTORY:
        choices->size.directory = optarg;
        return true;
    case EVENTS:
        choices->size.events = choices->plan.events = number;
        return number > 0;
    case LIVE:
        choices->size.live = choices->plan.live = number;
        return number > 0;
    case COMPONENTS:
        choices->plan.components = (unsigned)number;
        return number > 1;
    case STEP:
        choices->plan.step_ns = (int64_t)number;
        return number > 0;
    case BRIEF:
        choices->plan.brief = true;
        return true;
    case PAIRS:
        choices->pairs = (unsigned)number;
        return number > 0;
    default:
        return false;
    }
}

static const struct bench_line *find(const char *name)
{
    for (size_t i = 0; i < FILES; i++) {
        for (const struct bench_line *line = all_lines[i]; line->name != NULL; line++) {
            if (strcmp(line->name, name) == 0) {
                return line;
            }
        }
    }
    return NULL;
}

static int for_all(const struct choices *choices)
{
    for (size_t i = 0; i < FILES; i++) {
        for (const struct bench_line *line = all_lines[i]; line->name != NULL; line++) {
            if (choices->list) {
                (void)puts(line->name);
            } else if (line->counted && bench_count(line, &choices->size) != 0) {
                return 1;
            }
        }
    }
    return 0;
}

int main(int count, char **arguments)
{
    struct choices choices = {
        .size = {.events = 1000000, .live = 100000, .directory = "."},
        .plan = {.events = 1000000, .live = 100000, .components = 40, .step_ns = 10000},
    };
    int key;
    while ((key = getopt_long(count, arguments, "", long_options, NULL)) != -1) {
        if (!take(&choices, key)) {
            (void)fputs(usage, stderr);
            return 2;
        }
    }
    if (choices.record != NULL) {
        return bench_stream_record(&choices.plan, choices.record);
    }
    if (choices.list || choices.count) {
        return for_all(&choices);
    }
    for (int i = optind; i < count; i++) {
        const struct bench_line *line = find(arguments[i]);
        if (line == NULL) {
            (void)fprintf(stderr, "stages: there is no line \"%s\"; --list shows them\n",
                          arguments[i]);
            return 2;
        }
        if (bench_measure(line, &choices.size, choices.pairs) != 0) {
            return 1;
        }
    }
    return 0;
}
