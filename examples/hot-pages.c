// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The ten pages of a trace that were seen most often.
 *
 *   cc hot-pages.c $(pkg-config --cflags --libs moca) -o hot-pages
 *   ./hot-pages TRACE
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <moca/reader.h>

#define PAGE 4096
#define TOP 10

struct page {
	uint64_t addr;
	uint32_t pid;
	uint32_t used;
	uint64_t reads;
	uint64_t writes;
	uint64_t last_ns;
};

/* An open-addressing hash table of pages. */
static struct page *table;
static size_t cap, count;

static struct page *slot(uint32_t pid, uint64_t addr)
{
	size_t i = (addr / PAGE * 0x9e3779b97f4a7c15ull ^ pid) & (cap - 1);

	while (table[i].used && (table[i].addr != addr || table[i].pid != pid))
		i = (i + 1) & (cap - 1);
	return &table[i];
}

static int grow(void)
{
	struct page *old = table;
	size_t i, old_cap = cap;

	cap = cap ? 2 * cap : 4096;
	table = calloc(cap, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (i = 0; i < old_cap; i++)
		if (old[i].used)
			*slot(old[i].pid, old[i].addr) = old[i];
	free(old);
	return 0;
}

static int add(uint32_t pid, const struct moca_access *a)
{
	struct page *p;

	if (2 * count >= cap && grow())
		return -ENOMEM;
	p = slot(pid, a->addr / PAGE * PAGE);
	if (!p->used) {
		p->used = 1;
		p->pid = pid;
		p->addr = a->addr / PAGE * PAGE;
		count++;
	}
	if (a->type == MOCA_ACCESS_WRITE)
		p->writes++;
	else
		p->reads++;
	p->last_ns = a->time_ns;
	return 0;
}

static int by_hits(const void *a, const void *b)
{
	const struct page *x = a, *y = b;
	uint64_t n = x->reads + x->writes, m = y->reads + y->writes;

	return n < m ? 1 : -(n > m);
}

/* Count every access of every task. 0 or -errno. */
static int read_all(struct moca_trace *t)
{
	const struct moca_task *task;
	const struct moca_chunk *c;
	struct moca_cursor *cur;
	struct moca_query q = { .size = sizeof(q), .one_task = 1 };
	size_t i, k;
	int ret = 0;

	for (i = 0; i < moca_trace_task_count(t) && !ret; i++) {
		task = moca_trace_task(t, i);
		q.task = task->id;
		ret = moca_cursor_open(&cur, t, &q);
		if (ret)
			return ret;
		while ((ret = moca_cursor_chunk(cur, &c)) > 0)
			for (k = 0; k < c->count; k++)
				if (add(task->pid, &c->accesses[k]))
					goto err_close;
		moca_cursor_close(cur);
	}
	return ret;
err_close:
	moca_cursor_close(cur);
	return -ENOMEM;
}

static void print(struct moca_trace *t, const struct page *p)
{
	const struct moca_mapping *m;

	m = moca_trace_find_mapping(t, p->pid, p->addr, p->last_ns);
	printf("%8" PRIu32 " 0x%012" PRIx64 " %10" PRIu64 " %10" PRIu64
	       "  %s\n", p->pid, p->addr, p->reads, p->writes,
	       m && m->name[0] ? m->name : "-");
}

int main(int argc, char **argv)
{
	struct moca_trace *t;
	size_t i;
	int ret;

	if (argc != 2) {
		fprintf(stderr, "usage: %s TRACE\n", argv[0]);
		return 2;
	}
	ret = moca_trace_open(&t, argv[1]);
	if (!ret) {
		ret = read_all(t);
		if (!ret) {
			printf("     pid           page      reads     writes"
			       "  mapping\n");
			if (count)
				qsort(table, cap, sizeof(*table), by_hits);
			for (i = 0; i < TOP && i < count; i++)
				print(t, &table[i]);
		}
		moca_trace_close(t);
	}
	free(table);
	if (ret)
		fprintf(stderr, "%s: %s: %s\n", argv[0], argv[1],
			strerror(-ret));
	return ret ? 1 : 0;
}
