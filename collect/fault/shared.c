// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/shared.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "collect/fault/mm.h"
#include "collect/fault/witness.h"

/* Their files are of page cache, whose pages stay when entries go. */
static int keeps_pages(const char *type)
{
	static const char *const types[] = {
		"tmpfs", "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs",
		"overlay", "nfs", "nfs4", "zfs",
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(type, types[i]))
			return 1;
	return 0;
}

/* Is the device mounted in pid's view, as a file system of that sort? */
static int on_known_mount(pid_t pid, const struct vma *v)
{
	char path[64], want[32], device[32], type[64], *line = NULL, *p;
	size_t room = 0;
	int found = 0;
	FILE *f;

	snprintf(want, sizeof(want), "%u:%u", v->major, v->minor);
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (!found && getline(&line, &room, f) > 0) {
		p = strstr(line, " - ");
		found = p && sscanf(line, "%*s %*s %31s", device) == 1 &&
			sscanf(p, " - %63s", type) == 1 &&
			!strcmp(device, want) && keeps_pages(type);
	}
	free(line);
	fclose(f);
	return found;
}

int shared_may_zap(const struct mm *mm, pid_t pid, const struct vma *v)
{
	static const char deleted[] = " (deleted)";
	size_t n = strlen(v->name), d = sizeof(deleted) - 1;

	if (!v->shared || maps_identity(v).memory == MOCA_MEMORY_PRIVATE)
		return 0;
	/* The kernel's own mount, which our memfd is on: never huge pages. */
	if (mm->memfd >= 0 &&
	    mm->memfd_dev == makedev(v->major, v->minor))
		return 1;
	return v->name[0] == '/' && n > d && !strcmp(v->name + n - d, deleted) &&
	       on_known_mount(pid, v);
}

static int failed(long ret)
{
	return ret < 0 && ret >= -4095;
}

int shared_attach(struct recorder *rec, struct mm *mm, struct tracee_calls *c,
		  const uint64_t a[6], long *ret)
{
	struct moca_identity of;
	struct vma v;
	int err;

	*ret = tracee_call(c, &err, SYS_shmat, a[0], a[1], a[2], 0, 0, 0);
	/* The kernel tells the segment's length. */
	if (err || failed(*ret) || maps_find(c->task->tid, (uint64_t)*ret, &v))
		return err;
	of = maps_identity(&v);
	/* SHM_REMAP may have replaced what was there. */
	mm_drop(rec, mm, c->task, v.start, v.end, MM_GONE);
	if (shared_may_zap(mm, c->task->tid, &v)) {
		mm_add_native(rec, mm, c->task, v.start, v.end, REGION_SHARED,
			      v.prot, v.offset, v.name, &of);
	} else {
		task_event_map(rec, c->task, v.start, v.end - v.start, v.offset,
			       v.prot, MOCA_MAP_SHARED, v.name, &of);
		task_event(rec, c->task, MOCA_CHANGE_GAP, v.start, v.end - v.start,
			   0, 0, 0,
			   "shared memory of huge pages: real faults only");
	}
	free(v.name);
	return 0;
}

/* Where what one shmat made at addr ends, in however many parts by now. */
static uint64_t segment_end(pid_t pid, uint64_t addr)
{
	struct vma_list l;
	uint64_t ino = 0;

	if (maps_read(pid, &l))
		return addr;
	for (size_t i = 0; i < l.count; i++) {
		const struct vma *v = &l.items[i];

		if (v->start != addr || !v->shared || (ino && v->ino != ino))
			continue;
		ino = v->ino;
		addr = v->end;
	}
	maps_free(&l);
	return addr;
}

int shared_detach(struct recorder *rec, struct mm *mm, struct tracee_calls *c,
		  uint64_t addr, long *ret)
{
	uint64_t end = segment_end(c->task->tid, addr);
	int err;

	witness_range(rec, mm, c->task, addr, end);
	*ret = tracee_call(c, &err, SYS_shmdt, addr, 0, 0, 0, 0, 0);
	if (!err && !failed(*ret) && end > addr)
		mm_drop(rec, mm, c->task, addr, end, MM_GONE);
	return err;
}

void shared_moved(struct recorder *rec, struct task *t, const struct region *r,
		  uint64_t addr, uint64_t len)
{
	uint32_t flags = MOCA_MAP_MOVED | mm_map_flags(r);
	struct moca_identity of;
	struct vma v;

	if (maps_find(t->tid, addr, &v))
		return;
	of = maps_identity(&v);
	if (v.name[0] == '/')
		flags |= MOCA_MAP_FILE;
	task_event_map(rec, t, addr, len, v.offset + (addr - v.start), v.prot,
		       flags, v.name, &of);
	free(v.name);
}
