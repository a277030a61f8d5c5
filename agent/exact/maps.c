// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which addresses hold code. What the kernel says is read anew when an address
 * is not in the table, so calls that change mappings need only take out.
 */
#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/fcntl.h>

#include "agent/exact/maps.h"
#include "agent/exact/translate.h"

#define RANGES 8192

struct range {
	uint64_t start, end;
	int flags;
};

static struct range *ranges;
static int count;

static int has(const char *name, const char *part)
{
	size_t i;

	for (; *name; name++) {
		for (i = 0; part[i] && name[i] == part[i]; i++)
			;
		if (!part[i])
			return 1;
	}
	return 0;
}

/* A file system may tell another device of a mapping (btrfs, overlay). */
int moca_exact_maps_ours(const struct moca_maps_line *l)
{
	const struct moca_exact_own_file *own = moca_exact.shared->own;
	struct stat st;

	if (!l->ino || !(has(l->name, "/libmoca-") ||
			 has(l->name, "/libmocatrace.so")))
		return 0;
	for (int i = 0; i < MOCA_EXACT_OWN_FILES; i++)
		if (own[i].ino == l->ino &&
		    !moca_exact_call(__NR_stat, (long)l->name, (long)&st, 0, 0,
				     0, 0) &&
		    st.st_ino == l->ino && st.st_dev == own[i].dev)
			return 1;
	return 0;
}

/* A memfd, which is one of files to the kernel, may be code that changes. */
static int is_file(const char *name)
{
	return name[0] == '/' && memcmp(name, "/memfd:", 7);
}

static void add_range(void *arg, const struct moca_maps_line *l)
{
	struct range r = { l->start, l->end, 0 };

	if (!l->executable || count == RANGES)
		return;
	if (l->writable || l->shared)
		r.flags |= CODE_WRITABLE;
	if (moca_exact_maps_ours(l))
		r.flags |= CODE_OURS;
	if (!is_file(l->name))
		r.flags |= CODE_ANONYMOUS;
	if (has(l->name, "/ld-linux"))
		r.flags |= CODE_LOADER;
	/* Ours: the program has no business there. */
	if (r.start < moca_exact.setup.agent_end &&
	    r.end > moca_exact.setup.agent)
		return;
	if (r.start < moca_exact.setup.zydis_end &&
	    r.end > moca_exact.setup.zydis)
		return;
	if (moca_exact_cache_has(r.start))
		return;
	ranges[count++] = r;
}

static int read_some(int fd, void *buf, size_t size)
{
	return (int)moca_exact_call(__NR_read, fd, (long)buf, (long)size, 0, 0,
				    0);
}

void moca_exact_maps(void (*each)(void *arg, const struct moca_maps_line *l),
		     void *arg)
{
	static char text[65536];
	struct moca_maps m = {
		.fd = (int)moca_exact_call(__NR_open, (long)"/proc/self/maps",
					   O_RDONLY | O_CLOEXEC, 0, 0, 0, 0),
		.read = read_some, .buf = text, .size = sizeof(text),
	};
	static int said;
	struct moca_maps_line l;

	if (m.fd < 0) {
		if (!said)
			moca_exact_say("/proc/self/maps cannot be read",
				       (uint64_t)-m.fd);
		said = 1;
		return;
	}
	while (moca_maps_next(&m, &l) > 0)
		each(arg, &l);
	moca_exact_call(__NR_close, m.fd, 0, 0, 0, 0, 0);
}

static void read_maps(void)
{
	if (!ranges)
		ranges = moca_exact_map(RANGES * sizeof(*ranges));
	count = 0;
	moca_exact_maps(add_range, NULL);
}

static struct range *find(uint64_t pc)
{
	int low = 0, high = count;

	while (low < high) {
		int mid = (low + high) / 2;

		if (ranges[mid].end <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	return low < count && ranges[low].start <= pc ? &ranges[low] : NULL;
}

int moca_exact_code_at(uint64_t pc, uint64_t *start, uint64_t *end, int *flags)
{
	struct range *r = find(pc);

	if (!r) {
		read_maps();
		r = find(pc);
	}
	if (!r)
		return 0;
	*start = r->start;
	*end = r->end;
	*flags = r->flags;
	return 1;
}

int moca_exact_is_code(uint64_t pc, uint64_t *start, uint64_t *end, int *flags)
{
	int ret;

	moca_exact_lock();
	ret = moca_exact_code_at(pc, start, end, flags);
	moca_exact_unlock();
	return ret;
}

struct sought {
	uint64_t address;
	int found;
};

static void seek(void *arg, const struct moca_maps_line *l)
{
	struct sought *s = arg;

	if (l->start <= s->address && s->address < l->end)
		s->found = 1;
}

int moca_exact_is_mapped(uint64_t address)
{
	struct sought s = { .address = address };

	moca_exact_lock();
	moca_exact_maps(seek, &s);
	moca_exact_unlock();
	return s.found;
}

void moca_exact_code_gone(uint64_t start, uint64_t end)
{
	/* Cheap, and rare enough: what is left is read again. */
	for (int i = 0; i < count; i++)
		if (ranges[i].start < end && ranges[i].end > start) {
			count = 0;
			return;
		}
}
