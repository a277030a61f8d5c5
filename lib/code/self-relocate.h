/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For images that are put into a program, and that nobody else relocates. */
#ifndef MOCA_CODE_SELF_RELOCATE_H
#define MOCA_CODE_SELF_RELOCATE_H

#include <elf.h>
#include <stdint.h>

extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));
extern const Elf64_Dyn moca_self_dynamic[] __asm__("_DYNAMIC")
	__attribute__((visibility("hidden")));

/*
 * The image's own addresses; there are no others in it. Before any data that
 * holds one is used.
 */
static inline void moca_self_relocate(void)
{
	uint64_t base = (uint64_t)&__ehdr_start, len = 0;
	const Elf64_Rela *r = NULL;

	for (const Elf64_Dyn *d = moca_self_dynamic; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_RELA)
			r = (const Elf64_Rela *)(base + d->d_un.d_ptr);
		else if (d->d_tag == DT_RELASZ)
			len = d->d_un.d_val;
	}
	for (; len >= sizeof(*r); len -= sizeof(*r), r++)
		if (ELF64_R_TYPE(r->r_info) == R_X86_64_RELATIVE)
			*(uint64_t *)(base + r->r_offset) =
				base + (uint64_t)r->r_addend;
}

#endif
