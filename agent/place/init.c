// SPDX-License-Identifier: LGPL-2.1-or-later
/* The plan, and the program's libraries as they come. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/place/place.h"

struct moca_place_head *place_plan;
static int is_deep;
/* For dlopen.S. */
void *(*place_real_dlopen)(const char *name, int flags);
int place_may_look(const char *name, int flags, const void *ret);
int place_is_deep(void)
{
	return __atomic_load_n(&is_deep, __ATOMIC_RELAXED);
}

void *place_dlopen(const char *name, int flags);

/* --- the plan -------------------------------------------------------------- */

static int is_whole(struct moca_place_head *h, uint64_t size)
{
	const struct moca_place_range *r;
	const struct moca_place_static *v;
	uint32_t i;

	if (h->magic != MOCA_PLACE_MAGIC || h->modules > MOCA_PLACE_MAX ||
	    h->policies > MOCA_PLACE_MAX || h->ranges > MOCA_PLACE_MAX ||
	    h->statics > MOCA_PLACE_MAX || moca_place_size(h) > size)
		return 0;
	r = moca_place_ranges(h);
	for (i = 0; i < h->ranges; i++)
		if (r[i].module >= h->modules ||
		    (r[i].policy >= h->policies &&
		     r[i].policy != MOCA_PLACE_WRAPPER))
			return 0;
	v = moca_place_statics(h);
	for (i = 0; i < h->statics; i++)
		if (v[i].module >= h->modules || v[i].policy >= h->policies)
			return 0;
	return 1;
}

/* NULL: moca has ended, or it is another user's, or none of ours. */
static struct moca_place_head *open_plan(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY), seals;
	struct moca_place_head *h = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return NULL;
	seals = fcntl(fd, F_GET_SEALS);
	/* Nobody can cut it below us. */
	if (seals >= 0 && seals & F_SEAL_SHRINK && !fstat(fd, &st) &&
	    (uint64_t)st.st_size >= sizeof(*h))
		h = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			 fd, 0);
	close(fd);
	if (h == MAP_FAILED)
		return NULL;
	if (is_whole(h, st.st_size))
		return h;
	munmap(h, st.st_size);
	return NULL;
}

/* Before all other constructors (-z initfirst); the C library has no environ yet. */
static void __attribute__((constructor)) begin(int argc, char **argv,
					       char **env)
{
	size_t n = strlen(MOCA_PLACE_ENV);
	int saved_errno = errno;

	for (; env && *env; env++)
		if (!strncmp(*env, MOCA_PLACE_ENV "=", n + 1)) {
			place_plan = open_plan(*env + n + 1);
			break;
		}
	if (place_plan) {
		place_count(&place_plan->processes);
		place_scan();
	}
	errno = saved_errno;
}

/* --- dlopen ---------------------------------------------------------------- */

static int has_rpath(const struct link_map *m)
{
	const ElfW(Dyn) *d = m->l_ld;

	while (d && d->d_tag != DT_NULL && d->d_tag != DT_RPATH)
		d++;
	return d && d->d_tag == DT_RPATH;
}

/*
 * The loader looks for a library, and for what that needs, by who calls dlopen. We
 * may call in its stead where that makes no difference.
 */
int place_may_look(const char *name, int flags, const void *ret)
{
	struct link_map *caller = NULL;
	Dl_info info;

	if (!place_real_dlopen)
		*(void **)&place_real_dlopen = dlsym(RTLD_NEXT, "dlopen");
	if (flags & RTLD_DEEPBIND)
		__atomic_store_n(&is_deep, 1, __ATOMIC_RELAXED);
	if (!place_plan || !name || !strchr(name, '/') || strchr(name, '$') ||
	    flags & RTLD_DEEPBIND)
		return 0;
	return dladdr1((char *)ret - 1, &info, (void **)&caller,
		       RTLD_DL_LINKMAP) && caller &&
	       /* The program's own is looked at in any case. */
	       (!caller->l_name[0] || !has_rpath(caller));
}

void *place_dlopen(const char *name, int flags)
{
	void *library = place_real_dlopen(name, flags);
	int saved_errno = errno;

	if (library)
		place_scan();
	errno = saved_errno;
	return library;
}
