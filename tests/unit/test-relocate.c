// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prologues that are moved do what they did: those of all functions of libc and
 * libstdc++, as they are on disk, and made-up ones for each rule.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/code/relocate.h"
#include "lib/code/symfile.h"

#define MAX_LEN (1u << 26)

static struct moca_zydis z;
static uint8_t *image;
static size_t image_len;

/* Where an instruction at addr refers to; 0: nowhere by distance. */
static uint64_t refers_to(const ZydisDecodedInstruction *in, uint64_t addr)
{
	if (!(in->attributes & ZYDIS_ATTRIB_IS_RELATIVE))
		return 0;
	return addr + in->length +
	       (uint64_t)(in->raw.imm[0].is_relative ? in->raw.imm[0].value.s :
						       in->raw.disp.value);
}

/* The same but for what is relative, and the form of branches. */
static int same(const ZydisDecodedInstruction *a, const uint8_t *pa,
		const ZydisDecodedInstruction *b, const uint8_t *pb)
{
	unsigned int from = a->raw.disp.offset;

	if (a->mnemonic != b->mnemonic)
		return 0;
	if (a->raw.imm[0].is_relative)
		return a->raw.prefix_count == b->raw.prefix_count &&
		       !memcmp(pa, pb, a->raw.prefix_count);
	if (a->operand_width != b->operand_width ||
	    a->attributes != b->attributes || a->length != b->length)
		return 0;
	if (!(a->attributes & ZYDIS_ATTRIB_IS_RELATIVE))
		return !memcmp(pa, pb, a->length);
	return !memcmp(pa, pb, from) &&
	       !memcmp(pa + from + 4, pb + from + 4, a->length - from - 4);
}

/*
 * Compares c's prologue with its copy at `to`, and the jump behind it. NULL:
 * alike; else what differs.
 */
static const char *compare(const struct moca_code *c,
			   const struct moca_prologue *p, const uint8_t *out,
			   int len, uint64_t to)
{
	ZydisDecodedInstruction a, b, j;
	size_t at = p->start, n = 0;

	for (; at < p->end; at += a.length, n += b.length) {
		if (moca_zydis_decode(&z, c->bytes + at, c->len - at, &a) ||
		    moca_zydis_decode(&z, out + n, (size_t)len - n, &b))
			return "not decodable";
		if (!same(&a, c->bytes + at, &b, out + n))
			return "another instruction";
		if (a.raw.imm[0].is_relative && a.raw.imm[0].size == 8 &&
		    b.raw.imm[0].size == 8) {
			/* Over a jump, to one. */
			n += b.length;
			if (refers_to(&b, to + n - b.length) != to + n + 2 ||
			    moca_zydis_decode(&z, out + n, 2, &j) ||
			    refers_to(&j, to + n) != to + n + 7)
				return "not a way round";
			n += 2;
			if (moca_zydis_decode(&z, out + n, 5, &b) ||
			    b.mnemonic != ZYDIS_MNEMONIC_JMP)
				return "not a jump";
		}
		if (refers_to(&a, c->addr + at) != refers_to(&b, to + n))
			return "another target";
	}
	if (moca_zydis_decode(&z, out + n, (size_t)len - n, &j) ||
	    j.mnemonic != ZYDIS_MNEMONIC_JMP || n + j.length != (size_t)len ||
	    refers_to(&j, to + n) != c->addr + p->end)
		return "no jump back";
	return NULL;
}

/* --- real functions ----------------------------------------------------- */

struct count {
	const struct moca_symfile *f;
	unsigned int moved, refused, undecodable, relative, wrong;
};

static int is_relative(const struct moca_code *c, const struct moca_prologue *p)
{
	ZydisDecodedInstruction in;

	for (size_t at = p->start; at < p->end; at += in.length)
		if (moca_zydis_decode(&z, c->bytes + at, c->len - at, &in) ||
		    (in.attributes & ZYDIS_ATTRIB_IS_RELATIVE))
			return 1;
	return 0;
}

static void try_function(void *arg, const char *name, size_t name_len,
			 const Elf64_Sym *sym)
{
	uint8_t out[MOCA_RELOCATED_MAX];
	struct count *count = arg;
	const Elf64_Phdr *ph = NULL;
	struct moca_prologue p;
	struct moca_code c;
	const char *why;
	/* Below, above, and just within reach. */
	static const int64_t away[] = { -0x10000000, 0x7000000, -0x7ff00000 };

	for (unsigned int i = 0; i < count->f->head.e_phnum; i++)
		if (count->f->phdrs[i].p_type == PT_LOAD &&
		    sym->st_value >= count->f->phdrs[i].p_vaddr &&
		    sym->st_value < count->f->phdrs[i].p_vaddr +
					    count->f->phdrs[i].p_filesz)
			ph = &count->f->phdrs[i];
	if (!ph || !sym->st_size)
		return;
	c.addr = 0x7f0000000000 + sym->st_value;
	c.len = sym->st_size;
	c.bytes = image + (sym->st_value - ph->p_vaddr + ph->p_offset);
	if (c.bytes + c.len > image + image_len)
		return;
	switch (moca_prologue_find(&z, &c, &p, &why)) {
	case 0:
		break;
	case -EILSEQ:
		count->undecodable++;
		return;
	default:
		count->refused++;
		return;
	}
	count->moved++;
	count->relative += (unsigned int)is_relative(&c, &p);
	for (unsigned int i = 0; i < 3; i++) {
		uint64_t to = c.addr + (uint64_t)away[i];
		int len = moca_prologue_move(&z, &c, &p, to, out, &why);
		const char *differs;

		/* What is beyond reach from there has to be refused. */
		if (len == -ERANGE && away[i] == -0x7ff00000)
			continue;
		differs = len < 0 ? why : compare(&c, &p, out, len, to);
		if (differs && count->wrong++ < 5)
			printf("# %.*s: %s\n", (int)name_len, name, differs);
	}
}

static void real_functions(const char *path, unsigned int least)
{
	struct moca_symfile f;
	struct count count = { .f = &f };
	ssize_t n;

	if (moca_symfile_open(&f, path)) {
		printf("not ok %s: cannot be opened\n", path);
		return;
	}
	n = pread(f.fd, image, MAX_LEN, 0);
	image_len = n > 0 ? (size_t)n : 0;
	if (moca_symfile_walk(&f, try_function, &count))
		printf("not ok %s: broken tables\n", path);
	else if (count.wrong)
		printf("not ok %s: %u copies are wrong\n", path, count.wrong);
	else if (count.moved < least || count.relative < least / 50 ||
		 count.undecodable > count.moved / 100)
		printf("not ok %s: only %u moved (%u relative), %u undecodable\n",
		       path, count.moved, count.relative, count.undecodable);
	else
		printf("ok %s: prologues moved\n", strrchr(path, '/') + 1);
	printf("# %u moved, %u of them relative, %u refused, %u undecodable\n",
	       count.moved, count.relative, count.refused, count.undecodable);
	moca_symfile_close(&f);
}

/* --- rules ---------------------------------------------------------------- */

struct rule {
	const char *name;
	const char *code;
	size_t len;
	int err;		/* of find, or if that is 0, of move */
	unsigned int end;
	uint64_t far;		/* where the copy goes, from the function */
};

#define CODE(s) s, sizeof(s) - 1
#define NOPS "\x90\x90\x90\x90\x90\x90\x90\x90"

static const struct rule rules[] = {
	{ "plain", CODE("\x55\x48\x89\xe5\x41\x57" NOPS), 0, 6, 4096 },
	{ "behind endbr64", CODE("\xf3\x0f\x1e\xfa\x48\x83\xec\x08\x55" NOPS),
	  0, 9, 4096 },
	{ "as long as a jump", CODE("\xb8\1\0\0\0"), 0, 5, 4096 },
	{ "too short", CODE("\x31\xc0\x90\xc3"), -ENOTSUP, 0, 0 },
	{ "too short behind endbr64", CODE("\xf3\x0f\x1e\xfa\x31\xc0\xc3"),
	  -ENOTSUP, 0, 0 },
	{ "rip-relative", CODE("\x48\x8b\x05\x10\0\0\0" NOPS), 0, 7, 4096 },
	{ "rip-relative and immediate",
	  CODE("\x81\x3d\x10\0\0\0\1\2\3\4" NOPS), 0, 10, 4096 },
	{ "rip-relative vector", CODE("\xc5\xf9\x6f\x05\x10\0\0\0" NOPS), 0, 8,
	  4096 },
	{ "rip-relative, too far", CODE("\x48\x8b\x05\0\0\0\x70" NOPS), -ERANGE,
	  7, -0x10000000ull },
	{ "short jump", CODE("\xeb\x05" NOPS NOPS), 0, 5, 4096 },
	{ "short jcc", CODE("\x48\x85\xff\x74\x08" NOPS NOPS), 0, 5, 4096 },
	{ "short jcc with a hint", CODE("\x3e\x74\x08\x85\xff" NOPS NOPS), 0, 5,
	  4096 },
	{ "jrcxz", CODE("\xe3\x08\x48\x89\xf8" NOPS NOPS), 0, 5, 4096 },
	{ "jecxz", CODE("\x67\xe3\x08\x48\x89\xf8" NOPS NOPS), 0, 6, 4096 },
	{ "loop", CODE("\xe2\x08\x48\x89\xf8" NOPS NOPS), 0, 5, 4096 },
	{ "two jumps", CODE("\x74\x08\x75\x08\x90" NOPS NOPS), 0, 5, 4096 },
	{ "near jump", CODE("\xe9\0\x10\0\0" NOPS), 0, 5, 4096 },
	{ "near jcc", CODE("\x0f\x84\0\x10\0\0" NOPS), 0, 6, 4096 },
	{ "begins with a call", CODE("\xe8\0\x10\0\0" NOPS), -ENOTSUP, 0, 0 },
	{ "loop to the entry", CODE(NOPS "\xeb\xf6" NOPS), -ENOTSUP, 0, 0 },
	{ "loop into the entry", CODE(NOPS "\x75\xf9" NOPS), -ENOTSUP, 0, 0 },
	{ "loop behind the entry", CODE(NOPS "\x75\xfb" NOPS), 0, 5, 4096 },
	{ "loop within the entry", CODE("\x90\x75\xfd" NOPS), -ENOTSUP, 0, 0 },
	{ "recursion", CODE(NOPS "\xe8\xf3\xff\xff\xff\xc3"), 0, 5, 4096 },
	{ "call into the entry", CODE(NOPS "\xe8\xf4\xff\xff\xff\xc3"),
	  -ENOTSUP, 0, 0 },
	{ "jump of 16 bits", CODE("\x66\xe9\0\x10\x90\x90" NOPS), -ENOTSUP, 0,
	  4096 },
	{ "not code", CODE("\x06\x06\x06\x06\x06"), -EILSEQ, 0, 0 },
	{ "not code further on", CODE(NOPS "\x06\x06"), -EILSEQ, 0, 0 },
};

static void rule(const struct rule *r)
{
	struct moca_code c = { (const uint8_t *)r->code, r->len,
			       0x555500001000 };
	uint8_t out[MOCA_RELOCATED_MAX];
	const char *why = "no reason", *differs;
	struct moca_prologue p;
	int err = moca_prologue_find(&z, &c, &p, &why), len = 0;

	if (!err) {
		len = moca_prologue_move(&z, &c, &p, c.addr + r->far, out,
					 &why);
		err = len < 0 ? len : 0;
	}
	if (err != r->err) {
		printf("not ok %s: %d (%s), not %d\n", r->name, err,
		       err ? why : "", r->err);
		return;
	}
	if (err) {
		printf(why ? "ok %s\n" : "not ok %s: no reason\n", r->name);
		return;
	}
	differs = compare(&c, &p, out, len, c.addr + r->far);
	if (!differs && p.end != r->end)
		differs = "not as much as expected";
	if (differs)
		printf("not ok %s: %s\n", r->name, differs);
	else
		printf("ok %s\n", r->name);
}

/* Another function's jump into the first instructions. */
static void cold_part(void)
{
	static const uint8_t hot[] = NOPS NOPS;
	static const uint8_t into[] = "\xeb\x00\xe9\xfc\xef\xff\xff";
	struct moca_code c = { hot, 16, 0x1000 };
	struct moca_code other = { into + 2, 5, 0x2000 };
	struct moca_prologue p = { 0, 5 };
	const char *why;
	int err = moca_prologue_avoided(&z, &other, &c, &p, &why);

	other.addr += 4;
	if (err != -ENOTSUP || moca_prologue_avoided(&z, &other, &c, &p, &why))
		printf("not ok cold part: %d\n", err);
	else
		printf("ok cold part\n");
}

int main(void)
{
	int err = moca_zydis_open(&z);

	if (err) {
		printf("not ok decoder: %d\n", err);
		return 1;
	}
	image = malloc(MAX_LEN);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		rule(&rules[i]);
	cold_part();
	real_functions("/lib/x86_64-linux-gnu/libc.so.6", 2000);
	real_functions("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 3000);
	moca_zydis_close(&z);
	free(image);
	return 0;
}
