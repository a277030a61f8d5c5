// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Self-modifying code: in memory that is writable and executable at once, code
 * is rewritten by C between two runs, by itself right before it runs, and by
 * itself in a loop. x86 promises that the new code runs.
 */
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ROOM 0x38000000ul
#define ROOM_SIZE 0x10000ul

static uint8_t *room(void)
{
	static uint8_t *p;

	if (!p) {
		p = mmap((void *)ROOM, ROOM_SIZE,
			 PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
			 0);
		if (p != (uint8_t *)ROOM) {
			perror("random: code that is writable");
			exit(1);
		}
	}
	return p;
}

void rewrite_begin(void)
{
	room();
}

/* mov dword [rip+rel to what], value */
static void put_store(struct sequence *s, uint32_t what, uint32_t value)
{
	put8(s, 0xc7);
	put8(s, 0x05);
	put32(s, what - (s->len + 8));
	put32(s, value);
}

static void some(struct sequence *s, struct rng *r, unsigned int n)
{
	while (n--) {
		const struct template *t;

		do
			t = pool + rng_below(r, 1000);
		while (t->rip || t->writes & 1 || (s->counting && t->uncounted));
		put_template(s, t);
	}
}

/* Rewrites the immediate of the instruction right behind, or one further. */
static void next_one(struct sequence *s, struct rng *r)
{
	uint32_t value = (uint32_t)rng_next(r), at;
	unsigned int gap = rng_below(r, 4);

	at = s->len;
	put_store(s, 0, value);
	for (unsigned int i = 0; i < gap; i++)
		put8(s, 0x90);
	put8(s, 0x05); /* add eax, imm32 */
	/* the displacement, now that it is known where the immediate is */
	memcpy(s->code + at + 2, &(uint32_t){ s->len - (at + 10) }, 4);
	put32(s, 0x11111111);
}

/* L: add eax,imm; add dword [rip to imm],7; dec ecx; jnz L */
static void in_loop(struct sequence *s, struct rng *r)
{
	uint32_t head, imm;

	put8(s, 0xb9), put32(s, 1 + rng_below(r, 5));
	head = s->len;
	put8(s, 0x05);
	imm = s->len;
	put32(s, (uint32_t)rng_next(r));
	put8(s, 0x83), put8(s, 0x05), put32(s, imm - (s->len + 5)), put8(s, 7);
	put8(s, 0xff), put8(s, 0xc9);
	put8(s, 0x75), put8(s, head - (s->len + 1));
}

/* Copies a function behind itself by rep movsb and calls the copy. */
static void copy(struct sequence *s, struct rng *r)
{
	static const uint8_t f[] = { 0x48, 0x8d, 0x44, 0x00, 0x05, 0xc3 };
	uint32_t from, to, at;

	put8(s, 0xeb), put8(s, 2 * sizeof(f)); /* over both */
	from = s->len;
	put(s, f, sizeof(f));
	s->code[from + 4] = rng_below(r, 100);
	to = s->len;
	for (unsigned int i = 0; i < sizeof(f); i++)
		put8(s, 0xcc);
	put_mov(s, RSI, s->addr + from);
	put_mov(s, RDI, s->addr + to);
	put_mov(s, RCX, sizeof(f));
	put8(s, 0xf3), put8(s, 0xa4);
	put8(s, 0xe8);
	at = s->len;
	put32(s, to - (at + 4));
	if (s->counting)
		expect(RSP0 - 8, 1, 1);
}

uint64_t run_rewriting(struct rng *r, unsigned int n, int counting)
{
	uint64_t h = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct sequence s = { .code = room(), .counting = counting,
				      .addr = ROOM + 64 * rng_below(r, 512),
				      .times = 1 };
		uint32_t patch;
		unsigned int runs = 1 + rng_below(r, 3);

		s.code = (uint8_t *)s.addr;
		s.times = runs;
		some(&s, r, 1 + rng_below(r, 3));
		put8(&s, 0x05); /* add eax, what C will change */
		patch = s.len;
		put32(&s, 1);
		switch (rng_below(r, 4)) {
		case 0:
			next_one(&s, r);
			break;
		case 1:
			in_loop(&s, r);
			break;
		case 2:
			if (runs == 1) {
				copy(&s, r);
				break;
			}
			/* fallthrough */
		default:
			some(&s, r, 2);
		}
		some(&s, r, 1);
		put8(&s, 0xc3);
		for (unsigned int k = 0; k < runs; k++) {
			machine_random(r);
			machine_run(s.code);
			if (counting)
				expect(RSP0, 1, 1);
			h = (h ^ machine_hash(STATUS_FLAGS)) *
			    0x9fb21c651e98df25;
			memcpy(s.code + patch, &(uint32_t){ (uint32_t)h }, 4);
		}
	}
	return h;
}
