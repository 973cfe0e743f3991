# SPDX-License-Identifier: GPL-2.0
# What the Makefiles of libvpmc and libperfctr have in common. Such a Makefile sets HERE,
# NAME, SONAME and INCLUDES, includes this file, and has the rules for $(OUT)/$(SONAME) and
# $(OUT)/lib$(NAME).a.
TOP := $(realpath $(HERE)../../..)
OUT ?= $(HERE)build
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
INSTALL ?= install
CFLAGS ?= -O2 -g

VERSION := 0.1.0
MAP := $(HERE)lib$(NAME).map
UAPI := $(TOP)/tools/include/uapi
FLAGS := -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DVPMC_VERSION='"$(VERSION)"' -fPIC \
	-fvisibility=hidden -fno-semantic-interposition -fno-math-errno -pthread \
	-Wall -Wextra -Wmissing-prototypes -Wshadow $(INCLUDES) -I$(UAPI)
MAKEFILES := $(HERE)Makefile $(TOP)/tools/lib/vpmc/library.mk

.PHONY: all install check clean FORCE
all: $(OUT)/$(SONAME) $(OUT)/lib$(NAME).so $(OUT)/lib$(NAME).a $(OUT)/$(NAME).pc

COMPILE = $(CC) $(CPPFLAGS) $(FLAGS) $(CFLAGS)
# $(call link-shared,MAP)
link-shared = $(CC) -shared -Wl,-soname,$(@F) -Wl,--version-script=$(1) \
	-Wl,-z,defs -Wl,-z,relro $(CFLAGS) $(LDFLAGS) -pthread -o $@

$(OUT)/lib$(NAME).so: $(OUT)/$(SONAME)
	ln -sfn $(<F) $@

# the directories are those of this call
$(OUT)/$(NAME).pc: $(HERE)$(NAME).pc.in FORCE
	@mkdir -p $(@D)
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|' \
		-e 's|@VERSION@|$(VERSION)|' $< >$@

check: all
	$(HERE)tests/names --out $(OUT)

# $(call install-shared,NAME,SONAME)
define install-shared
	$(INSTALL) -d $(DESTDIR)$(LIBDIR)
	$(INSTALL) -m 755 $(OUT)/$(2) $(DESTDIR)$(LIBDIR)/lib$(1).so.$(VERSION)
	ln -sfn lib$(1).so.$(VERSION) $(DESTDIR)$(LIBDIR)/$(2)
	ln -sfn $(2) $(DESTDIR)$(LIBDIR)/lib$(1).so
endef

define install-library
	$(call install-shared,$(NAME),$(SONAME))
	$(INSTALL) -d $(DESTDIR)$(LIBDIR)/pkgconfig
	$(INSTALL) -m 644 $(OUT)/lib$(NAME).a $(DESTDIR)$(LIBDIR)
	$(INSTALL) -m 644 $(OUT)/$(NAME).pc $(DESTDIR)$(LIBDIR)/pkgconfig
endef

clean:
	rm -rf $(OUT)
