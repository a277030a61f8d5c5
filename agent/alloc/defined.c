// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which names the modules behind ours define. A dlsym() that fails makes the
 * error's text with malloc, the program's own if it has one: that may not be
 * called before main (GNU Common Lisp's reads what its main() sets up).
 */
#include <elf.h>
#include <link.h>
#include <string.h>

#include "agent/alloc/watch.h"

struct search {
	const char *name;
	ElfW(Addr) own;		/* load address of our module */
	int is_behind;		/* ours was met */
	int found;
};

struct symbols {
	const ElfW(Sym) *table;
	const char *strings;
	const uint32_t *gnu, *sysv;	/* hash tables; NULL: has none */
};

static int is_it(const struct symbols *s, uint32_t i, const char *name)
{
	return s->table[i].st_shndx != SHN_UNDEF &&
	       !strcmp(s->strings + s->table[i].st_name, name);
}

static int in_gnu(const struct symbols *s, const char *name)
{
	uint32_t count = s->gnu[0], first = s->gnu[1], words = s->gnu[2];
	const uint32_t *buckets, *chains;
	uint32_t hash = 5381, i;
	const char *c;

	for (c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	buckets = s->gnu + 4 + words * (sizeof(ElfW(Addr)) / 4);
	chains = buckets + count;
	i = count ? buckets[hash % count] : 0;
	if (i < first)
		return 0;
	for (;; i++) {
		uint32_t h = chains[i - first];

		if ((h | 1) == (hash | 1) && is_it(s, i, name))
			return 1;
		if (h & 1)
			return 0;
	}
}

static int in_sysv(const struct symbols *s, const char *name)
{
	uint32_t i;

	for (i = 0; i < s->sysv[1]; i++)
		if (is_it(s, i, name))
			return 1;
	return 0;
}

static int look_in(struct dl_phdr_info *m, size_t size, void *arg)
{
	struct search *search = arg;
	struct symbols s = { 0 };
	const ElfW(Dyn) *d = NULL;
	int i;

	if (!search->is_behind) {
		search->is_behind = m->dlpi_addr == search->own;
		return 0;
	}
	for (i = 0; i < m->dlpi_phnum; i++)
		if (m->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (void *)(m->dlpi_addr + m->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		/* The vDSO's are relative: nobody relocates it. */
		void *p = (void *)(d->d_un.d_ptr < m->dlpi_addr ?
			d->d_un.d_ptr + m->dlpi_addr : d->d_un.d_ptr);

		switch (d->d_tag) {
		case DT_SYMTAB: s.table = p; break;
		case DT_STRTAB: s.strings = p; break;
		case DT_GNU_HASH: s.gnu = p; break;
		case DT_HASH: s.sysv = p; break;
		default: break;
		}
	}
	if (s.table && s.strings)
		search->found = s.gnu ? in_gnu(&s, search->name) :
				s.sysv ? in_sysv(&s, search->name) : 0;
	return search->found;
}

int alloc_is_behind(const char *name)
{
	struct search search = { name, 0, 0, 0 };
	struct dl_find_object o;

	if (_dl_find_object((void *)&alloc_state, &o))
		return 0;
	search.own = o.dlfo_link_map->l_addr;
	dl_iterate_phdr(look_in, &search);
	return search.found;
}
