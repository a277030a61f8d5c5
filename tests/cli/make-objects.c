// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * make-objects DIR [plain|odd-names|at-once|empty|truncated|lost]: a small trace of a program
 * whose allocations were recorded, for the tests of moca objects. The program
 * is this file: its static array objects_table is touched; so are two heap
 * objects of caller 1 (one of 8 pages, 40 accesses; freed, then one of 2 pages,
 * 10 accesses), small ones of caller 2, a file, a thread's stack, and memory of
 * which nothing is known. "lost": 7 events of its first task found no room.
 */
#include "tests/unit/objects-trace.h"

#define R MOCA_ACCESS_READ
#define W MOCA_ACCESS_WRITE
#define EXE 0x560000000000ull
#define TABLE_PAGES 16

/* Pages 0 to 7 of it are written, 12 to 15 read. */
double objects_table[TABLE_PAGES][512] __attribute__((aligned(4096)));

static char exe[512];

extern const char __executable_start[];

/* Not by its name, which a test may change in a copy of this file. */
static uint64_t vaddr_of_table(uint64_t *bias, uint64_t *span)
{
	struct moca_symbols *s;
	struct moca_module *m;
	uint64_t low, high, first;

	if (moca_symbols_open(&s))
		abort();
	m = moca_symbols_module(s, exe);
	if (moca_module_span(m, &low, &high) ||
	    moca_module_vaddr(m, 0, &first))
		abort();
	*bias = EXE - first;
	*span = high - first;
	moca_symbols_close(s);
	return first + ((uintptr_t)objects_table -
			(uintptr_t)__executable_start);
}

static void touch_table(uint64_t at)
{
	int i;

	for (i = 0; i < 8; i++)
		put_access(0, at + PAGE * i + 8 * i, W);
	for (i = 12; i < TABLE_PAGES; i++)
		put_access(0, at + PAGE * i, R);
}

static void touch_heap(void)
{
	int i;

	put_stack(0, 1, 1);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP, 8 * PAGE, 1, MOCA_ALLOC_MALLOC);
	for (i = 0; i < 40; i++)
		put_access(i & 1, HEAP + PAGE * (i % 8), i & 1 ? R : W);
	put_free(0, HEAP, MOCA_FREE_FREE);
	put_alloc(0, HEAP, 2 * PAGE, 1, MOCA_ALLOC_MALLOC);
	for (i = 0; i < 10; i++)
		put_access(1, HEAP + PAGE * (i & 1), W);
	for (i = 0; i < 10; i++)
		put_small(0, HEAP + 65536 + 64 * i, 64, 2);
	for (i = 0; i < 10; i++)
		put_access(0, HEAP + 65536 + 64 * i, W);
	put_tally(0, 2, 10, 640);
}

static void program(const char *file, const char *other)
{
	uint64_t bias, span, table = vaddr_of_table(&bias, &span);
	struct moca_change *e;

	trace_begin();
	start_task(0, 100, 100, MOCA_NO_TASK, 0);
	put_exec(0, exe);
	put_map(0, EXE, PAGE, exe);
	put_map(0, EXE + PAGE, span - PAGE, "");
	put_map(0, HEAP, 64 << 20, "");
	put_map(0, 0x10000, PAGE, file);
	put_map(0, 0x20000, PAGE, other);
	put_map(0, 0x7d0000000000, 1 << 20, "");
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
	e = &told[1].events[told[1].event_count - 1];
	e->addr = 0x7d0000080000;
	touch_table(bias + table);
	touch_heap();
	put_access(1, 0x7d0000070000, W);
	put_access(0, 0x10000, R);
	put_access(0, 0x20000, R);
	put_access(0, 0x30000, MOCA_ACCESS_UNKNOWN);
	put_access(0, 0x181000, W);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 2 ? argv[2] : "plain";
	char cmd[256];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (argc < 2 || n < 0)
		return 2;
	if (!strcmp(kind, "empty"))
		trace_begin();
	else if (!strcmp(kind, "odd-names"))
		program("/lib/\033[2Jodd\n\xff\"name", "[\033]0;x\007\xc2\x9b]");
	else
		program("/etc/demo", "[anon:demo]");
	if (!strcmp(kind, "at-once")) {
		put_alloc(0, HEAP + (1 << 20), 4 * PAGE, 1, MOCA_ALLOC_MALLOC);
		clock_ns -= 1000;
		put_free(0, HEAP + (1 << 20), MOCA_FREE_FREE);
	}
	told_lost = strcmp(kind, "lost") ? 0 : 7;
	trace_end();
	if (!strcmp(kind, "truncated"))
		put_meta("recording");
	snprintf(cmd, sizeof(cmd), "mv %s '%s'", dir, argv[1]);
	return system(cmd) != 0;
}
