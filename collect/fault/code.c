// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/code.h"

#include <unistd.h>

/* The memfd has the code that a program writes, also where a sweep took the page. */
static ssize_t read_memfd(void *arg, uint64_t addr, uint8_t *bytes, size_t len)
{
	struct mm *mm = arg;
	const struct region *r;
	ssize_t n = -1;

	pthread_mutex_lock(&mm->lock);
	r = moca_regions_find(&mm->regions, addr);
	if (r && r->kind == REGION_MEMFD && mm->memfd >= 0)
		n = pread(mm->memfd, bytes, len,
			  (off_t)(r->off + (addr - r->start)));
	pthread_mutex_unlock(&mm->lock);
	return n;
}

uint8_t code_type(struct decoder *d, struct mm *mm, const struct sample *s)
{
	const struct code_space space = {
		.id = mm ? mm->space.id : -1, .pid = (pid_t)s->pid,
		.read = mm ? read_memfd : NULL, .arg = mm,
	};

	return decoder_type(d, &space, s);
}
