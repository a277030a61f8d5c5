// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/proc.h"
#include "lib/base/vec.h"

void maps_free(struct vma_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->items[i].name);
	free(l->items);
	memset(l, 0, sizeof(*l));
}

static int copy(struct vma *v, const struct moca_maps_line *l)
{
	*v = (struct vma){
		.start = l->start, .end = l->end, .offset = l->offset,
		.ino = l->ino, .major = l->major, .minor = l->minor,
		.prot = (l->readable ? PROT_READ : 0) |
			(l->writable ? PROT_WRITE : 0) |
			(l->executable ? PROT_EXEC : 0),
		.shared = l->shared, .name = strdup(l->name),
	};
	return v->name ? 0 : -ENOMEM;
}

static int read_all(struct moca_maps *m, struct vma_list *out)
{
	struct moca_maps_line l;
	size_t room = 0;
	int ret;

	while ((ret = moca_maps_next(m, &l)) > 0) {
		ret = moca_vec_fit(out->items, room, out->count + 1);
		if (!ret)
			ret = copy(&out->items[out->count], &l);
		if (ret)
			break;
		out->count++;
	}
	if (ret)
		maps_free(out);
	return ret;
}

int maps_read(pid_t pid, struct vma_list *out)
{
	char buf[MOCA_MAPS_BUF];
	struct moca_maps m;
	int ret;

	memset(out, 0, sizeof(*out));
	ret = moca_proc_maps(&m, pid, buf, sizeof(buf));
	if (ret)
		return ret;
	ret = read_all(&m, out);
	close(m.fd);
	return ret;
}

int maps_read_again(int fd, struct vma_list *out)
{
	char buf[MOCA_MAPS_BUF];
	struct moca_maps m;
	int ret;

	memset(out, 0, sizeof(*out));
	ret = moca_proc_maps_again(&m, fd, buf, sizeof(buf));
	if (!ret)
		ret = read_all(&m, out);
	/* Whether the kernel says so, or tells of no mapping. */
	return !ret && !out->count ? -ESRCH : ret;
}

int maps_find(pid_t pid, uint64_t addr, struct vma *out)
{
	char buf[MOCA_MAPS_BUF];
	struct moca_maps m;
	struct moca_maps_line l;
	int ret = moca_proc_maps(&m, pid, buf, sizeof(buf));

	if (ret)
		return ret;
	do
		ret = moca_maps_next(&m, &l);
	while (ret > 0 && l.end <= addr);
	if (ret > 0)
		ret = l.start <= addr ? copy(out, &l) : -ENOENT;
	else if (!ret)
		ret = -ENOENT;
	close(m.fd);
	return ret;
}

struct moca_identity maps_identity(const struct vma *v)
{
	return moca_identity_of(v->name, moca_identity_dev(v->major, v->minor),
				v->ino, 0);
}

struct moca_identity maps_identity_at(pid_t pid, uint64_t addr)
{
	struct moca_identity of = { 0 };
	struct vma v;

	if (maps_find(pid, addr, &v))
		return of;
	of = maps_identity(&v);
	free(v.name);
	return of;
}

const struct vma *maps_at(const struct vma_list *l, uint64_t addr)
{
	size_t lo = 0, hi = l->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->items[mid].end > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo < l->count && l->items[lo].start <= addr ? &l->items[lo] :
							     NULL;
}
