// SPDX-License-Identifier: GPL-2.0-or-later
/* moca objects: what each access is attributed to, in traces made by hand. */
#include "tests/unit/objects-trace.h"

#define R MOCA_ACCESS_READ
#define W MOCA_ACCESS_WRITE
#define X MOCA_ACCESS_EXEC

/* One address, three objects after each other, and nothing between them. */
static int lives(void)
{
	const struct moca_object *a, *b, *m;

	start_program();
	put_stack(0, 1, 1);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP + 16, 8192, 1, MOCA_ALLOC_MALLOC);
	put_access(0, HEAP + 16, W);
	put_access(0, HEAP + 16 + 8191, R);
	put_access(0, HEAP + 16 + 8192, R);	/* just behind */
	put_access(0, HEAP + 15, R);		/* just before */
	put_free(0, HEAP + 16, MOCA_FREE_FREE);
	put_access(0, HEAP + 4096, R);		/* free memory */
	put_alloc(0, HEAP + 16, 4096, 2, MOCA_ALLOC_CALLOC);
	put_access(0, HEAP + 16, R);
	put_free(0, HEAP + 16, MOCA_FREE_FREE);
	put_alloc(0, HEAP + 16, 12000, 1, MOCA_ALLOC_MALLOC);
	put_access(0, HEAP + 9000, W);
	trace_end();
	CHECK(!objects_of(NULL));
	a = row_by(MOCA_OBJECT_HEAP, 1);
	b = row_by(MOCA_OBJECT_HEAP, 2);
	m = row_of(MOCA_OBJECT_ALLOCATOR, "malloc's own memory");
	CHECK(a && b && m);
	CHECK(a->instances == 2 && a->size == 12000 && a->bytes == 20192);
	CHECK(a->accesses == 3 && a->reads == 1 && a->writes == 2);
	CHECK(a->addr == HEAP + 16 && a->begin_ns && !a->end_ns);
	CHECK(b->instances == 1 && b->accesses == 1 && b->end_ns);
	CHECK(b->end_ns > b->begin_ns);
	CHECK(m->accesses == 3 && m->named);
	CHECK(totals.allocations == 3 && !totals.refused);
	CHECK(totals.processes == 1 && !totals.without_agent);
	return 0;
}

/* An object lives until the same thread tells what realloc made of it. */
static int reallocs(void)
{
	const struct moca_object *a, *b;

	start_program();
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
	put_stack(0, 1, 1);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP, 4096, 1, MOCA_ALLOC_MALLOC);
	put_free(0, HEAP, MOCA_FREE_REALLOC);
	put_access(0, HEAP + 8, R);
	/* Another thread's object is not what became of it. */
	put_alloc(1, HEAP + 65536, 4096, 2, MOCA_ALLOC_MALLOC);
	put_access(0, HEAP + 8, R);
	put_alloc(0, HEAP + 131072, 8192, 2, MOCA_ALLOC_REALLOC);
	put_access(0, HEAP + 8, R);
	put_access(0, HEAP + 131072, W);
	/* One that fails leaves it as it was: what is usable may be more than was asked for. */
	put_free(0, HEAP + 131072, MOCA_FREE_REALLOC);
	put_alloc(0, HEAP + 131072, 8200, 2, MOCA_ALLOC_KEPT);
	put_access(0, HEAP + 131072, W);
	/* One that returns it as large as it was counts, as each call does. */
	put_stack(0, 3, 3);
	put_alloc(0, HEAP + 262144, 4096, 3, MOCA_ALLOC_MALLOC);
	put_access(0, HEAP + 262144, W);
	put_free(0, HEAP + 262144, MOCA_FREE_REALLOC);
	put_alloc(0, HEAP + 262144, 4096, 3, MOCA_ALLOC_REALLOC);
	put_access(0, HEAP + 262144, W);
	trace_end();
	CHECK(!objects_of(NULL));
	CHECK(totals.allocations == 5);
	a = row_by(MOCA_OBJECT_HEAP, 3);
	CHECK(a && a->instances == 2 && a->bytes == 8192 && a->accesses == 2);
	a = row_by(MOCA_OBJECT_HEAP, 1);
	b = row_by(MOCA_OBJECT_HEAP, 2);
	CHECK(a && b);
	CHECK(a->accesses == 2 && a->instances == 1 && a->end_ns);
	CHECK(b->accesses == 2 && b->instances == 2 && !b->end_ns);
	CHECK(row_of(MOCA_OBJECT_ALLOCATOR, "")->accesses == 1);
	return 0;
}

static int split_pages(void)
{
	const struct moca_object *a, *b;

	start_program();
	put_stack(0, 1, 1);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP + 16, 6000, 1, MOCA_ALLOC_MALLOC);
	put_alloc(0, HEAP + 6032, 8000, 2, MOCA_ALLOC_MALLOC);
	put_access(0, HEAP + 100, W);
	put_access(0, HEAP + 6015, W);
	put_access(0, HEAP + 6032, R);
	put_access(0, HEAP + 2 * PAGE + 1, R);
	trace_end();
	CHECK(!objects_of(NULL));
	a = row_by(MOCA_OBJECT_HEAP, 1);
	b = row_by(MOCA_OBJECT_HEAP, 2);
	CHECK(a && b);
	CHECK(a->accesses == 2 && a->pages == 2 && a->pages_split == 1);
	CHECK(b->accesses == 2 && b->pages == 2 && b->pages_split == 1);
	return 0;
}

/* A child goes on with what its parent had then, whatever that does later. */
static int forks(void)
{
	const struct moca_object *a, *b, *c;

	start_program();
	put_stack(0, 1, 1);
	put_alloc(0, HEAP, 8192, 1, MOCA_ALLOC_MALLOC);
	put_access(0, HEAP, W);
	start_task(1, 200, 200, 0, MOCA_TASK_FORK);
	put_free(0, HEAP, MOCA_FREE_FREE);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP, 8192, 2, MOCA_ALLOC_MALLOC);
	put_access(0, HEAP, R);
	put_access(1, HEAP, R);		/* still what it was */
	put_alloc(1, HEAP + 65536, 4096, 1, MOCA_ALLOC_MALLOC);
	put_access(1, HEAP + 65536, W);	/* by a stack of its parent's */
	put_stack(1, 2, 3);		/* and the number 2 is its own */
	put_alloc(1, HEAP + 131072, 4096, 2, MOCA_ALLOC_MALLOC);
	put_access(1, HEAP + 131072, W);
	put_access(0, HEAP + 131072, R);	/* free in the parent */
	trace_end();
	CHECK(!objects_of(NULL));
	a = row_by(MOCA_OBJECT_HEAP, 1);
	b = row_by(MOCA_OBJECT_HEAP, 2);
	c = row_by(MOCA_OBJECT_HEAP, 3);
	CHECK(a && b && c);
	CHECK(a->accesses == 3 && a->threads == 2 && a->instances == 2);
	/* A page of each process, and the page of the second object. */
	CHECK(a->pages == 3 && !a->pages_shared);
	CHECK(b->accesses == 1 && c->accesses == 1);
	CHECK(row_of(MOCA_OBJECT_ALLOCATOR, "")->accesses == 1);
	CHECK(totals.processes == 2 && !totals.without_agent);
	return 0;
}

/* A vfork's child works in its parent's memory; exec gives it its own. */
static int vfork_and_exec(void)
{
	const struct moca_object *a, *x;

	start_program();
	put_stack(0, 1, 1);
	put_alloc(0, HEAP, 8192, 1, MOCA_ALLOC_MALLOC);
	start_task(1, 200, 200, 0, MOCA_TASK_VFORK);
	put_access(1, HEAP, W);
	/* The kernel writes to what will be the new program's. */
	put_access(1, 0x560000000000, W);
	told[1].accesses[1].mode = MOCA_MODE_KERNEL;
	put_exec(1, "/bin/other");
	put_map(1, HEAP, 65536, "");
	put_access(1, HEAP, W);
	put_access(0, HEAP, R);
	put_exec(0, "/bin/third");
	put_map(0, HEAP, 65536, "");
	put_access(0, HEAP, R);
	trace_end();
	CHECK(!objects_of(NULL));
	a = row_by(MOCA_OBJECT_HEAP, 1);
	CHECK(a && a->accesses == 2 && !strcmp(a->program, "/bin/prog"));
	CHECK(a->pages == 1 && a->pages_shared == 1 && a->shared_written == 1);
	x = row_of(MOCA_OBJECT_ANONYMOUS, "AnonymousStruct#1");
	CHECK(x && x->accesses == 1 && !x->named);
	CHECK(!strcmp(x->program, "/bin/other"));
	CHECK(x->size == 65536 && x->addr == HEAP);
	x = row_of(MOCA_OBJECT_ANONYMOUS, "AnonymousStruct#2");
	CHECK(x && x->accesses == 1 && !strcmp(x->program, "/bin/third"));
	CHECK(totals.processes == 3 && totals.without_agent == 2);
	/* Call stacks in no file name nothing. */
	CHECK(totals.named == 1 && totals.accesses == 5);
	x = row_of(MOCA_OBJECT_KERNEL, "[exec]");
	CHECK(x && x->accesses == 1);
	return 0;
}

/* A sample has ended before others of its site are told in bulk. */
static int small_after_samples(void)
{
	const struct moca_object *a;

	start_program();
	put_stack(0, 1, 1);
	put_sample(0, HEAP + 16, 24, 1);
	put_free(0, HEAP + 16, MOCA_FREE_FREE);
	put_small(0, HEAP + 64, 24, 1);
	put_access(0, HEAP + 64, R);
	trace_end();
	CHECK(!objects_of(NULL));
	a = row_by(MOCA_OBJECT_SMALL, 1);
	CHECK(a && a->accesses == 1 && a->sampled == 1);
	/* It began with the sample, and lives. */
	CHECK(a->begin_ns && a->begin_ns < a->first_ns && !a->end_ns);
	return 0;
}

static int small_in_bulk(void)
{
	const struct moca_object *a, *b;
	int i;

	start_program();
	put_stack(0, 1, 1);
	put_stack(0, 2, 2);
	for (i = 0; i < 64; i++)
		put_small(0, HEAP + 16 + 32 * i, 24, 1 + i % 2);
	for (i = 0; i < 64; i++)
		put_access(0, HEAP + 16 + 32 * i + 5, i % 2 ? R : W);
	/* The memory is another site's from now on, */
	put_small(0, HEAP + 16, 40, 2);
	put_access(0, HEAP + 16, R);
	put_access(0, HEAP + 48, R);
	put_access(0, HEAP + 80, R);
	/* and then a large object's, */
	put_alloc(0, HEAP + 16, 4096, 1, MOCA_ALLOC_MALLOC);
	put_access(0, HEAP + 16, W);
	put_free(0, HEAP + 16, MOCA_FREE_FREE);
	/* behind which there are no small ones. */
	put_access(0, HEAP + 16, R);
	put_tally(0, 1, 1000, 24000);
	put_tally(0, 1, 1, 24);
	put_tally(0, 2, 5, 160);
	field(0, 7, 8);
	field(0, 99, 8);
	put_event(0, T_SKIPPED);
	trace_end();
	CHECK(!objects_of(NULL));
	a = row_by(MOCA_OBJECT_SMALL, 1);
	b = row_by(MOCA_OBJECT_SMALL, 2);
	CHECK(a && b);
	CHECK(a->accesses == 33 && a->writes == 32 && a->reads == 1);
	CHECK(a->instances == 1001 && a->bytes == 24024 && !a->addr);
	CHECK(b->accesses == 34 && b->instances == 5);
	CHECK(a->pages == 1 && a->pages_split == 1);
	CHECK(row_by(MOCA_OBJECT_HEAP, 1)->accesses == 1);
	CHECK(row_of(MOCA_OBJECT_ALLOCATOR, "")->accesses == 1);
	CHECK(totals.small == 1006 && totals.small_bytes == 24184);
	CHECK(totals.skipped == 7 && totals.allocations == 1);
	return 0;
}

/* What a program maps itself is below what it puts there later. */
static int own_mappings(void)
{
	const struct moca_object *a;

	start_program();
	put_stack(0, 1, 1);
	put_stack(0, 2, 2);
	put_small(0, HEAP, 64, 2);
	put_alloc(0, HEAP, 65536, 1, MOCA_ALLOC_MMAP);
	put_access(0, HEAP, W);		/* the mapping is later */
	put_small(0, HEAP + 128, 64, 2);
	put_access(0, HEAP + 128, W);	/* the small one is later */
	put_alloc(0, HEAP + 8192, 4096, 2, MOCA_ALLOC_MALLOC);
	put_access(0, HEAP + 8192, W);
	put_free(0, HEAP + 8192, MOCA_FREE_FREE);
	put_access(0, HEAP + 8192, W);	/* the mapping again */
	put_unmap(0, HEAP, 32768);
	put_access(0, HEAP, R);		/* nobody's */
	put_access(0, HEAP + 128, R);
	put_access(0, HEAP + 40000, R);	/* what is left of it */
	put_unmap(0, HEAP, 65536);
	trace_end();
	CHECK(!objects_of(NULL));
	a = row_by(MOCA_OBJECT_HEAP, 1);
	CHECK(a && a->accesses == 3 && a->instances == 1);
	CHECK(row_by(MOCA_OBJECT_SMALL, 2)->accesses == 1);
	CHECK(row_by(MOCA_OBJECT_HEAP, 2)->accesses == 1);
	CHECK(row_of(MOCA_OBJECT_ALLOCATOR, "")->accesses == 2);
	return 0;
}

static int sharing(void)
{
	const struct moca_object *a, *b;

	start_program();
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
	start_task(2, 100, 102, 0, MOCA_TASK_THREAD);
	put_stack(0, 1, 1);
	put_stack(1, 2, 2);
	put_alloc(0, HEAP, 3 * PAGE, 1, MOCA_ALLOC_MALLOC);
	put_alloc(1, HEAP + 65536, 2 * PAGE, 2, MOCA_ALLOC_MALLOC);
	put_access(2, HEAP, R);
	put_access(1, HEAP, R);
	put_access(0, HEAP + PAGE, W);
	put_access(1, HEAP + PAGE, R);
	put_access(1, HEAP + 2 * PAGE, W);
	put_access(0, HEAP + 65536, R);
	put_access(1, HEAP + 65536, R);
	put_access(1, HEAP + 65536 + PAGE, W);
	trace_end();
	CHECK(!objects_of(NULL));
	a = row_by(MOCA_OBJECT_HEAP, 1);
	b = row_by(MOCA_OBJECT_HEAP, 2);
	CHECK(a && b);
	CHECK(a->threads == 3 && a->first_task == 2 && a->pages == 3);
	CHECK(a->pages_shared == 2 && a->shared_written == 1);
	CHECK(b->threads == 2 && b->first_task == 0 && b->pages == 2);
	CHECK(b->pages_shared == 1 && !b->shared_written);
	return 0;
}

/*
 * Most pages are seen once, in a short run: one that two wrote is enough where more
 * touched them than there are. Instances have their own users, one after the other.
 */
static int sharing_of_many(void)
{
	enum { PAGES = 15, TASKS = 17 };
	int instances, few, i;

	for (instances = 1; instances <= 2; instances++)
		for (few = 0; few < 2; few++) {
			start_program();
			for (i = 1; i < TASKS; i++)
				start_task(i, 100, 100 + i, 0,
					   MOCA_TASK_THREAD);
			put_stack(0, 1, 1);
			put_alloc(0, HEAP, PAGES * PAGE, 1, MOCA_ALLOC_MALLOC);
			if (instances > 1)
				put_alloc(0, HEAP + 64 * PAGE, PAGE, 1,
					  MOCA_ALLOC_MALLOC);
			for (i = 0; i < 2 * PAGES; i++)
				put_access(few ? 0 : i / 2,
					   HEAP + i / 2 * PAGE, W);
			put_access(TASKS - 2, HEAP, W);
			put_access(TASKS - 1, HEAP, W);
			trace_end();
			CHECK(!objects_of(NULL));
			CHECK(row_by(MOCA_OBJECT_HEAP, 1)->sharing ==
			      (few || instances > 1 ? MOCA_SHARING_PRIVATE :
						      MOCA_SHARING_WRITE));
		}
	return 0;
}

/* --- this very program as a module -------------------------------------- */

char objects_static_table[20000];
__thread char objects_tls_table[5000];

static const struct moca_variable *variable(struct moca_module *m,
					    const char *name)
{
	const struct moca_variable *v;
	size_t i, n = moca_module_variables(m, &v);

	for (i = 0; i < n; i++)
		if (!strcmp(v[i].name, name))
			return &v[i];
	return NULL;
}

static int statics_and_tls(void)
{
	static char path[256];
	const uint64_t base = 0x560000000000, block = 0x7d0000000100;
	const struct moca_variable *table, *tls;
	const struct moca_object *a;
	struct moca_symbols *s;
	struct moca_module *m;
	uint64_t low, high, align, size, v;
	struct moca_change *e;
	ssize_t n;

	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	CHECK(n > 0 && !moca_symbols_open(&s));
	m = moca_symbols_module(s, path);
	CHECK(!moca_module_error(m) && !moca_module_span(m, &low, &high));
	CHECK(!moca_module_vaddr(m, 0, &v));
	table = variable(m, "objects_static_table");
	tls = variable(m, "objects_tls_table");
	CHECK(table && !table->tls && table->size == 20000);
	CHECK(tls && tls->tls && tls->size == 5000);
	moca_module_tls(m, &size, &align);
	CHECK(size >= 5000);
	start_program();
	put_exec(0, path);
	/* The file's begin, and the rest as anonymous memory behind it. */
	put_map(0, base + v, PAGE, path);
	put_map(0, base + v + PAGE, high - v - PAGE, "");
	put_map(0, block & ~4095ull, 65536, "");
	put_three(0, T_TLS, block, size, base + v);
	put_access(0, base + table->vaddr, W);
	put_access(0, base + table->vaddr + 19999, R);
	put_access(0, base + table->vaddr + 9000, R);
	put_access(0, block + tls->vaddr, W);
	put_access(0, block + tls->vaddr + 4999, R);
	/* A thread of whose TLS only the thread pointer is known. */
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
	e = &told[1].events[told[1].event_count - 1];
	e->addr = 0x7d0000004000;
	e->offset = (0x7d0000008000 + align) & ~(align - 1);
	put_access(1, e->offset - ((size + align - 1) & ~(align - 1)) +
		   tls->vaddr + 1, W);
	trace_end();
	CHECK(!objects_of(NULL));
	a = row_of(MOCA_OBJECT_STATIC, "objects_static_table");
	CHECK(a && a->accesses == 3 && a->named && a->size == 20000);
	CHECK(a->addr == base + table->vaddr && a->instances == 1);
	a = row_of(MOCA_OBJECT_TLS, "objects_tls_table");
	CHECK(a && a->accesses == 3 && a->named && a->instances == 2);
	CHECK(a->threads == 2);
	moca_symbols_close(s);
	return 0;
}

static int mappings_by_name(void)
{
	const struct moca_object *a;

	start_program();
	put_map(0, 0x10000, PAGE, "/etc/passwd");
	put_map(0, 0x20000, PAGE, "[vdso]");
	put_map(0, 0x30000, PAGE, "/memfd:moca-ring (deleted)")->flags =
		MOCA_MAP_MOCA;
	put_map(0, 0x40000, PAGE, "/dev/shm/moca-0/0123456789abcdef/stream-1")
		->flags = MOCA_MAP_MOCA;
	put_map(0, 0x50000, PAGE, "/dev/shm/other");
	put_map(0, 0x60000, PAGE, "[anon:pool]");
	put_map(0, 0x70000, PAGE, "[heap]");
	put_access(0, 0x10000, R);
	put_access(0, 0x20000, X);
	put_access(0, 0x30000, W);
	put_access(0, 0x40000, W);
	put_access(0, 0x50000, W);
	put_access(0, 0x60000, W);
	put_access(0, 0x70000, W);
	put_access(0, 0x6f6d1000, W);
	put_access(0, 0x90000, W);
	/* Code that no mapping holds, and what it reads nearby. */
	put_access(0, 0x7fff00001000, X);
	told[0].accesses[9].ip = 0x7fff00001000;
	put_access(0, 0x7fff00000000, R);
	told[0].accesses[10].ip = 0x7fff00001004;
	trace_end();
	CHECK(!objects_of(NULL));
	a = row_of(MOCA_OBJECT_FILE, "/etc/passwd");
	CHECK(a && a->accesses == 1 && a->reads == 1 && a->named);
	CHECK(!row_of(MOCA_OBJECT_KERNEL, "[exec]"));
	CHECK(totals.own == 3 && totals.accesses == 8);
	a = row_of(MOCA_OBJECT_KERNEL, "[vvar]");
	CHECK(a && a->accesses == 1);
	a = row_of(MOCA_OBJECT_SHARED, "/dev/shm/other");
	CHECK(a && a->accesses == 1);
	a = row_of(MOCA_OBJECT_ANONYMOUS, "[anon:pool]");
	CHECK(a && a->named);
	/* No agent: nobody knows what is in this heap. */
	a = row_of(MOCA_OBJECT_ALLOCATOR, "[heap]");
	CHECK(a && a->accesses == 1 && !a->named);
	a = row_of(MOCA_OBJECT_ANONYMOUS, "[unknown]");
	CHECK(a && a->accesses == 1 && !a->named);
	CHECK(totals.without_agent == 1);
	return 0;
}

/* What calloc and realloc write comes before their object is told. */
static int inside_of_calls(void)
{
	const struct moca_object *a, *b;

	start_program();
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
	put_access(0, HEAP + PAGE, W);		/* before there is an agent */
	put_stack(0, 1, 1);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP, 100, 1, MOCA_ALLOC_MALLOC);
	put_access(0, HEAP + PAGE, W);		/* calloc's zeroes, */
	put_access(0, HEAP + PAGE - 8, W);	/* and its header */
	put_access(1, HEAP + PAGE + 8, R);	/* another thread's */
	put_alloc(0, HEAP + PAGE, 2 * PAGE, 1, MOCA_ALLOC_CALLOC);
	put_access(0, HEAP + 65536, W);
	put_alloc(0, HEAP + 65536, PAGE, 2, MOCA_ALLOC_MALLOC);
	put_free(0, HEAP + PAGE, MOCA_FREE_REALLOC);
	put_access(0, HEAP + PAGE + 4, R);	/* it lives, and is copied */
	put_access(0, HEAP + 131072, W);
	put_stack(0, 3, 3);
	put_alloc(0, HEAP + 131072, 4 * PAGE, 3, MOCA_ALLOC_REALLOC);
	put_access(0, HEAP + 200, W);		/* never told */
	trace_end();
	CHECK(!objects_of(NULL));
	a = row_by(MOCA_OBJECT_HEAP, 1);
	b = row_by(MOCA_OBJECT_HEAP, 3);
	CHECK(a && a->accesses == 2 && a->writes == 1 && a->threads == 1);
	CHECK(b && b->accesses == 1 && b->first_task == 0);
	CHECK(!row_by(MOCA_OBJECT_HEAP, 2)->accesses);
	CHECK(row_of(MOCA_OBJECT_ALLOCATOR, "")->accesses == 5);
	return 0;
}

static void note_key(void *arg, const struct moca_observed *x)
{
	if (x->addr == HEAP + 8)
		*(uint32_t *)arg = x->key;
}

/* An access that waits, to an object that ends and whose place another gets. */
static int ended_while_waiting(void)
{
	uint32_t key = UINT32_MAX;
	const struct moca_objects_options opt = { .size = sizeof(opt),
						  .observe = note_key,
						  .observe_arg = &key };

	start_program();
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
	put_stack(0, 1, 1);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP, PAGE, 1, MOCA_ALLOC_MALLOC);
	put_access(1, HEAP + PAGE, W);		/* may come to be told */
	put_access(1, HEAP + 8, R);		/* behind it */
	put_free(0, HEAP, MOCA_FREE_FREE);
	put_alloc(0, HEAP + 65536, PAGE, 2, MOCA_ALLOC_MALLOC);
	trace_end();
	CHECK(!objects_of(&opt));
	CHECK(row_by(MOCA_OBJECT_HEAP, 1)->accesses == 1);
	CHECK(!row_by(MOCA_OBJECT_HEAP, 2)->accesses);
	CHECK(moca_objects_row_of(objects, key) ==
	      row_by(MOCA_OBJECT_HEAP, 1));
	return 0;
}

/* Of some accesses only the page is known: they are shared out by size. */
static int wide_accesses(void)
{
	const struct moca_object *a, *b;
	int i;

	start_program();
	put_stack(0, 1, 1);
	put_stack(0, 2, 2);
	put_alloc(0, HEAP, 3072, 1, MOCA_ALLOC_MALLOC);
	put_alloc(0, HEAP + 3072, 1024 + PAGE, 2, MOCA_ALLOC_MALLOC);
	for (i = 0; i < 1000; i++) {
		put_access(0, HEAP, W);
		told[0].accesses[i].ip = 0;
	}
	/* A page of one object only is no guess. */
	put_access(0, HEAP + PAGE, R);
	told[0].accesses[i].ip = 0;
	trace_end();
	CHECK(!objects_of(NULL));
	a = row_by(MOCA_OBJECT_HEAP, 1);
	b = row_by(MOCA_OBJECT_HEAP, 2);
	CHECK(a && b && a->accesses + b->accesses == 1001);
	CHECK(a->wide == a->accesses && b->wide == b->accesses - 1);
	CHECK(a->accesses > 700 && a->accesses < 800);
	return 0;
}

/* Clocks differ a little: accesses before a task begins, and after its end. */
static int early_and_late(void)
{
	const struct moca_object *a;
	struct moca_change *e;

	start_program();
	put_stack(0, 1, 1);
	put_alloc(0, HEAP, PAGE, 1, MOCA_ALLOC_MALLOC);
	told[1].pid = told[1].tid = 200;
	put_access(1, HEAP, R);
	start_task(1, 200, 200, 0, MOCA_TASK_FORK);
	put_access(1, HEAP, R);
	put_change(1, MOCA_CHANGE_TASK_END);
	put_access(1, HEAP, R);
	told[2].pid = 100;
	told[2].tid = 101;
	put_access(2, HEAP, R);
	start_task(2, 100, 101, 0, MOCA_TASK_THREAD);
	e = put_change(0, MOCA_CHANGE_TASK_END);
	CHECK(e);
	/* Its process goes on. */
	put_access(2, HEAP, R);
	trace_end();
	CHECK(!objects_of(NULL));
	a = row_by(MOCA_OBJECT_HEAP, 1);
	CHECK(a && a->accesses == 5 && row_count == 1 && a->threads == 2);
	CHECK(totals.processes == 2 && !totals.without_agent);
	return 0;
}

/* --- details ------------------------------------------------------------ */

static int instances_touchers_ranges(void)
{
	struct moca_objects_options opt = {
		.size = sizeof(opt), .instances = 1, .touchers = 1,
		.ranges = 1,
	};
	const struct moca_instance *x;
	const struct moca_toucher *t;
	const struct moca_range *g;
	size_t n, i;

	start_program();
	start_task(1, 100, 101, 0, MOCA_TASK_THREAD);
	put_stack(0, 1, 1);
	put_alloc(0, HEAP, 3 * PAGE, 1, MOCA_ALLOC_MALLOC);
	put_alloc(0, HEAP + 65536, 2 * PAGE, 1, MOCA_ALLOC_MALLOC);
	put_access(0, HEAP, W);
	put_access(0, HEAP + 8, R);
	put_access(1, HEAP + PAGE, R);
	put_access(1, HEAP + 65536 + PAGE + 5, W);
	put_free(0, HEAP, MOCA_FREE_FREE);
	trace_end();
	CHECK(!objects_of(&opt));
	x = moca_objects_instances(objects, &n);
	CHECK(n == 2);
	CHECK(x[0].addr == HEAP && x[0].size == 3 * PAGE && x[0].end_ns);
	CHECK(x[0].accesses == 3 && x[0].reads == 2 && x[0].writes == 1);
	CHECK(x[1].addr == HEAP + 65536 && !x[1].end_ns && x[1].writes == 1);
	CHECK(rows[x[0].object].kind == MOCA_OBJECT_HEAP);
	t = moca_objects_touchers(objects, &n);
	CHECK(n == 2);
	for (i = 0; i < n; i++)
		CHECK(t[i].accesses == 2 && t[i].vaddr == CODE + 16 * t[i].task
		      && !t[i].module);
	g = moca_objects_ranges(objects, &n);
	CHECK(n == 2);
	for (i = 0; i < n; i++)
		CHECK(g[i].accesses == 2 && g[i].end == g[i].begin + PAGE &&
		      g[i].begin <= PAGE);
	/* Of another name: nothing. */
	opt.name = "nobody";
	CHECK(!objects_of(&opt));
	moca_objects_instances(objects, &n);
	CHECK(!n);
	moca_objects_touchers(objects, &n);
	CHECK(!n);
	moca_objects_ranges(objects, &n);
	CHECK(!n);
	return 0;
}

/* Only a part of the time, but what was before it is known. */
static int part_of_the_time(void)
{
	struct moca_objects_options opt = { .size = sizeof(opt) };

	start_program();
	put_stack(0, 1, 1);
	put_alloc(0, HEAP, PAGE, 1, MOCA_ALLOC_MALLOC);
	put_access(0, HEAP, W);
	opt.begin_ns = tick();
	put_access(0, HEAP, W);
	put_access(0, HEAP, R);
	opt.end_ns = tick();
	put_access(0, HEAP, R);
	trace_end();
	CHECK(!objects_of(&opt));
	CHECK(totals.accesses == 2);
	CHECK(row_by(MOCA_OBJECT_HEAP, 1)->accesses == 2);
	return 0;
}

/* --- what nobody should send -------------------------------------------- */

static uint64_t odd(void)
{
	static const uint64_t values[] = {
		0, 1, UINT64_MAX, UINT64_MAX - 1, INT64_MAX, 1ull << 63,
		4096, 4095, UINT32_MAX, (1ull << 47) - 1, 1ull << 57,
	};

	switch (rnd() % 4) {
	case 0:
		return values[rnd() % (sizeof(values) / sizeof(*values))];
	case 1:
		return HEAP + rnd() % (1 << 16);
	case 2:
		return rnd() % 9000;
	}
	return rnd();
}

static void put_odd_change(uint32_t task)
{
	static const uint32_t types[] = {
		MOCA_CHANGE_MMAP, MOCA_CHANGE_MMAP, MOCA_CHANGE_MUNMAP,
		MOCA_CHANGE_DISCARD, MOCA_CHANGE_NAME, MOCA_CHANGE_GAP,
		MOCA_CHANGE_EXEC, MOCA_CHANGE_TASK_END, MOCA_CHANGE_TASK_START,
	};
	static const char *const names[] = { "", "[heap]", "[stack]", "/x",
		"/bin/true", "/proc/self/exe", "[vdso]" };
	struct moca_change *e;

	e = put_change(task, types[rnd() % (sizeof(types) / sizeof(*types))]);
	e->addr = odd();
	e->len = odd();
	e->offset = odd();
	e->flags = rnd() % 64;
	e->prot = rnd() % 8;
	e->parent = rnd() % 6;
	e->name = names[rnd() % (sizeof(names) / sizeof(*names))];
	if (e->type == MOCA_CHANGE_TASK_START)
		e->flags = 1u << rnd() % 4;
}

static void put_odd_event(uint32_t task)
{
	unsigned type = T_STACK + rnd() % 9, i, n;

	switch (type) {
	case T_STACK:
		field(task, odd(), 4);
		n = rnd() % 40;
		field(task, n, 4);
		for (i = 0; i < n; i++)
			field(task, odd(), 8);
		break;
	case T_ALLOC:
		field(task, odd(), 8);
		field(task, odd(), 8);
		field(task, rnd() % 8, 4);
		field(task, rnd() % 9, 1);
		break;
	case T_FREE:
		field(task, odd(), 8);
		field(task, rnd() % 4, 1);
		break;
	case T_SMALL:
		field(task, odd(), 8);
		field(task, odd(), 4);
		field(task, rnd() % 8, 4);
		break;
	case T_TALLY:
		field(task, rnd() % 8, 4);
		field(task, odd(), 8);
		field(task, odd(), 8);
		break;
	case T_UNMAP:
	case T_SKIPPED:
		field(task, odd(), 8);
		field(task, odd(), 8);
		break;
	default:
		field(task, odd(), 8);
		field(task, odd(), 8);
		field(task, odd(), 8);
	}
	put_event(task, type);
}

static int hostile_events(void)
{
	struct moca_objects_options all = { .size = sizeof(all),
		.instances = 1, .touchers = 1, .ranges = 1 };
	int round, i;
	uint32_t task;

	for (round = 0; round < 150; round++) {
		start_program();
		for (task = 1; task < 6; task++)
			start_task(task, 100 + rnd() % 3, 100 + task,
				   rnd() % 7, 1u << rnd() % 4);
		for (i = 0; i < 600; i++) {
			task = rnd() % 6;
			if (rnd() % 8 == 0)
				put_odd_change(task);
			else if (rnd() % 2)
				put_odd_event(task);
			else
				put_access(task, odd(), rnd() % 4);
		}
		trace_end();
		/* Each access is counted once, whatever was told. */
		CHECK(!objects_of(NULL));
		CHECK(!objects_of(&all));
	}
	return 0;
}

/* Types that are called as ours, but made of something else. */
static int foreign_layout(void)
{
	struct moca_event_writer *mw;
	struct moca_event_chunk c;
	struct moca_change e;

	start_program();
	put_access(0, HEAP, R);
	trace_end();
	CHECK(!moca_event_writer_create(&mw, dirfd_));
	CHECK(!moca_event_writer_type(mw, 40, "moca_alloc", "alloc2",
				       "string addr\n"));
	CHECK(!moca_event_writer_type(mw, 41, "moca_alloc", "nothing",
				       "u8 x\n"));
	records_reset(&r);
	payload_string(&r, "hello");
	records_event(&r, clock_ns + 1, 40);
	payload_int(&r, 1, 1);
	records_event(&r, clock_ns + 2, 41);
	c = records_chunk(&r, 7);
	c.clock_before = clock_ns;
	e = start_of(100, 100, clock_ns);
	CHECK(!moca_event_writer_changes(mw, 7, &e, 1));
	CHECK(!moca_event_writer_chunk(mw, &c));
	moca_event_writer_destroy(mw);
	CHECK(!objects_of(NULL));
	CHECK(totals.refused == 2 && totals.accesses == 1);
	return 0;
}

static int empty_trace(void)
{
	trace_begin();
	trace_end();
	CHECK(!objects_of(NULL));
	CHECK(!row_count && !totals.accesses && !totals.processes);
	return 0;
}

int main(void)
{
	run("objects: lives of objects at one address", lives);
	run("objects: realloc", reallocs);
	run("objects: pages with several objects", split_pages);
	run("objects: fork", forks);
	run("objects: vfork and exec", vfork_and_exec);
	run("objects: small ones in bulk", small_in_bulk);
	run("objects: small ones in bulk, and samples", small_after_samples);
	run("objects: the program's own mappings", own_mappings);
	run("objects: sharing", sharing);
	run("objects: sharing of many", sharing_of_many);
	run("objects: variables and TLS", statics_and_tls);
	run("objects: mappings by name", mappings_by_name);
	run("objects: inside of calloc and realloc", inside_of_calls);
	run("objects: ended while accesses wait", ended_while_waiting);
	run("objects: only the page is known", wide_accesses);
	run("objects: early and late accesses", early_and_late);
	run("objects: instances, touchers, ranges",
	    instances_touchers_ranges);
	run("objects: a part of the time", part_of_the_time);
	run("objects: hostile events", hostile_events);
	run("objects: events of another layout", foreign_layout);
	run("objects: empty trace", empty_trace);
	objects_done();
	dir_remove();
	return failures != 0;
}
