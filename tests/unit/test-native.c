// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Page mode on native memory, without the kernel that it needs: how mappings differ
 * between two looks, and what the witness says of an interval.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "collect/native/collector.h"
#include "collect/native/record.h"
#include "collect/native/rwp.h"
#include "collect/native/witness.h"
#include "collect/run/pageset.h"

#include "tests/unit/trace-util.h"

#define PAGE 4096ul
#define MAPS 8

/* --- mappings ------------------------------------------------------------------- */

struct maps {
	struct vma v[MAPS];
	uint8_t states[MAPS];
	struct native_maps m;
};

static void add(struct maps *x, uint64_t start, uint64_t end, int prot,
		const char *name, uint64_t ino, uint64_t offset)
{
	size_t n = x->m.list.count++;

	x->v[n] = (struct vma){
		.start = start * PAGE, .end = end * PAGE, .prot = prot,
		.name = (char *)name, .ino = ino, .offset = offset * PAGE,
	};
	x->states[n] = ino ? NATIVE_REFUSED : NATIVE_PROTECTED;
	x->m.list.items = x->v;
	x->m.states = x->states;
}

struct told {
	char text[1024];
};

/* As "+START-END prot flags" and "-START-END", in pages; '!': its pages end. */
static void tell(void *arg, const struct moca_change *e, int ended)
{
	struct told *t = arg;
	size_t n = strlen(t->text);

	snprintf(t->text + n, sizeof(t->text) - n, "%c%lu-%lu%s%s%s ",
		 e->type == MOCA_CHANGE_MMAP ? '+' : '-', e->addr / PAGE,
		 (e->addr + e->len) / PAGE,
		 e->flags & MOCA_MAP_ZAPPED ? "z" : "",
		 e->flags & MOCA_MAP_FILE ? "f" : "", ended ? "!" : "");
	if (e->flags & MOCA_MAP_FILE)
		snprintf(t->text + strlen(t->text), 32, "@%lu ",
			 e->offset / PAGE);
}

static int differs(const struct maps *a, const struct maps *b, const char *want)
{
	struct told t = { "" };

	native_maps_differ(&a->m, &b->m, getpid(), tell, &t);
	if (!strcmp(t.text, want))
		return 0;
	printf("# %s, not %s\n", t.text, want);
	return 1;
}

static int t_differ(void)
{
	struct maps none = { 0 }, a = { 0 }, b = { 0 };

	add(&a, 16, 20, 3, "", 0, 0);
	add(&a, 20, 30, 1, "/lib/x.so", 7, 0);
	CHECK(!differs(&none, &none, ""));
	CHECK(!differs(&a, &a, ""));
	CHECK(!differs(&none, &a, "+16-20z +20-30f @0 "));
	CHECK(!differs(&a, &none, "-16-30! "));
	/* Grown at both ends, and the file's middle is gone. */
	add(&b, 14, 20, 3, "", 0, 0);
	add(&b, 20, 22, 1, "/lib/x.so", 7, 0);
	add(&b, 25, 30, 1, "/lib/x.so", 7, 5);
	CHECK(!differs(&a, &b, "+14-16z -22-25! "));
	CHECK(!differs(&b, &a, "-14-16! +22-25f @2 "));
	return 0;
}

/* Rights are no other mapping; another file, offset or name is. */
static int t_same(void)
{
	struct maps a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };

	add(&a, 16, 24, 3, "", 0, 0);
	add(&a, 32, 40, 1, "/f", 7, 0);
	add(&b, 16, 20, 1, "", 0, 0);
	add(&b, 20, 24, 3, "", 0, 0);
	add(&b, 32, 40, 1, "/f", 7, 1);
	CHECK(!differs(&a, &b, "+16-20z +32-40f! @1 "));
	add(&c, 16, 24, 3, "[heap]", 0, 0);
	add(&c, 32, 40, 1, "/f", 8, 0);
	CHECK(!differs(&a, &c, "+16-24z! +32-40f! @0 "));
	/* One that lies across what were two. */
	add(&d, 18, 36, 3, "", 0, 0);
	CHECK(!differs(&a, &d, "-16-18! +24-32z +32-36z! -36-40! "));
	return 0;
}

static int t_state(void)
{
	struct maps a = { 0 };

	add(&a, 16, 24, 3, "", 0, 0);
	add(&a, 32, 40, 1, "/f", 7, 0);
	CHECK(native_maps_state(&a.m, 16 * PAGE) == NATIVE_PROTECTED);
	CHECK(native_maps_state(&a.m, 24 * PAGE - 1) == NATIVE_PROTECTED);
	CHECK(native_maps_state(&a.m, 24 * PAGE) == NATIVE_UNKNOWN);
	CHECK(native_maps_state(&a.m, 39 * PAGE) == NATIVE_REFUSED);
	CHECK(native_maps_state(&a.m, 0) == NATIVE_UNKNOWN);
	return 0;
}

/* The supervisor has read the mappings, and not yet protected them. */
static int t_ready(void)
{
	struct maps a = { 0 };
	struct native_space s = { .ready = 0 };

	add(&a, 16, 24, 3, "", 0, 0);
	s.now.list = a.m.list;
	CHECK(native_space_state(&s, 16 * PAGE) == NATIVE_UNKNOWN);
	s.now.states = a.states;
	CHECK(native_space_state(&s, 16 * PAGE) == NATIVE_UNKNOWN);
	s.ready = 1;
	CHECK(native_space_state(&s, 16 * PAGE) == NATIVE_PROTECTED);
	CHECK(native_space_state(&s, 24 * PAGE) == NATIVE_UNKNOWN);
	return 0;
}

/* An open file of /proc is of the memory that the process had. */
static int t_again(void)
{
	struct vma_list l;
	char path[64];
	size_t first;
	pid_t pid = fork();
	int fd;

	if (!pid) {
		pause();
		_exit(0);
	}
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK(!maps_read_again(fd, &l));
	first = l.count;
	CHECK(first > 3);
	maps_free(&l);
	CHECK(!maps_read_again(fd, &l) && l.count == first);
	maps_free(&l);
	CHECK(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
	CHECK(maps_read_again(fd, &l) == -ESRCH && !l.count);
	close(fd);
	CHECK(maps_read_again(-1, &l) == -EBADF);
	return 0;
}

/* --- the witness ---------------------------------------------------------------- */

static uint64_t runs[16], run_count;

static void keep(void *arg, struct native_space *s, uint64_t start, uint64_t end)
{
	if (run_count + 2 <= 16) {
		runs[run_count++] = start / PAGE;
		runs[run_count++] = end / PAGE;
	}
}

static void sample(struct native_witness *w, struct native_space *s,
		   struct moca_certificate *k, uint64_t page)
{
	if (pageset_fault(s->pages, page * PAGE) == PAGE_TOUCHED) {
		k->pages_seen++;
		k->pages_touched++;
	}
	native_witness_sample(w, s, page * PAGE);
}

static int t_witness(void)
{
	struct native_witness w = { 0 };
	struct moca_certificate k = { 0 };
	struct native_space s = { .pages = pageset_new() };

	CHECK(s.pages);
	/* Pages 510 to 513 have samples, 514 and 516 have none. */
	for (uint64_t p = 510; p < 514; p++)
		sample(&w, &s, &k, p);
	native_witness_begin(&w);
	native_witness_look(&w, &s);
	native_witness_add(&w, &s, 510 * PAGE, 515 * PAGE);
	native_witness_add(&w, &s, 516 * PAGE, 517 * PAGE);
	/* What the kernel cannot mean. */
	native_witness_add(&w, &s, 5 * PAGE, 5 * PAGE);
	native_witness_add(&w, &s, 1ull << 47, (1ull << 47) + PAGE);
	native_witness_judge(&w, &k, keep, NULL);
	CHECK(w.touched == 6 && w.unseen == 2 && !w.lost);
	CHECK(run_count == 4 && runs[0] == 514 && runs[1] == 515 &&
	      runs[2] == 516 && runs[3] == 517);
	CHECK(k.pages_seen == 4 && k.pages_touched == 6);
	/* The next interval begins without samples: 510 was opened unseen. */
	native_witness_begin(&w);
	native_witness_look(&w, &s);
	native_witness_add(&w, &s, 510 * PAGE, 511 * PAGE);
	native_witness_judge(&w, &k, keep, NULL);
	CHECK(w.touched == 7 && w.unseen == 3);
	/* It was seen once: it is no page without a record. */
	CHECK(k.pages_touched == 6);
	native_witness_forget(&w, &s);
	CHECK(!w.unlooked);
	pageset_free(s.pages);
	native_witness_free(&w);
	return 0;
}

/* A sample that comes during a look is of the interval before it or behind it. */
static int t_late(void)
{
	struct native_witness w = { 0 };
	struct moca_certificate k = { 0 };
	struct native_space s = { .pages = pageset_new() };

	CHECK(s.pages);
	sample(&w, &s, &k, 1);
	native_witness_begin(&w);
	native_witness_look(&w, &s);
	native_witness_add(&w, &s, PAGE, 3 * PAGE);
	sample(&w, &s, &k, 2);
	native_witness_judge(&w, &k, keep, NULL);
	CHECK(w.touched == 2 && !w.unseen);
	/* It may be open since then: its touch in this interval has its sample. */
	native_witness_begin(&w);
	native_witness_look(&w, &s);
	native_witness_add(&w, &s, PAGE, 3 * PAGE);
	native_witness_judge(&w, &k, keep, NULL);
	CHECK(w.touched == 4 && w.unseen == 1);
	/* And in the one after that it has none. */
	native_witness_begin(&w);
	native_witness_look(&w, &s);
	native_witness_add(&w, &s, 2 * PAGE, 3 * PAGE);
	native_witness_judge(&w, &k, keep, NULL);
	CHECK(w.unseen == 2);
	/* What ends without a look is counted. */
	sample(&w, &s, &k, 9);
	native_witness_forget(&w, &s);
	CHECK(w.unlooked == 1);
	pageset_free(s.pages);
	native_witness_free(&w);
	return 0;
}

/* --- the kernel's part ----------------------------------------------------------- */

/* Where there is none it is said what is missing, and what to do. */
static int t_probe(void)
{
	struct moca_native_check c;

	moca_native_try(&c);
	CHECK(c.error == -rwp_probe());
	if (!c.error) {
		CHECK(rwp_price_ns() > 0);
		return 0;
	}
	CHECK(*c.why && c.fix && strstr(c.fix, "--via user"));
	CHECK(rwp_price_ns() == 0);
	return 0;
}

int main(void)
{
	run("native: mappings that differ", t_differ);
	run("native: what is the same mapping", t_same);
	run("native: what became of a mapping", t_state);
	run("native: mappings that are being read", t_ready);
	run("native: mappings of memory that is gone", t_again);
	run("native: the witness", t_witness);
	run("native: samples during a look", t_late);
	run("native: is it there", t_probe);
	return failures != 0;
}
