// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which code of the program does not count itself: libraries that were not
 * rewritten, parts of those that were, and instructions that could not be.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/count/counters.h"
#include "include/abi/count.h"
#include "lib/base/maps.h"

#define TOLD_MAX 1024
#define RANGES_MAX 4096

static const char *const gap_names[ASM_GAP_COUNT] = { ASM_GAP_NAMES };

struct count_module *moca_count_modules;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void moca_count_module(struct count_module *m);

/* Bytes of m's code that count. */
static uint64_t counted(const struct count_module *m)
{
	uint64_t sum = 0;
	const int32_t *p;

	for (p = m->code; p + 1 < m->code_end; p += 2)
		sum += (uint64_t)(((const char *)(p + 1) + p[1]) -
				  ((const char *)p + p[0]));
	return sum;
}

static int contains(const struct dl_phdr_info *info, uint64_t addr)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD &&
		    addr - info->dlpi_addr - p->p_vaddr < p->p_memsz)
			return 1;
	}
	return 0;
}

static const struct count_module *module_of(const struct dl_phdr_info *info)
{
	for (const struct count_module *m = moca_count_modules; m; m = m->next)
		if (contains(info, (uint64_t)m))
			return m;
	return NULL;
}

/* The recorder says which files are Moca's. */
static int is_own_file(const char *name)
{
	const struct moca_exact_shared *shared =
		(void *)(moca_count_recording.arena + MOCA_EXACT_SHARED);
	struct stat st;

	if (stat(name, &st))
		return 0;
	for (int i = 0; i < MOCA_EXACT_OWN_FILES; i++)
		if (shared->own[i].ino == st.st_ino &&
		    shared->own[i].dev == st.st_dev)
			return 1;
	return 0;
}

/*
 * Not the program's code: ours, of which the copy that this function is in may be
 * another one than the recorder's; or the kernel's. As in the translator's counts.
 */
static int is_ours(const struct dl_phdr_info *info)
{
	return (*info->dlpi_name && contains(info, (uint64_t)is_ours)) ||
	       info->dlpi_addr == getauxval(AT_SYSINFO_EHDR) ||
	       is_own_file(info->dlpi_name);
}

static int tell_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	static uint64_t told[TOLD_MAX];
	static unsigned int count;
	const struct count_module *m = module_of(info);
	const char *name = info->dlpi_name;
	uint64_t code = 0, rest;
	char text[300];
	unsigned int i;

	for (i = 0; i < count; i++)
		if (told[i] == (uint64_t)info->dlpi_phdr)
			return 0;
	if (count < TOLD_MAX)
		told[count++] = (uint64_t)info->dlpi_phdr;
	if (is_ours(info))
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    info->dlpi_phdr[i].p_flags & PF_X)
			code += info->dlpi_phdr[i].p_memsz;
	rest = m ? code - counted(m) : code;
	if (!*name)
		name = "the program";
	if (!m)
		snprintf(text, sizeof(text), "uncounted code: %.200s", name);
	else
		snprintf(text, sizeof(text), "uncounted code: %" PRIu64 " of %"
			 PRIu64 " bytes in %.200s, of other objects", rest, code,
			 name);
	if (rest)
		count_gap(MOCA_EXACT_GAP_NATIVE, 1, text);
	return 0;
}

struct range {
	uint64_t start, end;
};

static int read_maps(int fd, void *buf, size_t size)
{
	return (int)read(fd, buf, size);
}

/* The program's mappings, without the arena and what is ours beside it. */
static size_t read_ranges(struct range *r, size_t max)
{
	uint64_t arena = moca_count_recording.arena;
	char buf[4096];
	struct moca_maps m = {
		.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC),
		.read = read_maps, .buf = buf, .size = sizeof(buf),
	};
	struct moca_maps_line l;
	size_t n = 0;

	while (m.fd >= 0 && n < max && moca_maps_next(&m, &l) > 0) {
		if (l.start >> 47 ||
		    (l.start < arena + MOCA_EXACT_ARENA_SIZE && l.end > arena) ||
		    l.end - l.start > MOCA_EXACT_CELLS * 8)
			continue;
		r[n++] = (struct range){ l.start, l.end };
	}
	if (m.fd >= 0)
		close(m.fd);
	return n;
}

/* Addresses that far apart have the same counters. */
static void tell_folded(void)
{
	static struct range r[RANGES_MAX];
	static bool told;
	uint64_t window = MOCA_EXACT_CELLS << moca_count_recording.shift, gap;
	size_t n = read_ranges(r, RANGES_MAX), i, k;
	char text[128];

	for (i = 0; i < n && !told; i++)
		for (k = i + 1; k < n && !told; k++) {
			/* Of their begins; each way round. */
			gap = (r[k].start - r[i].start) & (window - 1);
			if (gap >= r[i].end - r[i].start &&
			    window - gap >= r[k].end - r[k].start)
				continue;
			snprintf(text, sizeof(text), "mappings share counters: "
				 "%" PRIx64 "-%" PRIx64 " and %" PRIx64
				 "-%" PRIx64, r[i].start, r[i].end, r[k].start,
				 r[k].end);
			told = true;
			count_gap(MOCA_EXACT_GAP_FOLDED, 1, text);
		}
}

void count_tell_code(void)
{
	if (!moca_count_recording.version)
		return;
	pthread_mutex_lock(&lock);
	tell_folded();
	dl_iterate_phdr(tell_module, NULL);
	pthread_mutex_unlock(&lock);
}

/* The program itself is the first that is told of. */
static int is_program(struct dl_phdr_info *info, size_t size, void *m)
{
	return module_of(info) == m ? 1 : -1;
}

/* From each module's constructor; note.S. */
void moca_count_module(struct count_module *m)
{
	const struct count_gap *g;
	char text[256];

	pthread_mutex_lock(&lock);
	m->next = moca_count_modules;
	moca_count_modules = m;
	pthread_mutex_unlock(&lock);
	if (moca_count_recording.version &&
	    m->shift != moca_count_recording.shift) {
		snprintf(text, sizeof(text), "built with --moca-granularity=%u, "
			 "but recorded with %u", 1u << m->shift,
			 1u << moca_count_recording.shift);
		count_gap(MOCA_EXACT_GAP_NATIVE, 1, text);
	}
	for (g = m->gaps; g < m->gaps_end; g++) {
		if (!g->kind || g->kind >= ASM_GAP_COUNT)
			continue;
		snprintf(text, sizeof(text), "uncounted when built: %s, %u of "
			 "%.55s, the first: %.63s", gap_names[g->kind],
			 g->count, g->source, g->sample);
		count_gap(MOCA_EXACT_GAP_DECODE, g->count, text);
	}
	/* The program's own comes last: all that it was linked with is known. */
	if (dl_iterate_phdr(is_program, m) > 0)
		count_tell_code();
}
