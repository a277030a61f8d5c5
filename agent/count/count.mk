# SPDX-License-Identifier: GPL-2.0-or-later
# What `moca cc` links programs with.
CC_DIR := $(BUILD)/cc
GRANULES := 6 7 8 9 10 11 12
CC_FILES := $(CC_DIR)/as $(CC_DIR)/libmoca-count.so \
	$(CC_DIR)/libmoca-count.a $(patsubst %,$(CC_DIR)/count-%.o,$(GRANULES))
COUNT_SRC := $(filter-out %/note.S,$(wildcard agent/count/*.[cS]))
COUNT_OBJ := $(call obj,$(COUNT_SRC))
COUNT_STATIC_OBJ := $(patsubst $(BUILD)/obj/%,$(BUILD)/obj-count/%,$(COUNT_OBJ))

# Called amid any instruction, where nobody has kept the vectors.
COUNT_AMID := agent/count/event agent/count/log agent/count/maps
$(patsubst %,$(BUILD)/obj/%.o,$(COUNT_AMID)) \
$(patsubst %,$(BUILD)/obj-count/%.o,$(COUNT_AMID)): \
	ALL_CFLAGS += -mgeneral-regs-only -fno-stack-protector \
		-fno-tree-loop-distribute-patterns
$(BUILD)/obj-count/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -fPIE -DMOCA_COUNT_STATIC -c -o $@ $<
$(BUILD)/obj-count/%.o: %.S
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -MMD -MP -c -o $@ $<
$(CC_DIR)/as: $(BUILD)/moca
	@mkdir -p $(@D)
	ln -sf ../moca $@
# Bound at once: the dynamic linker's own code may not run in between.
$(CC_DIR)/libmoca-count.so: $(COUNT_OBJ) agent/count/libmoca-count.map
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -pthread -static-libgcc \
		-Wl,-soname,libmoca-count.so -Wl,-z,nodelete -Wl,-z,now \
		-Wl,-z,defs -Wl,--version-script=agent/count/libmoca-count.map \
		-o $@ $(COUNT_OBJ)
$(CC_DIR)/libmoca-count.a: $(COUNT_STATIC_OBJ)
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $^
$(CC_DIR)/count-%.o: agent/count/note.S include/abi/count.h
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -DSHIFT=$* -DGRANULE=moca_count_granule_$$((1<<$*)) \
		-c -o $@ $<
