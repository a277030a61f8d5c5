// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/vec.h"

void maps_free(struct vma_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->items[i].name);
	free(l->items);
	memset(l, 0, sizeof(*l));
}

static int parse_line(char *line, struct vma *v)
{
	char prot[5];
	int name = 0;

	memset(v, 0, sizeof(*v));
	if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &v->start, &v->end,
		   prot, &v->offset, &v->major, &v->minor, &v->ino, &name) < 7)
		return -EBADMSG;
	v->prot = (prot[0] == 'r' ? PROT_READ : 0) |
		  (prot[1] == 'w' ? PROT_WRITE : 0) |
		  (prot[2] == 'x' ? PROT_EXEC : 0);
	v->shared = prot[3] == 's';
	line[strcspn(line, "\n")] = 0;
	v->name = strdup(name ? line + name : "");
	return v->name ? 0 : -ENOMEM;
}

int maps_read(pid_t pid, struct vma_list *out)
{
	size_t room = 0, line_room = 0;
	char path[64], *line = NULL;
	int ret = 0;
	FILE *f;

	memset(out, 0, sizeof(*out));
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (getline(&line, &line_room, f) > 0) {
		ret = moca_vec_fit(out->items, room, out->count + 1);
		if (!ret)
			ret = parse_line(line, &out->items[out->count]);
		if (ret)
			break;
		out->count++;
	}
	free(line);
	fclose(f);
	if (ret)
		maps_free(out);
	return ret;
}

int maps_find(pid_t pid, uint64_t addr, struct vma *out)
{
	char path[64], *line = NULL;
	size_t room = 0;
	int ret = -ENOENT;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (ret == -ENOENT && getline(&line, &room, f) > 0) {
		ret = parse_line(line, out);
		if (ret || (out->start <= addr && addr < out->end))
			break;
		free(out->name);
		ret = out->start > addr ? -ESRCH : -ENOENT;
	}
	free(line);
	fclose(f);
	return ret == -ESRCH ? -ENOENT : ret;
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
