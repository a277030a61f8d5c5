// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Exact mode's decoder: an instruction that is made of another one of its shape is
 * what libZydis says of it. Of random bytes, with random numbers in them.
 */
#include <sys/mman.h>

#include "tests/unit/trace-util.h"

/* The agent has a copy of libZydis laid out for it. Here the linker did that. */
#define moca_link test_link
#define moca_link_find test_find
#include "agent/exact/decode.c"
#include "agent/exact/shape.c"

#define ROUNDS 200000
#define VARIANTS 4

static uint64_t found;		/* instructions that were made of others */

int test_link(struct moca_linked *l, uint64_t base, void (*fails)(void))
{
	return 0;
}

void *test_find(const struct moca_linked *l, const char *name)
{
	if (!strcmp(name, "ZydisDecoderInit"))
		return (void *)ZydisDecoderInit;
	if (!strcmp(name, "ZydisDecoderDecodeInstruction"))
		return (void *)ZydisDecoderDecodeInstruction;
	if (!strcmp(name, "ZydisDecoderDecodeOperands"))
		return (void *)ZydisDecoderDecodeOperands;
	return NULL;
}

void moca_exact_die(const char *what, uint64_t value)
{
	abort();
}

/* Zeroed, for ever: most is of instructions that are helped, at which nobody looks. */
void *moca_exact_alloc(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		abort();
	return p;
}

void *moca_exact_map(size_t size)
{
	return moca_exact_alloc(size);
}

void moca_exact_unmap(void *p, size_t size)
{
	free(p);
}

void moca_exact_touch(const void *start, size_t size)
{
}

static uint64_t random_number(void)
{
	static uint64_t x = 1;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static int same_mem(const struct x86_mem *a, const struct x86_mem *b)
{
	return a->base == b->base && a->index == b->index &&
	       a->scale == b->scale && a->seg == b->seg && a->rip == b->rip &&
	       a->narrow == b->narrow && a->load == b->load &&
	       a->store == b->store && a->hidden == b->hidden &&
	       a->popped == b->popped && a->disp == b->disp;
}

static int same_what(const struct x86_insn *a, const struct x86_insn *b)
{
	for (int i = 0; i < a->accesses; i++)
		if (!same_mem(&a->access[i], &b->access[i]))
			return 0;
	return a->target == b->target && a->len == b->len &&
	       a->kind == b->kind && a->cc == b->cc && a->rip_at == b->rip_at &&
	       a->op == b->op && a->size == b->size && a->rep == b->rep &&
	       a->accesses == b->accesses && a->reads == b->reads &&
	       a->writes == b->writes && a->kills == b->kills &&
	       a->move_to == b->move_to && a->move_from == b->move_from &&
	       a->move_add == b->move_add && same_mem(&a->mem, &b->mem);
}

/* But for what is known of operands at %gs alone, which libZydis decodes each time. */
static int same(const struct insn *a, const struct insn *b)
{
	return a->pc == b->pc && same_what(&a->what, &b->what) &&
	       a->kind == b->kind && a->leader == b->leader &&
	       a->reg == b->reg && a->gs_base == b->gs_base &&
	       a->pop == b->pop && a->live == b->live &&
	       a->compare.a == b->compare.a && a->compare.b == b->compare.b &&
	       a->compare.size == b->compare.size &&
	       a->compare.imm == b->compare.imm &&
	       a->compare.add == b->compare.add && !a->helped == !b->helped &&
	       a->groups == b->groups;
}

/* An opcode that is as likely of one byte as of any other kind, and what follows. */
static void put_random(uint8_t *p)
{
	static const uint8_t first[] = { 0x66, 0xf2, 0xf3, 0x64, 0xf0, 0x67 };
	static const uint8_t maps[] = { 0x0f, 0x0f, 0xc5, 0xc4, 0x62 };
	static const uint8_t pop[] = { 0x8f, 0x44, 0x24 }; /* of n(%rsp) */
	uint64_t r = random_number();

	for (int i = 0; i < 15; i++)
		p[i] = (uint8_t)random_number();
	if (r % 5 == 0)
		*p++ = first[(r >> 8) % sizeof(first)];
	if ((r >> 16) % 2)
		*p++ = 0x40 | ((r >> 24) & 15);
	if ((r >> 32) % 2)
		*p = maps[(r >> 40) % sizeof(maps)];
	if ((r >> 48) % 64 == 0)
		memcpy(p, pop, sizeof(pop));
}

/* Another number in an instruction's displacement and immediate value. */
static void put_numbers(uint8_t *p, const ZydisDecodedInstruction *d)
{
	static const uint64_t some[] = { 0, 1, 0x7f, 0x80, 0xff, 0x7fffffff,
					 0x80000000, 0xffffffff, 8 };
	uint64_t r = random_number(), v = some[r % (sizeof(some) / 8)];

	if ((r >> 32) % 2)
		v = random_number();
	memcpy(p + d->raw.disp.offset, &v, d->raw.disp.size / 8);
	v = (r >> 40) % 2 ? some[(r >> 48) % (sizeof(some) / 8)] :
			    random_number();
	memcpy(p + d->raw.imm[0].offset, &v, d->raw.imm[0].size / 8);
}

/* 1: they differ. */
static int compare_all(uint8_t *p, const ZydisDecodedInstruction *first)
{
	ZydisDecodedInstruction d;
	struct insn a, b;

	for (int i = 0; i < VARIANTS; i++) {
		uint64_t pc = (uint64_t)p;

		memset(&a, 0xa5, sizeof(a));
		found += !moca_exact_shape_find(pc, &a);
		memset(&a, 0xa5, sizeof(a));
		if (moca_exact_decode(pc, 15, &a) ||
		    decode_anew(pc, 15, &b, &d) || !same(&a, &b)) {
			for (int k = 0; k < 15; k++)
				printf("%02x ", p[k]);
			printf("are not what libZydis says\n");
			return 1;
		}
		put_numbers(p, first);
	}
	return 0;
}

static int shapes_are_right(void)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t decoded = 0;
	struct insn x;

	CHECK(page != MAP_FAILED);
	CHECK(!moca_exact_decode_init(0));
	for (int i = 0; i < ROUNDS; i++) {
		ZydisDecodedInstruction d;
		uint8_t *p = page + i % 4000;

		put_random(p);
		if (decode_anew((uint64_t)p, 15, &x, &d))
			continue;
		decoded++;
		CHECK(!compare_all(p, &d));
	}
	printf("# %lu of %lu instructions by their shape\n", found,
	       decoded * VARIANTS);
	CHECK(found > decoded);
	munmap(page, 4096);
	return 0;
}

/* Behind the last byte of memory nothing is read. */
static int ends_at_memory(void)
{
	static const uint8_t code[] = { 0x48, 0x01, 0xc8, 0x90, 0xc3 };
	uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *end = pages + 4096, *p;
	struct insn x;

	CHECK(pages != MAP_FAILED);
	CHECK(!mprotect(end, 4096, PROT_NONE));
	memcpy(pages, code, sizeof(code));
	memcpy(end - sizeof(code), code, sizeof(code));
	for (p = pages; p < pages + sizeof(code); p += x.what.len)
		CHECK(!moca_exact_decode((uint64_t)p, 15, &x));
	for (p = end - sizeof(code); p < end; p += x.what.len)
		CHECK(!moca_exact_decode((uint64_t)p, 15, &x));
	CHECK(p == end && x.kind == X86_RET);
	munmap(pages, 8192);
	return 0;
}

int main(void)
{
	run("exact: instructions of one shape", shapes_are_right);
	run("exact: instructions at the end of memory", ends_at_memory);
	return failures != 0;
}
