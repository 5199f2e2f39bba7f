# SPDX-License-Identifier: BSD-3-Clause
#
#   make            the programs, in build/release/bin
#   make demo       installs what is missing, runs a workflow with a vampire in it
#   make check      every test
#   make help       all targets and variables

MODE   ?= release
CC     ?= cc
PREFIX ?= /usr/local
B      := build/$(MODE)
GEN    := build/gen

VERSION := $(shell git describe --always --dirty --tags 2>/dev/null || cat VERSION 2>/dev/null || echo unknown)

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wformat=2 -Wstrict-prototypes \
  -Wmissing-prototypes -Wold-style-definition -Wundef -Wcast-qual -Wpointer-arith -Wwrite-strings \
  -Wvla -Wimplicit-fallthrough -Wswitch-enum -Wdouble-promotion -Werror
ifeq (,$(findstring clang,$(shell $(CC) --version 2>/dev/null)))
WARNINGS += -Wlogical-op -Wduplicated-cond -Wduplicated-branches
endif

FLAGS_release := -O2 -g -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection \
  -fcf-protection
FLAGS_debug   := -O0 -g3
FLAGS_asan    := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
FLAGS_tsan    := -O1 -g -fno-omit-frame-pointer -fsanitize=thread
FLAGS_cov     := -O0 -g --coverage
LINK_release  := -pie -Wl,-z,relro,-z,now
MODE_FLAGS    := $(FLAGS_$(MODE))
ifeq ($(MODE_FLAGS),)
$(error MODE=$(MODE) is unknown; it is one of release, debug, asan, tsan, cov)
endif

# Third-party headers are system headers to us, so that their warnings stay theirs.
pkg = $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(1) 2>/dev/null))
lib = $(shell pkg-config --libs $(1) 2>/dev/null)

override CFLAGS += -std=c17 -D_GNU_SOURCE -fPIC $(MODE_FLAGS) $(WARNINGS) -pthread -MMD -MP -I. -I$(GEN)
override LDFLAGS += $(MODE_FLAGS) $(LINK_$(MODE)) -pthread

# ---------------------------------------------------------------- folders, lowest first
# One static archive a folder. A test of a folder links that folder and what it may include,
# so a dependency in the wrong direction does not link.
LAYERS := core filters stats source writers maestro app
DIR_core := vampire/core
DIR_filters := filters
DIR_stats := vampire/stats
DIR_source := vampire/source
DIR_writers := writers
DIR_maestro := maestro
DIR_app := vampire

MAINS := vampire/main.c maestro/pool_manager.c
SRC_core := $(wildcard vampire/core/*.c) $(GEN)/event.pb-c.c
SRC_maestro := $(filter-out $(MAINS),$(wildcard maestro/*.c)) $(GEN)/pool.pb-c.c
SRC_app := $(filter-out $(MAINS),$(wildcard vampire/*.c))
$(foreach l,filters stats source writers,$(eval SRC_$(l) := $(wildcard $(DIR_$(l))/*.c)))

PKG_core := libprotobuf-c
PKG_filters := libpcre2-8
PKG_stats := uuid
PKG_source :=
PKG_writers := hdf5-serial
PKG_maestro := libfabric yaml-0.1 uuid
PKG_app := jansson uuid

# What a test of a layer links beside its own archive.
USES_core :=
USES_filters := core
USES_stats := core
USES_source := maestro filters core
USES_writers := stats core
USES_maestro := filters core
USES_app := source writers stats filters maestro core

objects = $(patsubst %.c,$(B)/obj/%.o,$(1))
archive = $(B)/lib/$(1).a
packages = $(foreach l,$(1) $(USES_$(1)),$(PKG_$(l)))
archives = $(foreach l,$(1) $(USES_$(1)),$(call archive,$(l)))
libraries = $(call archives,$(1)) $(call lib,$(call packages,$(1))) -lm

PROGRAMS := $(B)/bin/vampire $(B)/bin/maestro-pool-manager

.PHONY: all clean help
all: $(PROGRAMS)

$(foreach l,$(LAYERS),$(eval $(call objects,$(SRC_$(l))): CFLAGS += $(call pkg,$(PKG_$(l)) $(PKG_core))))
$(foreach l,$(LAYERS),$(eval $(call archive,$(l)): $(call objects,$(SRC_$(l)))))
$(foreach l,$(LAYERS),$(eval $(call objects,$(SRC_$(l))): | $(GEN)/event.pb-c.h $(GEN)/pool.pb-c.h))

$(B)/lib/%.a:
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

# protobuf-c code, once for all modes.
$(GEN)/event.pb-c.c $(GEN)/event.pb-c.h &: vampire/core/event.proto
	@mkdir -p $(GEN)
	protoc-c -Ivampire/core --c_out=$(GEN) event.proto
$(GEN)/pool.pb-c.c $(GEN)/pool.pb-c.h &: maestro/pool.proto vampire/core/event.proto
	@mkdir -p $(GEN)
	protoc-c -Ivampire/core -Imaestro --c_out=$(GEN) pool.proto

$(B)/bin/vampire: $(B)/obj/vampire/main.o $(call archives,app)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $< $(call libraries,app)
$(B)/bin/maestro-pool-manager: $(B)/obj/maestro/pool_manager.o $(call archives,maestro)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $< $(call libraries,maestro)

# ---------------------------------------------------------------- unit and conformance tests
# tests/unit/<layer>_<what>_test.c links <layer> and what it uses; conformance suites likewise.
UNIT := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/unit/*_test.c tests/conformance/*_test.c))
define unit_rule
$(1): $(B)/obj/$(patsubst $(B)/%,%,$(1)).o $(call objects,$(wildcard tests/lib/*.c)) $(call archives,$(2))
	@mkdir -p $$(@D)
	$$(CC) $$(LDFLAGS) -o $$@ $$< $(call objects,$(wildcard tests/lib/*.c)) $(call libraries,$(2)) $(call lib,cmocka)
$(B)/obj/$(patsubst $(B)/%,%,$(1)).o: CFLAGS += $(call pkg,cmocka $(call packages,$(2)))
$(B)/obj/$(patsubst $(B)/%,%,$(1)).o: | $(GEN)/event.pb-c.h $(GEN)/pool.pb-c.h
endef
$(foreach t,$(UNIT),$(eval $(call unit_rule,$(t),$(firstword $(subst _, ,$(notdir $(t)))))))
.PHONY: unit
unit: $(UNIT)

clean:
	rm -rf build

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
