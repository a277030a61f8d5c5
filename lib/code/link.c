// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/code/link.h"

#include <elf.h>
#include <string.h>

static int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* What it wants of a C library; weak symbols may be missing. */
static uint64_t provided(const struct moca_linked *l, const char *name)
{
	if (same(name, "memcpy"))
		return (uint64_t)memcpy;
	if (same(name, "memset"))
		return (uint64_t)memset;
	if (same(name, "memmove"))
		return (uint64_t)memmove;
	if (same(name, "memcmp"))
		return (uint64_t)memcmp;
	if (same(name, "strlen"))
		return (uint64_t)strlen;
	return (uint64_t)l->failed;
}

static uint64_t symbol(const struct moca_linked *l, uint32_t i)
{
	const Elf64_Sym *s = &l->symbols[i];

	if (s->st_shndx != SHN_UNDEF)
		return l->base + s->st_value;
	if (ELF64_ST_BIND(s->st_info) == STB_WEAK)
		return 0;
	return provided(l, l->strings + s->st_name);
}

static int relocate(const struct moca_linked *l, uint64_t table, uint64_t len)
{
	const Elf64_Rela *r = (const Elf64_Rela *)(l->base + table);

	for (; len >= sizeof(*r); len -= sizeof(*r), r++) {
		uint64_t *at = (uint64_t *)(l->base + r->r_offset);

		switch (ELF64_R_TYPE(r->r_info)) {
		case R_X86_64_RELATIVE:
			*at = l->base + (uint64_t)r->r_addend;
			break;
		case R_X86_64_64:
		case R_X86_64_GLOB_DAT:
		case R_X86_64_JUMP_SLOT:
			*at = symbol(l, ELF64_R_SYM(r->r_info)) +
			      (uint64_t)r->r_addend;
			break;
		default:
			return -1;
		}
	}
	return 0;
}

/* The table of symbols is as long as its hash table says. */
static uint32_t gnu_hash_count(const uint32_t *h)
{
	uint32_t buckets = h[0], first = h[1], words = h[2], last = 0;
	const uint32_t *bucket = h + 4 + 2 * words;
	const uint32_t *chain = bucket + buckets;

	for (uint32_t i = 0; i < buckets; i++)
		if (bucket[i] > last)
			last = bucket[i];
	if (last < first)
		return first;
	while (!(chain[last - first] & 1))
		last++;
	return last + 1;
}

int moca_link(struct moca_linked *l, uint64_t base, void (*failed)(void))
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)base;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(base + e->e_phoff);
	uint64_t rela = 0, rela_len = 0, plt = 0, plt_len = 0;
	const Elf64_Dyn *d = NULL;

	*l = (struct moca_linked){ .base = base, .failed = failed };
	for (int i = 0; i < e->e_phnum; i++)
		if (p[i].p_type == PT_DYNAMIC)
			d = (const Elf64_Dyn *)(base + p[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		uint64_t v = d->d_un.d_val;

		switch (d->d_tag) {
		case DT_SYMTAB:
			l->symbols = (const Elf64_Sym *)(base + v);
			break;
		case DT_STRTAB:
			l->strings = (const char *)(base + v);
			break;
		case DT_GNU_HASH:
			l->count = gnu_hash_count(
				(const uint32_t *)(base + v));
			break;
		case DT_RELA:
			rela = v;
			break;
		case DT_RELASZ:
			rela_len = v;
			break;
		case DT_JMPREL:
			plt = v;
			break;
		case DT_PLTRELSZ:
			plt_len = v;
			break;
		}
	}
	if (!l->symbols || !l->strings || !l->count)
		return -1;
	return relocate(l, rela, rela_len) || relocate(l, plt, plt_len) ? -1 : 0;
}

void *moca_link_find(const struct moca_linked *l, const char *name)
{
	for (uint32_t i = 1; i < l->count; i++) {
		const Elf64_Sym *s = &l->symbols[i];

		if (s->st_shndx != SHN_UNDEF &&
		    same(l->strings + s->st_name, name))
			return (void *)(l->base + s->st_value);
	}
	return NULL;
}
