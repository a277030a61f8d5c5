// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: random POOL [--seed N] [--count N] [--only FAMILY] [--batch N] [--show N]
 *		      [--expect FILE] [--each FAMILY] [--signals KIND]
 *
 * Runs random sequences of 1 to 32 templates of POOL (see pool.c), each from a
 * random state of the whole machine, and prints a hash of all that they left
 * per batch: whoever runs it must see the same lines. --batch runs one batch alone
 * and prints the hash of each sequence and its bytes, to find the one that
 * differs; --show does so for one batch of many.
 *
 * --each: every template of a family (or "all") alone, a line for each.
 *
 * --signals: "handled": a handler of faults is there, which never runs (such
 * programs are translated otherwise); "storm": a timer also interrupts 2,000 times
 * a second, anywhere; "ticks": only that timer; "faults": memory is closed, and each
 * page that is accessed is opened, and the one before it closed, by the handler. What
 * it sees of the registers is part of the hash.
 *
 * --expect: no hashes, only sequences whose accesses are known; how many loads
 * and stores each line of 64 bytes of the arena gets is written to FILE, and
 * nothing but the sequences touches the arena.
 */
#include "random.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define HIGH_CODE 0x600000000000ul
#define BATCH 256u
#define CLOSES 12u
#define LINES ((ARENA_END - DATA) / 64)

enum { MIX = FAMILIES, LOOPS, REWRITE, ALL };
static const char *const names[ALL] = { FAMILY_NAMES, "mix", "loops",
					"rewrite" };

const struct template *pool;
const struct access *pool_accesses;
static uint32_t pool_size;
static uint32_t first[FAMILIES + 1]; /* of each family in order[] */
static uint32_t *order;
static struct {
	uint64_t loads, stores;
} lines[LINES], code_lines[0x2000 / 64];
static unsigned long sequences;
static int closing;	/* --signals faults */

static void die(const char *what)
{
	fprintf(stderr, "random: %s: %s\n", what, strerror(errno));
	exit(1);
}

void put(struct sequence *s, const void *bytes, unsigned int n)
{
	memcpy(s->code + s->len, bytes, n);
	s->len += n;
}

void put8(struct sequence *s, unsigned int byte)
{
	s->code[s->len++] = byte;
}

void put32(struct sequence *s, uint32_t value)
{
	put(s, &value, 4);
}

void put_mov(struct sequence *s, unsigned int reg, uint64_t value)
{
	int wide = value >> 32 != 0;

	if (wide || reg > 7)
		put8(s, 0x40 + (wide ? 8 : 0) + (reg > 7));
	put8(s, 0xb8 + (reg & 7));
	put(s, &value, wide ? 8 : 4);
}

void expect(uint64_t addr, uint64_t loads, uint64_t stores)
{
	if (addr >= DATA && addr < ARENA_END) {
		lines[(addr - DATA) / 64].loads += loads;
		lines[(addr - DATA) / 64].stores += stores;
	} else if (addr >= CODE_DATA && addr < CODE_DATA + 0x2000) {
		code_lines[(addr - CODE_DATA) / 64].loads += loads;
		code_lines[(addr - CODE_DATA) / 64].stores += stores;
	} else {
		fprintf(stderr, "random: an access at %lx\n", addr);
		exit(1);
	}
}

/* Flags that a template's instructions left undefined must not be tested, by
 * adding something their values become known again. */
static void define_flags(struct sequence *s, unsigned int wanted)
{
	if (!(s->undefined & wanted))
		return;
	put8(s, 0x04); /* add al, imm8 */
	put8(s, 0x35);
	s->undefined = 0;
}

void put_template(struct sequence *s, const struct template *t)
{
	uint32_t at = s->len;

	define_flags(s, t->tests);
	at = s->len;
	put(s, t->bytes, t->len);
	if (t->rip) {
		int32_t rel = (int32_t)(t->target -
					(s->addr + at + t->rip_end));

		memcpy(s->code + at + t->rip, &rel, 4);
	}
	s->undefined = (s->undefined & ~t->defines) | t->undefines;
	for (unsigned int i = 0; s->counting && i < t->naccesses; i++) {
		const struct access *a = &pool_accesses[t->access + i];

		expect(a->addr, a->loads * (uint64_t)s->times,
		       a->stores * (uint64_t)s->times);
	}
}

/* One template of the family that does not write these registers. */
static const struct template *pick(struct rng *r, int family, int high,
				   int counting, unsigned int writes)
{
	const struct template *t;

	do {
		int f = family < FAMILIES ? family : (int)rng_below(r, FAMILIES);

		if (first[f] == first[f + 1])
			return NULL;
		t = &pool[order[first[f] +
				rng_below(r, first[f + 1] - first[f])]];
	} while ((high && !t->high) || (counting && t->uncounted) ||
		 t->writes & writes);
	return t;
}

/* Skips over what put: a forward branch. With counting it is known which. */
static void put_skip(struct sequence *s, struct rng *r, int family, int high)
{
	static const uint16_t tested[] = { 0x800, 1, 0x40, 0x41, 0x80, 4,
					   0x880, 0x8c0 };
	unsigned int cc = rng_below(r, 16), taken = rng_below(r, 2), at;
	unsigned int times = s->times;
	const struct template *t;
	uint16_t before;

	if (s->counting) {
		put8(s, taken ? 0xf9 : 0xf8); /* stc, clc */
		s->undefined &= ~1u;
		cc = 2;
		if (taken)
			s->times = 0;
	} else {
		define_flags(s, tested[cc >> 1]);
	}
	put8(s, 0x0f);
	put8(s, 0x80 + cc);
	at = s->len;
	put32(s, 0);
	before = s->undefined;
	t = pick(r, family, high, s->counting, 0);
	put_template(s, t);
	s->undefined |= before;
	s->times = times;
	before = s->len - at - 4;
	memcpy(s->code + at, &before, 2);
}

/* A loop around n templates, counted by a register that none of them uses. */
static void put_loop(struct sequence *s, struct rng *r, int family, int high,
		     unsigned int n)
{
	unsigned int reg, trips = 1 + rng_below(r, 6), kind = rng_below(r, 3);
	uint32_t head;
	int32_t back;

	do
		reg = kind == 2 ? RCX : rng_below(r, 16);
	while (reg == RSP || reg == RAX);
	put_mov(s, reg, trips);
	define_flags(s, STATUS_FLAGS);
	head = s->len;
	s->times = trips;
	while (n--) {
		unsigned int tries = 0;
		const struct template *t;

		do
			t = pick(r, family, high, s->counting, 0);
		while (t->writes >> reg & 1 && ++tries < 50);
		if (t->writes >> reg & 1)
			break;
		put_template(s, t);
	}
	s->times = 1;
	define_flags(s, STATUS_FLAGS); /* on the way back too */
	if (kind == 0) { /* dec reg; jnz */
		put8(s, 0x48 + (reg > 7));
		put8(s, 0xff);
		put8(s, 0xc8 + (reg & 7));
	} else if (kind == 1) { /* sub reg, 1; ja: CF and ZF */
		put8(s, 0x48 + (reg > 7));
		put8(s, 0x83);
		put8(s, 0xe8 + (reg & 7));
		put8(s, 1);
	} else { /* lea rcx,[rcx-1]; jrcxz +5; jmp: without flags */
		put(s, "\x48\x8d\x49\xff\xe3\x05\xe9", 7);
		back = (int32_t)(head - s->len - 4);
		put(s, &back, 4);
		return;
	}
	put8(s, 0x0f);
	put8(s, kind ? 0x87 : 0x85);
	back = (int32_t)(head - s->len - 4);
	put(s, &back, 4);
}

static void build(struct sequence *s, struct rng *r, int family, int high)
{
	unsigned int n = 1 + rng_below(r, 32), shape = rng_below(r, 4);

	if (family == LOOPS) {
		build_affine(s, r);
		put8(s, 0xc3);
		return;
	}
	while (n) {
		unsigned int k = 1 + rng_below(r, n);

		if (shape == 1 && !rng_below(r, 4)) {
			put_loop(s, r, family, high, k < 8 ? k : 8);
			n -= k;
			continue;
		}
		if (shape == 2 && !rng_below(r, 4))
			put_skip(s, r, family, high);
		else
			put_template(s, pick(r, family, high, s->counting, 0));
		n--;
	}
	put8(s, 0xc3);
}

/* Memory at the begin of a batch; while counting it stays as the kernel made it. */
static void reset(struct rng *r)
{
	for (uint64_t *p = (void *)DATA; p < (uint64_t *)(DATA + DATA_SIZE); p++)
		*p = rng_next(r);
	memset((void *)STACK, 0, STACK_SIZE);
	memset((void *)CODE_DATA, 0x5a, 0x2000);
}

static void show(const struct sequence *s, unsigned int n, uint64_t h)
{
	printf("  %u at %lx: %016lx, flags %lx,", n, s->addr, h,
	       machine.flags & ~(uint64_t)s->undefined);
	for (int i = 0; i < 16; i++)
		printf(" %lx", machine.gpr[i]);
	for (unsigned int i = 0; i < s->len; i++)
		printf("%s%02x", i ? "" : " ", s->code[i]);
	printf("\n");
}

/* --- memory that faults when it is accessed ----------------------------------------- */

static unsigned long faults;
static unsigned int closes;	/* that are left for a sequence */
static uint64_t opened[2], faulted_at, fault_hash;

static const struct {
	uint64_t at, size;
} closed[] = {
	{ DATA, DATA_SIZE }, { STACK, STACK_SIZE }, { AFFINE, AFFINE_SIZE },
	{ CODE_DATA, 0x2000 },
};

/* The thread pointer is another's: without the C library. */
static inline long protect(uint64_t at, uint64_t size, long prot)
{
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"((long)SYS_mprotect), "D"(at), "S"(size), "d"(prot)
			 : "rcx", "r11", "memory");
	return ret;
}

/*
 * What one instruction accesses stays open; else each access of another page than
 * the last one faults, up to CLOSES times.
 */
__attribute__((optimize("no-stack-protector"))) static void
on_closed(int sig, siginfo_t *info, void *context)
{
	const greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t page = (uint64_t)info->si_addr & -4096ul;
	uint64_t h = fault_hash ^ (uint64_t)info->si_addr;

	for (int i = REG_R8; i <= REG_RIP; i++)
		h = (h ^ (uint64_t)regs[i]) * 0x9fb21c651e98df25;
	fault_hash = h ^ h >> 29;
	faults++;
	if (opened[1] && (uint64_t)regs[REG_RIP] != faulted_at && closes) {
		closes--;
		protect(opened[0], 4096, PROT_NONE);
		opened[0] = opened[1];
	} else if (!opened[1]) {
		opened[0] = page;
	}
	faulted_at = (uint64_t)regs[REG_RIP];
	opened[1] = page;
	if (protect(page, 4096, PROT_READ | PROT_WRITE))
		syscall(SYS_exit_group, 1);
}

static void close_all(void)
{
	opened[0] = opened[1] = faulted_at = 0;
	closes = CLOSES;
	for (unsigned int i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
		if (protect(closed[i].at, closed[i].size, PROT_NONE))
			die("mprotect");
}

static void open_all(void)
{
	for (unsigned int i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
		if (protect(closed[i].at, closed[i].size,
			    PROT_READ | PROT_WRITE))
			die("mprotect");
}

static void run_one(const void *code)
{
	if (closing)
		close_all();
	machine_run(code);
	if (closing)
		open_all();
}

/* One batch: code is written, made executable, run. */
static uint64_t batch(int family, uint64_t seed, int counting, int details)
{
	static struct sequence s[BATCH];
	struct rng r;
	int high;
	uint64_t base, h = 0;
	uint32_t used = 0;
	unsigned int n, count = family == LOOPS ? 64 : BATCH;

	rng_seed(&r, seed);
	if (!counting)
		reset(&r);
	if (family == REWRITE) {
		sequences += 64;
		return run_rewriting(&r, 64, counting);
	}
	high = family != F_RIP && family != MIX && !rng_below(&r, 4);
	base = high ? HIGH_CODE : CODE;
	if (mprotect((void *)base, CODE_SIZE, PROT_READ | PROT_WRITE))
		die("mprotect");
	for (n = 0; n < count && used < CODE_SIZE - SEQUENCE_MAX; n++) {
		s[n] = (struct sequence){ .code = (void *)(base + used),
					  .addr = base + used,
					  .counting = counting, .times = 1 };
		build(&s[n], &r, family, high);
		if (s[n].len > SEQUENCE_MAX)
			die("a sequence is too long");
		used += s[n].len + rng_below(&r, 16);
	}
	if (mprotect((void *)base, CODE_SIZE, PROT_READ | PROT_EXEC))
		die("mprotect");
	count = n;
	sequences += count;
	for (n = 0; n < count; n++) {
		uint64_t one;

		machine_random(&r);
		run_one(s[n].code);
		if (counting) /* the return address of the trampoline */
			expect(RSP0, 1, 1);
		one = machine_hash(s[n].undefined) ^ fault_hash;
		if (details)
			one ^= hash_bytes(1, (void *)DATA, DATA_SIZE) ^
			       hash_bytes(2, (void *)STACK, STACK_SIZE);
		if (details)
			show(&s[n], n, one);
		if (machine.gpr[RSP] != STACK_TOP)
			die("a sequence left the stack elsewhere");
		h = (h ^ one) * 0x9fb21c651e98df25;
	}
	if (counting)
		return 0;
	h = hash_bytes(h, (void *)DATA, DATA_SIZE);
	h = hash_bytes(h, (void *)STACK, STACK_SIZE);
	h = hash_bytes(h, (void *)CODE_DATA, 0x2000);
	if (family == LOOPS)
		h = hash_bytes(h, (void *)AFFINE, AFFINE_SIZE);
	return h;
}

/* Each template alone; with what follows from one to the next. */
static void each(int family, int counting)
{
	struct sequence s;
	struct rng r;

	rng_seed(&r, (uint64_t)family);
	if (!counting)
		reset(&r);
	for (uint32_t i = first[family]; i < first[family + 1];) {
		uint32_t begin = i, used = 0;

		if (mprotect((void *)CODE, CODE_SIZE, PROT_READ | PROT_WRITE))
			die("mprotect");
		for (; i < first[family + 1] && i < begin + 1024; i++) {
			const struct template *t = &pool[order[i]];

			s = (struct sequence){ .code = (void *)(CODE + used),
					       .addr = CODE + used, .times = 1,
					       .counting = counting };
			if (!counting || !t->uncounted)
				put_template(&s, t);
			put8(&s, 0xc3);
			used += 256;
		}
		if (mprotect((void *)CODE, CODE_SIZE, PROT_READ | PROT_EXEC))
			die("mprotect");
		for (uint32_t k = begin; k < i; k++) {
			const struct template *t = &pool[order[k]];

			machine_random(&r);
			run_one((void *)(CODE + 256ul * (k - begin)));
			sequences++;
			if (counting) {
				expect(RSP0, 1, 1);
				continue;
			}
			printf("%s %u %016lx %016lx ", names[family], order[k],
			       machine_hash(STATUS_FLAGS),
			       hash_bytes(1, (void *)DATA, DATA_SIZE));
			for (unsigned int b = 0; b < t->len; b++)
				printf("%02x", t->bytes[b]);
			printf("\n");
		}
	}
}

static volatile unsigned long ticks;

/* It may come in a sequence, with another thread pointer. */
__attribute__((optimize("no-stack-protector"))) static void on_tick(int sig)
{
	ticks++;
}

static void take_signals(const char *which)
{
	static char stack[1 << 16];
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction act = { .sa_handler = on_tick,
				 .sa_flags = SA_ONSTACK | SA_RESTART };
	struct itimerval every = { { 0, 500 }, { 0, 500 } };

	if (sigaltstack(&alt, NULL) || sigaction(SIGALRM, &act, NULL))
		die("signals");
	closing = !strcmp(which, "faults");
	act.sa_flags = (int)(SA_ONSTACK | SA_RESETHAND);
	if (closing) {
		act.sa_sigaction = on_closed;
		act.sa_flags = SA_ONSTACK | SA_SIGINFO;
	}
	if (strcmp(which, "ticks") && sigaction(SIGSEGV, &act, NULL))
		die("signals");
	if (!closing && strcmp(which, "handled") && setitimer(ITIMER_REAL, &every, NULL))
		die("timer");
}

static void load(const char *path)
{
	const struct pool_head *head;
	uint32_t at[FAMILIES] = { 0 };
	struct stat st;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &st))
		die(path);
	head = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (head == MAP_FAILED || head->magic != POOL_MAGIC)
		die(path);
	close(fd);
	pool = (const void *)(head + 1);
	pool_size = head->templates;
	pool_accesses = (const void *)(pool + pool_size);
	order = malloc(pool_size * sizeof(*order));
	if (!order)
		die("memory");
	for (uint32_t i = 0; i < pool_size; i++)
		first[pool[i].family + 1]++;
	for (int f = 0; f < FAMILIES; f++) {
		first[f + 1] += first[f];
		at[f] = first[f];
	}
	for (uint32_t i = 0; i < pool_size; i++)
		order[at[pool[i].family]++] = i;
}

static void write_expected(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		die(path);
	for (unsigned int i = 0; i < LINES; i++)
		if (lines[i].loads | lines[i].stores)
			fprintf(f, "%lx %lu %lu\n", DATA + 64ul * i,
				lines[i].loads, lines[i].stores);
	for (unsigned int i = 0; i < 0x2000 / 64; i++)
		if (code_lines[i].loads | code_lines[i].stores)
			fprintf(f, "%lx %lu %lu\n", CODE_DATA + 64ul * i,
				code_lines[i].loads, code_lines[i].stores);
	if (fclose(f))
		die(path);
}

int main(int argc, char **argv)
{
	const char *only = NULL, *expected = NULL, *alone = NULL, *why;
	const char *signals = NULL;
	unsigned long seed = 1, count = 10000, one = ~0ul, shown = ~0ul;

	/* Ahead of malloc: the kernel may place the heap where these are to be. */
	if (machine_map() ||
	    mmap((void *)HIGH_CODE, CODE_SIZE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		 0) == MAP_FAILED)
		die("memory");
	rewrite_begin();
	if (argc < 2) {
		fprintf(stderr, "usage: random POOL [--seed N] [--count N] "
				"[--only FAMILY] [--batch N] [--show N] "
				"[--expect FILE] "
				"[--each FAMILY] "
				"[--signals handled|storm|ticks|faults]\n");
		return 2;
	}
	for (int i = 2; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seed"))
			seed = strtoul(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--count"))
			count = strtoul(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--batch"))
			one = strtoul(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--signals"))
			signals = argv[i + 1];
		else if (!strcmp(argv[i], "--each"))
			alone = argv[i + 1];
		else if (!strcmp(argv[i], "--show"))
			shown = strtoul(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--only"))
			only = argv[i + 1];
		else if (!strcmp(argv[i], "--expect"))
			expected = argv[i + 1];
		else
			return 2;
	}
	if (machine_init(&why)) {
		printf("unsupported: %s\n", why);
		return 77;
	}
	load(argv[1]);
	if (signals)
		take_signals(signals);
	for (int f = 0; alone && f < FAMILIES; f++)
		if (!strcmp(alone, "all") || !strcmp(alone, names[f]))
			each(f, expected != NULL);
	for (unsigned long b = one == ~0ul ? 0 : one; !alone && sequences < count;
	     b++) {
		for (int f = 0; f < ALL; f++) {
			uint64_t h;

			if (f < FAMILIES && first[f] == first[f + 1])
				continue;
			if (only && strcmp(only, names[f]))
				continue;
			/* Rewriting is dear, and loops are long. */
			if (!only && ((f == REWRITE && b % 8) ||
				      (f == LOOPS && b % 2)))
				continue;
			h = batch(f, seed * 1000003 + b * 131 + f,
				  expected != NULL, b == one || b == shown);
			if (!expected)
				printf("%s %lu %016lx\n", names[f], b, h);
		}
		if (one != ~0ul)
			break;
	}
	if (expected)
		write_expected(expected);
	if (closing && faults < sequences)
		die("hardly any memory was closed");
	printf("%lu sequences\n", sequences);
	return 0;
}
