# SPDX-License-Identifier: BSD-3-Clause
#
#   make            the programs, in build/release/bin
#   make demo       installs what is missing, runs a workflow with a vampire in it
#   make check      every test
#   make help       all targets and variables

MODE   ?= release
CC     ?= cc
PREFIX ?= /usr/local
# Where libmaestro, its files for pkg-config and those for CMake go, below PREFIX.
LIBDIR ?= lib
# WERROR=1: a warning of the compiler is an error. Not by default, since the next compiler has new ones.
WERROR ?=
# Built against a Maestro installed elsewhere: make MAESTRO_PREFIX=/opt/maestro
MAESTRO_PREFIX ?=
B      := build/$(MODE)$(if $(MAESTRO_PREFIX),-maestro-prefix)
GEN    := build/gen

VERSION := $(shell sh packaging/version.sh)

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wformat=2 -Wstrict-prototypes \
  -Wmissing-prototypes -Wold-style-definition -Wundef -Wcast-qual -Wpointer-arith -Wwrite-strings \
  -Wvla -Wimplicit-fallthrough -Wswitch-enum -Wdouble-promotion
ifeq (,$(findstring clang,$(shell $(CC) --version 2>/dev/null)))
WARNINGS += -Wlogical-op -Wduplicated-cond -Wduplicated-branches
endif
WARNINGS += $(if $(WERROR),-Werror)

FLAGS_release := -O3 -g -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection \
  -fcf-protection
FLAGS_debug   := -O0 -g3
FLAGS_asan    := -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
FLAGS_tsan    := -O1 -g1 -fno-omit-frame-pointer -fsanitize=thread
FLAGS_fuzz    := -O1 -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
FLAGS_cov     := -O0 -g --coverage
LINK_release  := -pie -Wl,-z,relro,-z,now
MODE_FLAGS    := $(FLAGS_$(MODE))
ifeq ($(MODE_FLAGS),)
$(error MODE=$(MODE) is unknown; it is one of release, debug, asan, tsan, fuzz, cov)
endif

# A line for each file that is made: what is done, and the file. With V=1 the commands instead, with
# -s nothing.
V ?=
Q := $(if $(V),,@)
say = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),,@printf '  %-6s %s\n' $(1) $(2))

# Third-party headers are system headers to us, so that their warnings stay theirs.
pkg = $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(1) 2>/dev/null))
# Debian's name, and everybody else's.
HDF5 := $(shell pkg-config --exists hdf5-serial 2>/dev/null && echo hdf5-serial || echo hdf5)
# The programs take from HDF5's archives only what they use: Debian's shared library loads thirty others,
# libcurl among them, 6 MiB at every start. What the archives need is in a text that HDF5 installs next
# to them; without it, or with HDF5_LINK=shared, the programs load the shared library. Tests always do,
# since the linker makes allocations of their own code fail.
HDF5_LINK ?= archive
$(if $(filter archive shared,$(HDF5_LINK)),,$(error HDF5_LINK=$(HDF5_LINK) is unknown; it is one of archive, shared))
HDF5_FOLDER := $(patsubst -L%,%,$(firstword $(filter -L%,$(shell PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 pkg-config --libs-only-L $(HDF5) 2>/dev/null))))
HDF5_ARCHIVES := $(addprefix $(HDF5_FOLDER)/,libhdf5_hl.a libhdf5.a)
HDF5_NEEDS := $(filter -l%,$(shell sed -n 's/^ *Extra libraries: *//p' $(HDF5_FOLDER)/libhdf5.settings 2>/dev/null))
# The dimension scales of HDF5 live in a second library that has no pkg-config file.
HDF5_SHARED := $(shell pkg-config --libs $(HDF5) 2>/dev/null) -lhdf5_hl
HDF5_LIBS := $(if $(and $(filter archive,$(HDF5_LINK)),$(HDF5_NEEDS),$(filter 2,$(words $(wildcard $(HDF5_ARCHIVES))))),$(HDF5_ARCHIVES) $(HDF5_NEEDS),$(HDF5_SHARED))
lib = $(if $(filter $(HDF5),$(1)),$(HDF5_LIBS)) $(shell pkg-config --libs $(filter-out $(HDF5),$(1)) 2>/dev/null)

override CFLAGS += -std=c17 -D_GNU_SOURCE -DH5_USE_110_API -fPIC $(MODE_FLAGS) $(WARNINGS) -pthread -MMD -MP -I. -I$(GEN)
override LDFLAGS += -Wl,--as-needed $(MODE_FLAGS) $(LINK_$(MODE)) -pthread

# ---------------------------------------------------------------- which Maestro
# vampire and the demo workflow see <maestro.h> and the library, nothing else of it.
ifeq ($(MAESTRO_PREFIX),)
# Not a system folder: a change of maestro.h has to recompile its users.
MAESTRO_CFLAGS := -Imaestro
MAESTRO_ROOMS := maestro/api
else
maestro_pc = PKG_CONFIG_PATH=$(MAESTRO_PREFIX)/lib/pkgconfig:$(MAESTRO_PREFIX)/lib64/pkgconfig pkg-config
MAESTRO_CFLAGS := $(patsubst -I%,-isystem %,$(or $(shell $(maestro_pc) --cflags maestro 2>/dev/null),-I$(MAESTRO_PREFIX)/include))
MAESTRO_LIBS := $(or $(shell $(maestro_pc) --libs maestro 2>/dev/null),-L$(MAESTRO_PREFIX)/lib -lmaestro) \
  -Wl,-rpath,$(MAESTRO_PREFIX)/lib
MAESTRO_ROOMS :=
endif

# ---------------------------------------------------------------- rooms
# A room is a folder with all below it but other rooms, and one archive of that name: lib/vampire-core.a
# is vampire/core. This table says, lowest first, which rooms each one uses besides what these use, and
# its libraries. A test of a room links the same, so a dependency in the wrong direction does not link.
# ROOM,USED ROOMS,PACKAGES OF PKG-CONFIG
room = $(eval ROOMS += $(1))$(eval USES_$(1) := $(2))$(eval PKG_$(1) := $(3))
$(call room,vampire/core,,libprotobuf-c libdeflate)
$(call room,vampire/stats/bucket,vampire/core,uuid)
$(call room,vampire/stats,vampire/stats/bucket)
$(call room,vampire/alarms,vampire/stats/bucket)
$(call room,vampire/alarms/actions,vampire/alarms)
$(call room,vampire/collect,vampire/stats/bucket)
$(call room,vampire/source,vampire/core)
$(call room,filters,vampire/core,libpcre2-8)
# What protobuf-c makes of pool.proto: the pool knows the messages, not the network they travel on.
$(call room,maestro/messages,vampire/core)
$(call room,maestro/pool,maestro/messages filters)
$(call room,maestro/wire,maestro/messages,openssl)
$(call room,maestro/client,maestro/wire maestro/pool)
$(call room,maestro/server,maestro/client)
$(call room,maestro/api,maestro/server,yaml-0.1)
$(call room,vampire/live,vampire/source filters $(MAESTRO_ROOMS),jansson)
# A trace pairs events as the statistics do.
$(call room,writers,vampire/alarms vampire/stats,$(HDF5))
$(call room,config,vampire/alarms/actions vampire/source writers filters)
$(call room,programs/run,config)
$(call room,programs/cli,programs/run)
$(call room,programs/vampire,programs/cli)
$(call room,programs/vampire-collect,programs/cli vampire/collect)

# A plug-in is a format with a library that not every site wants: each but its table.c is a shared
# object, loaded by a run with such an output. WITHOUT="NAME ..." leaves some of them out of the build;
# without that, those whose library is not installed. NAME:PACKAGE
PLUG_IN_PACKAGES := prometheus:libmicrohttpd influx:libcurl otlp:libcurl otf2:otf2 nats:libnats
package_of = $(patsubst $(1):%,%,$(filter $(1):%,$(PLUG_IN_PACKAGES)))
ALL_PLUG_INS := $(foreach p,$(PLUG_IN_PACKAGES),$(firstword $(subst :, ,$(p))))
ifeq ($(origin WITHOUT),undefined)
WITHOUT := $(strip $(foreach p,$(ALL_PLUG_INS),$(if $(shell pkg-config --modversion $(call package_of,$(p)) 2>/dev/null),,$(p))))
endif
PLUG_INS := $(filter-out $(WITHOUT),$(ALL_PLUG_INS))
$(if $(filter-out $(ALL_PLUG_INS),$(WITHOUT)),$(error WITHOUT=$(WITHOUT): what can be left out is $(ALL_PLUG_INS)))
# What those share that post to a server.
$(call room,writers/http,writers,libcurl)
USES_OF_influx := writers/http
USES_OF_otlp := writers/http
ALSO_NEEDS_otlp := jansson
$(foreach p,$(PLUG_INS),$(call room,writers/$(p),writers $(USES_OF_$(p)),$(call package_of,$(p)) $(ALSO_NEEDS_$(p))))

# FOLDER: its sources and those of the folders below it.
below = $(wildcard $(1)/*.c $(1)/*/*.c)
sources = $(filter-out $(MAINS) $(foreach r,$(filter $(1)/%,$(ROOMS) $(ALL_PLUG_INS:%=writers/%)),$(call below,$(r))),$(call below,$(1)))
MAINS := maestro/pool_manager.c $(wildcard programs/*/main.c)
$(foreach r,$(ROOMS),$(eval SRC_$(r) := $(call sources,$(r))))
$(foreach p,$(PLUG_INS),$(eval SRC_writers/$(p) := $(filter-out %/table.c,$(SRC_writers/$(p)))))
SRC_writers += $(wildcard $(ALL_PLUG_INS:%=writers/%/table.c))

# The messages that protobuf-c makes of *.proto, by the room that has them.
PROTO_CORE := $(wildcard vampire/core/*/*.proto)
PROTO_FILES := $(PROTO_CORE) maestro/wire/pool.proto vampire/stats/bucket/telemetry.proto writers/otlp/otlp.proto
PROTO_FOLDERS := $(sort $(dir $(PROTO_FILES)))
messages = $(patsubst %.proto,$(GEN)/%.pb-c.$(2),$(notdir $(1)))
MESSAGE_HEADERS := $(call messages,$(PROTO_FILES),h)
SRC_vampire/core += $(call messages,$(PROTO_CORE),c)
SRC_vampire/stats/bucket += $(GEN)/telemetry.pb-c.c
SRC_maestro/messages := $(GEN)/pool.pb-c.c
SRC_writers/otlp += $(GEN)/otlp.pb-c.c

# ROOMS: these and all that they use, highest first, as the linker wants them.
closure = $(foreach r,$(1),$(r) $(call closure,$(USES_$(r))))
reverse = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
LINK_ORDER := $(call reverse,$(ROOMS))
rooms = $(filter $(call closure,$(1)),$(LINK_ORDER))
objects = $(patsubst %.c,$(B)/obj/%.o,$(1))
archive = $(B)/lib/$(subst /,-,$(1)).a
packages = $(foreach r,$(call rooms,$(1)),$(PKG_$(r)))
archives = $(foreach r,$(call rooms,$(1)),$(call archive,$(r)))
libraries = $(call archives,$(1)) $(if $(filter vampire/live,$(1)),$(MAESTRO_LIBS)) $(call lib,$(call packages,$(1))) -lm

# What is linked into $@, after the usual flags; a shared object is `exports` with a map, and `whole`
# archives, since nothing in it refers to what is called from outside.
define link
@mkdir -p $(@D)
$(call say,LINK,$@)
$(Q)$(CC) $(if $(filter -shared,$(1)),$(filter-out -pie,$(LDFLAGS)),$(LDFLAGS)) -o $@ $(1)
endef
exports = -shared -Wl,--version-script=$(1)
whole = -Wl,--whole-archive $(1) -Wl,--no-whole-archive

WORKFLOW := $(patsubst tests/workflow/%.c,$(B)/bin/%,$(wildcard tests/workflow/workflow_*.c))
PROGRAMS := $(B)/bin/vampire $(B)/bin/vampire-collect $(B)/bin/vampire-top $(if $(MAESTRO_ROOMS),$(B)/bin/maestro-pool-manager)
LIBMAESTRO := $(B)/lib/libmaestro.so.0
# What joins a pool, which vampire loads when it does: other runs need neither TLS nor schemas.
LIVE := $(B)/lib/vampire/maestro.so
PLUG_IN_OBJECTS := $(PLUG_INS:%=$(B)/lib/vampire/%.so)

# Manual pages of section 1 are written in mdoc(7), docs/*.1. The others are pages of docs/ in
# Markdown, from which lowdown makes what man(1) reads; without it these stay pages of docs/.
# SOURCE:PAGE
MARKDOWN_MANUALS := configuration:vampire.json.5 filter-language:vampire-filter.7 \
  metrics:vampire-metrics.7 output-hdf5:vampire-hdf5.5 output-jsonl:vampire-jsonl.5 \
  output-trace:vampire-trace.5 alarms:vampire-alarms.7 exporters:vampire-exporters.7 \
  operations:vampire-operations.7 python:vampire-python.7
MANUALS := $(wildcard docs/*.1) $(foreach m,$(if $(shell command -v lowdown),$(MARKDOWN_MANUALS)),$(B)/man/$(lastword $(subst :, ,$(m))))

.PHONY: all clean help
all: $(PROGRAMS) $(LIVE) $(PLUG_IN_OBJECTS) $(WORKFLOW) $(MANUALS)
	@$(if $(WITHOUT),echo "built without outputs of: $(WITHOUT); for all outputs:  sh tests/install_packages.sh more && make")

define room_rule
$(call objects,$(SRC_$(1))): CFLAGS += $(call pkg,$(PKG_$(1)) $(PKG_vampire/core))
$(call objects,$(SRC_$(1))): | $(MESSAGE_HEADERS)
$(call archive,$(1)): $(call objects,$(SRC_$(1)))
endef
$(foreach r,$(ROOMS),$(eval $(call room_rule,$(r))))
# Loaded by processes whose payloads it carries; linked by tests and the benchmark alone.
$(call objects,$(SRC_maestro/wire)): CFLAGS += $(call pkg,libfabric)

$(B)/lib/%.a:
	@mkdir -p $(@D)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) rcs $@ $^

# The version is compiled into one file, rewritten only when it changes.
VERSION_HEADER := $(GEN)/version.h
$(shell mkdir -p $(GEN); echo '#define VAMP_VERSION "$(VERSION)"' > $(GEN)/version.h.new; \
  cmp -s $(GEN)/version.h.new $(VERSION_HEADER) || mv $(GEN)/version.h.new $(VERSION_HEADER); rm -f $(GEN)/version.h.new)

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS) -c -o $@ $<

# protobuf-c code, once for all modes; secondary, or make 4.4 removes it and makes it again.
.SECONDARY: $(call messages,$(PROTO_FILES),c)
vpath %.proto $(PROTO_FOLDERS)
$(GEN)/%.pb-c.c $(GEN)/%.pb-c.h &: %.proto $(PROTO_CORE)
	@mkdir -p $(GEN)
	$(call say,PROTOC,$<)
	$(Q)protoc $(addprefix -I,$(PROTO_FOLDERS)) --c_out=$(GEN) $(notdir $<)

# Empty texts of proto3 are casts of a constant.
$(call objects,$(GEN)/telemetry.pb-c.c $(GEN)/otlp.pb-c.c): CFLAGS += -Wno-cast-qual

# What the chosen maestro.h provides: found by compiling small snippets against it.
PROBE := $(B)/gen/maestro_probe.h
$(PROBE): vampire/live/maestro_probe.sh vampire/core/event/fields.def $(if $(MAESTRO_PREFIX),,maestro/maestro.h)
	@mkdir -p $(@D)
	$(call say,PROBE,$@)
	$(Q)sh vampire/live/maestro_probe.sh $@ "$(CC)" $(MAESTRO_CFLAGS)
$(call objects,$(SRC_vampire/live)): CFLAGS += $(MAESTRO_CFLAGS) -I$(B)/gen
$(call objects,$(SRC_vampire/live)): | $(PROBE)

# PROGRAM,MAIN,ROOM
define program_rule
$(B)/bin/$(1): $(B)/obj/$(2).o $(call archives,$(3))
	$$(call link,$$< $$(call libraries,$(3)))
endef
$(foreach p,vampire vampire-collect,$(eval $(call program_rule,$(p),programs/$(p)/main,programs/$(p))))
# vampire-top is Python; the link finds the package in the source tree.
$(B)/bin/vampire-top: python/vampire-top
	@mkdir -p $(@D)
	$(Q)ln -sfr $< $@
$(eval $(call program_rule,maestro-pool-manager,maestro/pool_manager,maestro/server))
$(LIVE): $(call archives,vampire/live) vampire/live/module.map
	$(call link,$(call exports,vampire/live/module.map) $(call whole,$(call archive,vampire/live)) $(call libraries,vampire/live))
$(PLUG_IN_OBJECTS): $(B)/lib/vampire/%.so: $(B)/lib/writers-%.a $(call archives,$(PLUG_INS:%=writers/%)) writers/plug_in.map
	$(call link,$(call exports,writers/plug_in.map) $(call whole,$<) $(call libraries,writers/$*))

# The demo workflow is written against <maestro.h> alone.
$(B)/obj/tests/workflow/%.o: CFLAGS += $(MAESTRO_CFLAGS)
WORKFLOW_SHARED := $(call objects,$(addprefix tests/workflow/,options.c payload.c report.c))
$(WORKFLOW): $(B)/bin/%: $(B)/obj/tests/workflow/%.o \
  $(WORKFLOW_SHARED) $(if $(MAESTRO_ROOMS),$(call archives,maestro/api))
	$(call link,$< $(WORKFLOW_SHARED) $(if $(MAESTRO_ROOMS),$(call libraries,maestro/api),$(MAESTRO_LIBS)) -lm)

# The embedded Maestro as a library: everything inside, only mstro_* outside.
SONAME := -Wl,-soname,libmaestro.so.0
$(LIBMAESTRO): $(call archives,maestro/api) maestro/libmaestro.map
	$(call link,$(SONAME) $(call exports,maestro/libmaestro.map) $(call whole,$(call archive,maestro/api)) $(call libraries,maestro/api))

# SOURCE,PAGE. Code is bold, which a terminal can show; cells of tables are too narrow to be justified; a
# paragraph right after a heading needs no macro.
define manual_rule
$(B)/man/$(2): docs/$(1).md docs/manual.sed
	@mkdir -p $$(@D)
	$$(call say,MAN,$$@)
	$$(Q)sed -f docs/manual.sed $$< | \
	  lowdown -s -Tman --nroff-nolinks --out-no-smarty --parse-no-intraemph --parse-no-super \
	  -M title=$$$$(echo $(basename $(2)) | tr a-z A-Z) -M section=$(patsubst .%,%,$(suffix $(2))) -M source=vampire -M date=2026-11-22 | \
	  sed 's/\\fC/\\fB/g; s/^\.TS/.na\n&/; s/^\.TE/&\n.ad/' | sed '/^\.S[HS]$$$$/{:a;n;n;/^\.S[HS]$$$$/ba;/^\.[LP]P$$$$/d}' > $$@
endef
$(foreach m,$(MARKDOWN_MANUALS),$(eval $(call manual_rule,$(firstword $(subst :, ,$(m))),$(lastword $(subst :, ,$(m))))))

# ---------------------------------------------------------------- unit and conformance tests
# tests/unit/<word>_<what>_test.c links the room that the word stands for: one of that name below any
# folder, or its room where the name is of a folder without an archive of its own.
room_of = $(or $(ROOM_$(1)),$(filter %/$(1) $(1),$(ROOMS)))
$(foreach w,output syslog trace,$(eval ROOM_$(w) := writers))
$(foreach w,filtering process status,$(eval ROOM_$(w) := programs/run))
$(foreach w,cli pipeline,$(eval ROOM_$(w) := programs/vampire))
UNIT := $(patsubst tests/%.c,$(B)/%,$(filter-out $(WITHOUT:%=tests/unit/%_%),$(wildcard tests/unit/*_test.c tests/conformance/*_test.c)))
# Libraries that a test needs besides cmocka and those of its room, by room, and rooms that one test needs
# besides its own.
PKG_TEST_config := jansson
PKG_TEST_maestro/server := libfabric
ALSO_nats_collect_test := vampire/collect
ALSO_nats_collect_refused_test := vampire/collect
TEST_SHARED := $(call objects,$(wildcard tests/lib/*.c))
# tests/lib/fault.c can let these fail.
comma := ,
FAULT_LINK := $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc reallocarray posix_memalign strdup strndup open_memstream) \
  -Wl$(comma)--export-dynamic-symbol=fi_getinfo -Wl$(comma)--export-dynamic-symbol=fi_fabric
# PROGRAM,OBJECT,ROOM
define unit_rule
$(1): $(2) $(TEST_SHARED) $(call archives,$(3) $(ALSO_$(notdir $(1))))
	$$(call link,$$(FAULT_LINK) $(2) $(TEST_SHARED) $$(call libraries,$(3) $(ALSO_$(notdir $(1)))) $$(call lib,cmocka $(PKG_TEST_$(3))))
$(2): CFLAGS += $(call pkg,cmocka $(PKG_TEST_$(3)) $(call packages,$(3))) $(if $(filter vampire/live,$(3)),$(MAESTRO_CFLAGS) -I$(B)/gen)
$(2): | $(MESSAGE_HEADERS) $(if $(findstring /live_,$(1)),$(PROBE))
endef
$(foreach t,$(UNIT),$(eval $(call unit_rule,$(t),$(t:$(B)/%=$(B)/obj/tests/%.o),$(call room_of,$(firstword $(subst _, ,$(notdir $(t))))))))
$(UNIT): HDF5_LIBS = $(HDF5_SHARED)
.PHONY: unit
unit: $(UNIT) $(PLUG_IN_OBJECTS)

# ---------------------------------------------------------------- running and checking
PYTHON := /usr/bin/python3
.PHONY: deps demo-deps deb-deps bare-machine demo check check-asan check-tsan check-long lint
deps:            ## install the packages needed to build and to test (Debian 12 and 13)
	$(Q)sh tests/install_packages.sh build more read unit test docs
demo-deps:       ## the fewer that `make demo` needs
	$(Q)sh tests/install_packages.sh build read
deb-deps:        ## those that `make deb` needs
	$(Q)sh tests/install_packages.sh build more build-essential debhelper dh-python python3
demo: demo-deps  ## build, run a weather workflow with a vampire in it, compare
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(PYTHON) tests/workflow/demo.py $(DEMO_OPTIONS)
check: deps      ## install what is missing, build, and run every test with this MODE's build
	$(Q)$(MAKE) --no-print-directory all unit $(LIBMAESTRO) $(if $(filter release,$(MODE)),bench-programs)
	$(Q)$(PYTHON) tests/run.py --mode $(MODE) $(CHECK_OPTIONS)
check-asan:      ## the same with address and undefined-behaviour sanitizers
	$(Q)$(MAKE) --no-print-directory MODE=asan check
check-tsan: deps ## the threaded parts and one workflow with the thread sanitizer
	$(Q)$(MAKE) --no-print-directory MODE=tsan all unit
	$(Q)$(PYTHON) tests/run.py --mode tsan $(CHECK_OPTIONS)
check-long: deps ## the tests that take minutes to hours: kills, soak
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(PYTHON) tests/run.py --mode $(MODE) --long --jobs 1
# The benchmark: `stages` measures within one process, `relay` is a pool manager that serves a
# recording, `workload` records one of tests/bench/workloads. BENCH="pairing tcp" selects lines by a
# part of their name.
BENCH ?=
BENCH_JSON ?= $(B)/bench/results.json
BENCH_PROGRAMS := $(addprefix $(B)/bench/,stages workload $(if $(MAESTRO_ROOMS),relay))
BENCH_OBJECTS := $(call objects,$(wildcard tests/bench/*.c))
$(BENCH_OBJECTS): CFLAGS += $(call pkg,$(call packages,programs/cli maestro/server))
$(B)/obj/tests/bench/main.o: CFLAGS += $(if $(MAESTRO_ROOMS),-DBENCH_POOL)
$(BENCH_OBJECTS): | $(MESSAGE_HEADERS)
BENCH_ALONE := $(addprefix tests/bench/,workload.c relay.c)
$(B)/bench/stages: $(call objects,$(filter-out $(BENCH_ALONE) $(if $(MAESTRO_ROOMS),,tests/bench/pool_lines.c),$(wildcard tests/bench/*.c)))
$(B)/bench/workload: $(call objects,tests/bench/workload.c)
$(B)/bench/relay: $(call objects,tests/bench/relay.c tests/bench/stream.c)
$(BENCH_PROGRAMS): $(call archives,programs/cli maestro/server)
	$(call link,$(filter %.o,$^) $(call libraries,programs/cli maestro/server))
.PHONY: bench bench-programs bench-others bench-release bench-instructions
bench-programs: all $(BENCH_PROGRAMS)
bench: bench-programs  ## every cost next to a bare baseline of the same run, as a table and in BENCH_JSON; BENCH=NAME...
	$(Q)$(PYTHON) tests/bench/run.py --json $(BENCH_JSON) $(BENCH)
PLANTED ?= 20
planted: all      ## PLANTED (20) hours of each cause and size, and as many without one, for vampire.diagnose; comparisons for vampire.changed
	$(Q)VAMPIRE_PLANTED_HOURS=$(PLANTED) $(PYTHON) -m pytest -q tests/e2e/test_diagnosis.py tests/e2e/test_baseline.py -k "planted or nothing_is or tenth"
CAUSES ?= $(B)/causes
CAUSES_SEED ?= 1
causes: all       ## simulated workflows with one planted cause, or none, in directory CAUSES (build/release/causes); how well vampire.diagnose names it
	$(Q)mkdir -p $(CAUSES)
	$(Q)$(PYTHON) tests/oracle/causes.py $(CAUSES) --seed $(CAUSES_SEED)
	$(Q)$(PYTHON) tests/oracle/run_causes.py $(CAUSES) --jobs 2
	$(Q)$(PYTHON) tests/oracle/causes.py $(CAUSES) --score
sampling:         ## whether 95 % intervals have the truth in 93 to 97 % of 2,000 sampled streams
	$(Q)SAMPLING_STREAMS=2000 $(PYTHON) -m pytest -q -s tests/e2e/test_sampling.py -k intervals
bench-others: bench-programs  ## the same recording with what one would write without vampire
	$(Q)$(PYTHON) tests/bench/compare_others.py --json $(BENCH_JSON)
RELEASE ?= 10d6e91
bench-release: bench-programs  ## the program of commit RELEASE next to this tree's, on the same recordings
	$(Q)$(PYTHON) tests/bench/compare_release.py --json $(BENCH_JSON) $(RELEASE)
bench-instructions: bench-programs  ## renew the limits of tests/bench/instructions.json
	$(Q)$(PYTHON) tests/bench/instructions.py --renew
# Fuzzing, with libFuzzer: the targets of texts for FUZZ_SECONDS, the others for a part of it; fewer
# than FUZZ_EXECUTIONS in all is a failure. What is found stays in build/fuzz/found.
FUZZ_SECONDS ?= 60
FUZZ_EXECUTIONS ?= 1000000
FUZZED := programs/vampire programs/vampire-collect vampire/live maestro/server
FUZZ := $(patsubst tests/fuzz/%_fuzz.c,%,$(wildcard tests/fuzz/*_fuzz.c))
build/fuzz/bin/%_fuzz: build/fuzz/obj/tests/fuzz/%_fuzz.o $(call archives,$(FUZZED))
	$(call link,-fsanitize=fuzzer $< $(call libraries,$(FUZZED)))
.PHONY: damage
damage: all unit ## 1,000 damaged files of each format, 500 kills while segments are made
	$(Q)VAMPIRE_DAMAGE=1000 VAMPIRE_KILLS=500 tests/run.py --seconds 7200 --only e2e test_damage test_kills_while
LIVES ?= 300
LIVES_FIRST ?= 0
.PHONY: lives
lives: all       ## LIVES (300) random lives of a run, from seed LIVES_FIRST on: reloads, kills, removed directories; readers against the events
	$(Q)VAMPIRE_BUILD=$(CURDIR)/$(B) $(PYTHON) tests/e2e/lives.py $(LIVES_FIRST) $(LIVES)
# So many strangers, and a tenth of it of members who lie, come to a pool manager's socket.
FUZZ_DOOR ?= 100000
FUZZ_DOOR_SEED ?= $(shell date +%s)
.PHONY: fuzz fuzz-run fuzz-door fuzz-door-run fuzz-seeds fuzz-seeds-run
fuzz-door:       ## FUZZ_DOOR (100000) strangers, and members who lie, at the real socket, with ASan
	$(Q)$(MAKE) --no-print-directory MODE=asan fuzz-door-run
fuzz-door-run: $(B)/unit/server_strangers_test
	$< strangers $(FUZZ_DOOR) $(FUZZ_DOOR_SEED)
	$< liars $$(( $(FUZZ_DOOR) / 10 )) $(FUZZ_DOOR_SEED)
fuzz:            ## fuzz targets for FUZZ_SECONDS (60); for a long run FUZZ_SECONDS=3600
	$(Q)$(MAKE) --no-print-directory MODE=fuzz CC=clang-14 fuzz-run
	$(Q)$(MAKE) --no-print-directory fuzz-door
fuzz-run: $(FUZZ:%=build/fuzz/bin/%_fuzz)
	$(Q)$(PYTHON) tests/fuzz/run.py --seconds $(FUZZ_SECONDS) --executions $(FUZZ_EXECUTIONS) $(FUZZ)
fuzz-seeds:      ## fuzz targets over their committed seeds only: the same in every run
	$(Q)$(MAKE) --no-print-directory MODE=fuzz CC=clang-14 fuzz-seeds-run
fuzz-seeds-run: $(FUZZ:%=build/fuzz/bin/%_fuzz)
	$(Q)$(PYTHON) tests/fuzz/run.py --seeds-only $(FUZZ)
SUITE ?= bookworm
bare-machine:    ## as root: make demo and the unit tests in a bare Debian of SUITE (bookworm), made by debootstrap
	$(Q)bash tests/bare_machine.sh $(SUITE)
.PHONY: html
html:            ## the documentation as a site, build/html/index.html; installs what makes it
	$(Q)sh tests/install_packages.sh docs
	$(call say,HTML,build/html/index.html)
	$(Q)$(PYTHON) docs/website.py build/html
lint:            ## format, clang-tidy, cppcheck, dependency direction, sizes
	$(Q)sh tests/lint.sh

.PHONY: print-rooms
print-rooms:
	@echo $(ROOMS)

# What stands in files and comes from tables in the code.
.PHONY: generated
generated: all  ## renew the JSON Schema, the manuals' lists of options, events, metrics, variables, the measured figures of README and pages, and the sizes in architecture.md
	$(B)/bin/vampire --print-schema > config/ready/vampire.schema.json
	$(B)/bin/vampire-collect --print-schema > config/ready/vampire-collect.schema.json
	$(PYTHON) docs/manuals.py $(B)/bin
	$(PYTHON) tests/bench/figures.py
	$(PYTHON) tests/house.py --mode $(MODE) --renew docs/architecture.md
	$(PYTHON) packaging/exporters/make.py $(B)/bin

# ---------------------------------------------------------------- installing
.PHONY: install uninstall dist deb libmaestro
libmaestro: $(LIBMAESTRO)
INSTALL ?= install
SERVICES := $(wildcard config/ready/*.service)
TO = $(DESTDIR)$(PREFIX)
# Where Debian's Python looks, with PREFIX=/usr. Where PYTHON looks elsewhere below PREFIX (/usr/local, an
# environment of its own), a file there names this folder; where it does not, users set PYTHONPATH.
PYTHON_FOLDER = $(PREFIX)/lib/python3/dist-packages
PYTHON_TO = $(DESTDIR)$(PYTHON_FOLDER)
PYTHON_LOOKS = $(shell $(PYTHON) -c 'import site; print(*[folder for folder in [*site.getsitepackages(), \
  site.getusersitepackages()] if folder.startswith("$(PREFIX)/lib")])' 2>/dev/null)
# FOLDERS
python_finds = $(if $(filter $(PYTHON_FOLDER),$(1)),:,$(if $(1),\
  $(INSTALL) -d $(DESTDIR)$(firstword $(1)) && \
  realpath -m --relative-to=$(firstword $(1)) $(PYTHON_FOLDER) > $(DESTDIR)$(firstword $(1))/vampire.pth,\
  $(if $(findstring s,$(firstword -$(MAKEFLAGS))),:,echo "for Python to find the package vampire:  export PYTHONPATH=$(PYTHON_FOLDER)")))
# Where zsh looks: packages have a folder of their own.
# The completion of each program for a shell, where there is a Python: shell, where they go below share/, what ends their names.
complete = $(if $(shell command -v python3),for program in $(B)/bin/vampire $(B)/bin/vampire-collect $(if $(MAESTRO_ROOMS),$(B)/bin/maestro-pool-manager) python/vampire-top python/vampire-report; do \
  python3 packaging/completion.py $$program $(1) > $(TO)/share/$(2)$${program##*/}$(3) || exit 1; done,\
  @echo "no completion for $(1): it is made by python3, which is not here")
ZSH_COMPLETIONS = zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)
# Texts that name the usual prefix name the real one once installed: FILES, FOLDER.
define install_texts
for text in $(1); do \
  $(INSTALL) -d $(2) && sed 's|/usr/local|$(PREFIX)|g' $$text > $(2)/$${text##*/} && chmod 644 $(2)/$${text##*/} || exit; done
endef
# What others build with: FILE, FOLDER below LIBDIR. From cmake/maestro, UP is the prefix.
UP = $(patsubst %,..,$(subst /, ,$(LIBDIR)/cmake/maestro))
maestro_text = sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' \
  -e 's|@UP@|$(subst $() ,/,$(UP))|' maestro/$(1).in > $(TO)/$(LIBDIR)/$(2)/$(1)
install: all $(LIBMAESTRO)  ## to DESTDIR/PREFIX
	$(INSTALL) -d $(TO)/bin $(TO)/share/vampire/config $(TO)/share/vampire/notebooks $(TO)/share/doc/vampire
	$(INSTALL) -m 755 $(filter-out %/vampire-top,$(PROGRAMS)) $(TO)/bin
	$(INSTALL) -d $(TO)/lib/vampire
	$(INSTALL) -m 755 $(LIVE) $(PLUG_IN_OBJECTS) $(TO)/lib/vampire
	for name in vampire-report vampire-top; do \
	  sed 's|^VERSION = None .*|VERSION = "$(VERSION)"|' python/$$name > $(TO)/bin/$$name && chmod 755 $(TO)/bin/$$name || exit; done
	$(INSTALL) -m 644 $(wildcard notebooks/*.ipynb) $(TO)/share/vampire/notebooks
	$(INSTALL) -d $(PYTHON_TO)/vampire/report $(PYTHON_TO)/vampire/top $(PYTHON_TO)/vampire.dist-info
	$(INSTALL) -m 644 $(wildcard python/vampire/*.py) $(PYTHON_TO)/vampire
	$(INSTALL) -m 644 $(wildcard python/vampire/report/*.py) $(PYTHON_TO)/vampire/report
	$(INSTALL) -m 644 $(wildcard python/vampire/top/*.py) $(PYTHON_TO)/vampire/top
	sed 's|^Version: .*|Version: $(VERSION)|' python/vampire.dist-info/METADATA > $(PYTHON_TO)/vampire.dist-info/METADATA
	$(INSTALL) -m 644 python/vampire.dist-info/entry_points.txt $(PYTHON_TO)/vampire.dist-info
	chmod 644 $(PYTHON_TO)/vampire.dist-info/METADATA
	$(call install_texts,$(MANUALS),$(TO)/share/man/man$${text##*.})
	$(INSTALL) -d $(TO)/share/bash-completion/completions $(TO)/share/$(ZSH_COMPLETIONS) $(TO)/share/fish/vendor_completions.d
	$(call complete,bash,bash-completion/completions/,)
	$(call complete,zsh,$(ZSH_COMPLETIONS)/_,)
	$(call complete,fish,fish/vendor_completions.d/,.fish)
	$(INSTALL) -m 644 $(wildcard config/ready/*.json) $(TO)/share/vampire/config
	$(call install_texts,$(wildcard config/ready/*.slurm config/ready/*.pbs),$(TO)/share/vampire/config)
	$(call install_texts,$(SERVICES),$(TO)/lib/systemd/system)
	$(INSTALL) -d $(TO)/share/vampire/exporters
	$(INSTALL) -m 644 $(wildcard packaging/exporters/vampire-*) $(TO)/share/vampire/exporters
	$(INSTALL) -d $(TO)/share/vampire/inlets
	$(INSTALL) -m 644 $(wildcard inlets/*.conf inlets/*.json inlets/lines.py) $(TO)/share/vampire/inlets
	$(INSTALL) -m 755 $(filter-out inlets/lines.py,$(wildcard inlets/*.py)) $(TO)/share/vampire/inlets
	$(INSTALL) -m 644 vampire/stats/bucket/telemetry.proto $(TO)/share/vampire/vampire-telemetry.proto
	$(INSTALL) -m 644 LICENSE $(wildcard docs/*.json docs/*.svg) $(TO)/share/doc/vampire
	$(call install_texts,README.md $(wildcard docs/*.md),$(TO)/share/doc/vampire)
ifeq ($(MAESTRO_PREFIX),)
	$(INSTALL) -d $(TO)/include/maestro $(TO)/$(LIBDIR)/pkgconfig $(TO)/$(LIBDIR)/cmake/maestro
	$(INSTALL) -m 644 maestro/maestro.h $(TO)/include/maestro
	ln -sf maestro/maestro.h $(TO)/include/maestro.h
	$(INSTALL) -m 755 $(LIBMAESTRO) $(TO)/$(LIBDIR)
	ln -sf libmaestro.so.0 $(TO)/$(LIBDIR)/libmaestro.so
	$(call maestro_text,maestro.pc,pkgconfig)
	$(call maestro_text,maestro-config.cmake,cmake/maestro)
endif
	@$(call python_finds,$(PYTHON_LOOKS))
	@$(if $(filter $(B)/%,$(MANUALS))$(findstring s,$(firstword -$(MAKEFLAGS))),:,echo "no manual pages of sections 5 and 7, which lowdown makes:  sh tests/install_packages.sh lowdown; without it they are $(PREFIX)/share/doc/vampire/*.md")

# What an installation of this source would have brought, and no more.
INSTALLED := $(abspath $(B))/installed
uninstall:       ## remove from DESTDIR/PREFIX what install put there
	$(Q)rm -rf $(INSTALLED)
	$(Q)$(MAKE) -s --no-print-directory install DESTDIR=$(INSTALLED)
	$(Q)cd $(INSTALLED) && find . ! -type d -printf '%P\0' | (cd $(or $(DESTDIR),/) && xargs -0 rm -f)
	$(Q)cd $(INSTALLED) && find . -depth -type d -path '*vampire*' -printf '%P\0' | \
	  (cd $(or $(DESTDIR),/) && xargs -0 -r rmdir --ignore-fail-on-non-empty 2>/dev/null; true)
	$(Q)rm -rf $(INSTALLED)

DIST ?= build/dist
dist:            ## a source archive of the commit, the same bytes each time, in DIST (build/dist)
	$(Q)sh packaging/dist.sh $(DIST)
deb: $(if $(MAESTRO_PREFIX),deb-needs-the-embedded-maestro) deb-deps  ## Debian packages, in DIST (build/dist)
	$(Q)sh packaging/deb.sh $(DIST)
deb-needs-the-embedded-maestro:
	@echo "make deb: the packages hold the embedded Maestro; leave MAESTRO_PREFIX away" >&2; exit 2

help:            ## this list
	@printf 'make [MODE=release|debug|asan|tsan|cov] [MAESTRO_PREFIX=DIR] [WITHOUT="NAME..."] [HDF5_LINK=archive|shared] [PREFIX=DIR] [DESTDIR=DIR] [WERROR=1] [V=1] TARGET\n\n'
	@printf '  %-12s %s\n' all 'the programs, in build/MODE/bin'
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/\1\t\2/p' Makefile | while IFS="$$(printf '\t')" read -r t h; do printf '  %-12s %s\n' "$$t" "$$h"; done

clean:           ## remove build/
	rm -rf --one-file-system build

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
