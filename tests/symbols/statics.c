// SPDX-License-Identifier: GPL-2.0-or-later
/* Static variables of C, shown with what moca is to call them. */
#include <stdint.h>
#include <stdio.h>

#include "show.h"

struct particle {
	double x, y, z;
	int kind;
};

typedef double real;
typedef real vec[16];
typedef struct {
	float re, im;
} complex_t;
enum color { RED, GREEN };

double u[1024][64];
static double zero[7];
int one = 1;
struct particle particles[10];
static vec vectors[5];
static complex_t plane[2][3][4];
const char *const words[] = { "a", "b" };
int (*handlers[3])(int);
enum color colors[9];
static union { long l; char c[24]; } either;
unsigned char *volatile bytes;
double (*rows[2])[64];
__thread int tls_first = 3;
static __thread double tls_table[4][2];
int aligned_one __attribute__((aligned(4096))) = 5;
double *heap;
extern int same_place __attribute__((alias("one")));
static struct {
	int count;
	double values[];
} flexible = { 3, { 1, 2, 3 } };

static int solve(int n)
{
	static double u2[8][8];
	static int calls;

	u2[n][n] = calls++;
	SHOW("u2", "double[8][8]", u2);
	SHOW("calls", "int", calls);
	{
		static uint16_t deep[3];

		deep[n]++;
		SHOW("deep", "uint16_t[3]", deep);
	}
	return (int)u2[1][1];
}

static inline int other(void)
{
	static int calls[2];	/* another one of that name */

	SHOW("calls", "int[2]", calls);
	return calls[1]++;
}

int main(int argc, char **argv)
{
	SHOW("u", "double[1024][64]", u);
	SHOW("zero", "double[7]", zero);
	SHOW("one", "int", one);
	SHOW("particles", "struct particle[10]", particles);
	SHOW("vectors", "real[5][16]", vectors);
	SHOW("plane", "complex_t[2][3][4]", plane);
	SHOW("words", "const char *[2]", words);
	SHOW("handlers", "int (*)()[3]", handlers);
	SHOW("colors", "enum color[9]", colors);
	SHOW("either", "union {...}", either);
	SHOW("bytes", "unsigned char *", bytes);
	SHOW("rows", "double (*)[64][2]", rows);
	SHOW_TLS("tls_first", "int", tls_first);
	SHOW_TLS("tls_table", "double[4][2]", tls_table);
	SHOW("aligned_one", "int", aligned_one);
	SHOW("heap", "double *", heap);
	show("flexible|struct {...}", &flexible, 32, 0);
	zero[argc] = tls_table[argc][0] = solve(argc);
	vectors[argc][0] = plane[argc][0][0].re = either.l;
	return other() + same_place == 12345;
}
