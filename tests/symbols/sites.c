// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Allocations of all sizes from SIZE on, each in its own way. A comment
 * "NUMBER name type" says what is to be found for size SIZE + 8 * NUMBER.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 100000
#define N(i) ((size_t)SIZE + 8 * (i))

struct particle {
	double x, y, z;
	int kind;
};

struct grid {
	double *field;
	struct { float *f; } inner;
	struct grid *next;
	double (*rows)[64];
};

typedef double real;

struct grid *g, grids[4];
double **rows;
real *global;
void *keep[100];
int kept;

#define KEEP(p) (keep[kept++] = (p))
#define NEW(type, i) ((type *)malloc(N(i)))

void *xmalloc(size_t n)
{
	void *p = malloc(n);

	if (!p)
		abort();
	return p;
}

static void *get_memory(size_t n)
{
	void *mem = calloc(1, n);

	return mem;
}

static double *make_row(size_t n)
{
	return malloc(n);
}

static struct grid *grid_new(size_t i)
{
	struct grid *made = malloc(sizeof(*made));

	made->field = malloc(N(i));	/* 9 made->field double */
	return made;
}

static inline __attribute__((always_inline)) double *inlined(size_t n)
{
	return malloc(n);
}

static int make_matrix(int n, double **out)
{
	*out = malloc(N(n));	/* 27 matrix double */
	return *out == NULL;
}

static char *chunk;

/* More than a wrapper: it keeps what it gets. */
static void *pool_alloc(size_t i)
{
	if (!chunk)
		chunk = malloc(N(i));		/* 28 chunk char */
	return chunk;
}

struct block {
	struct block *next;
	size_t size;
};

static struct block *blocks;

/* It allocates for all that are to come. */
static void *arena_alloc(size_t i)
{
	struct block *fresh = malloc(N(i));	/* 30 fresh struct block */

	fresh->next = blocks;
	blocks = fresh;
	return memset(blocks + 1, 0, 8);
}

static int enlarge(void *array, size_t i)
{
	void **a = array, *more;

	more = realloc(*a, N(i));		/* 31 g->field double */
	if (!more)
		return -1;
	*a = more;
	return 0;
}

/* A wrapper by what it does: it returns numbers, whoever's they are. */
static double *numbers_for(size_t n)
{
	double *values = malloc(n);

	if (!values)
		abort();
	return values;
}

/* Who makes a structure names it. */
static struct block *begin_list(size_t i)
{
	struct block *head = malloc(N(i));	/* 33 head struct block */

	head->next = NULL;
	return head;
}

#define MALLOC(p, n) do { p = malloc(n); } while (0)

static void many(void)
{
	char *s = "u = malloc(1);"; double *u = malloc(N(0)); /* 0 u double */
	double *a = malloc(N(1)), *b = malloc(N(2));	/* 1 a double */
							/* 2 b double */
	int *c = (int *)malloc(N(3));	/* d = malloc( */	/* 3 c int */
	double (*m)[64] = malloc(N(4));			/* 4 m double[64] */
	struct particle *part =				/* 5 part struct particle */
		(struct particle *)
		calloc(1, N(5));
	void *v = NULL, *w;
	char *t;
	double *matrix;
	FILE *f;

	if (posix_memalign((void **)&u, 64, N(6)))	/* 6 u double */
		abort();
	KEEP(u);
	if ((global = malloc(N(7))) == NULL)		/* 7 global real */
		abort();
	g = grid_new(9);
	grids[2].field = malloc(N(10));		/* 10 grids[].field double */
	g->inner.f = (float *) calloc(1, N(11)); /* 11 g->inner.f float */
	rows = malloc(N(12));				/* 12 rows double * */
	rows[3] = malloc(N(13));			/* 13 rows[] double */
	rows[4] = xmalloc(N(14));			/* 14 rows[] double */
	double *row = make_row(N(15));			/* 15 row double */
	g->rows = get_memory(N(16));		/* 16 g->rows double[64] */
	double *in = inlined(N(17));			/* 17 in double */
	v = realloc(v, N(18));				/* 18 v ? */
	(*g).next = NEW(struct grid, 19);	/* 19 g->next struct grid */
	w = kept ? aligned_alloc(64, N(20)) : NULL;	/* 20 w ? */
	t = strdup(memset(calloc(1, N(21) + 1), 'x', N(21)));
	KEEP(s); KEEP(u); KEEP(a); KEEP(b); KEEP(c); KEEP(m); KEEP(part);
	KEEP(v); KEEP(w); KEEP(t); KEEP(row); KEEP(in);
	f = fopen("/dev/null", "w");
	KEEP(f);
	if (make_matrix(27, &matrix))
		abort();
	KEEP(matrix);
	u = pool_alloc(28);
	KEEP(u);
	u = arena_alloc(30);
	KEEP(u);
	if (enlarge(&g->field, 31))
		abort();
	u = numbers_for(N(32));			/* 32 u double */
	KEEP(u);
	KEEP(begin_list(33));
	MALLOC(grids[1].inner.f, N(29));	/* 29 grids[].inner.f float */
}

static double *twice;

int main(void)
{
	double *restrict volatile q = malloc(N(22));	/* 22 q double */
	static int *numbers;

	many();
	numbers = malloc(N(23)); twice = malloc(N(24)); /* 23 numbers int */
							/* 24 twice double */
	KEEP(numbers);
	KEEP(q);
	KEEP(malloc(N(25)));				/* 25 main() ? */
	free(memset(malloc(N(26)), 0, 8));	/* 26 main() ? */
	return keep[7] == NULL || twice == NULL;
}
