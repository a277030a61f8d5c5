// SPDX-License-Identifier: GPL-2.0-or-later
#include "import/structures.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

int structures_map(struct structures *s, struct lines *l, const char *name,
		   uint64_t addr, uint64_t size)
{
	uint64_t mask = s->page_size - 1, end;
	struct moca_change map = {
		.type = MOCA_CHANGE_MMAP, .time_ns = s->time_ns,
		.parent = MOCA_NO_TASK, .name = name,
		.prot = PROT_READ | PROT_WRITE,
		.memory = MOCA_MEMORY_PRIVATE,
	};
	int err;

	if (!size || addr >= STRUCTURES_ADDRESS_MAX ||
	    size >= STRUCTURES_ADDRESS_MAX - addr) {
		s->odd++;
		return 0;
	}
	end = (addr + size + mask) & ~mask;
	map.addr = (addr + mask) & ~mask;
	if (map.addr >= end)
		return 0;
	map.len = end - map.addr;
	err = import_trace_change(s->trace, 0, &map);
	return err == -E2BIG ?
		lines_wrong(l, "there are more than a million structures") : err;
}

/* A number alone, with blanks around it. */
static int number(const char *s, uint64_t *out)
{
	int err;

	lines_blanks(&s);
	err = lines_decimal(&s, out);
	lines_blanks(&s);
	return err || *s ? -EINVAL : 0;
}

int structures_line(struct structures *s, struct lines *l)
{
	char *text = l->text, *size = strrchr(text, ','), *addr;
	uint64_t a, n;

	if (size) {
		*size++ = 0;
		addr = strrchr(text, ',');
		if (addr) {
			*addr++ = 0;
			if (*text && !number(addr, &a) && !number(size, &n))
				return structures_map(s, l, text, a, n);
		}
	}
	return lines_wrong(l, "it should be 'NAME,ADDRESS,SIZE'");
}
