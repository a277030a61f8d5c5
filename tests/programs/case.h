/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program of named cases. `PROGRAM CASE` runs one. A case prints what it
 * computed, the same in every run; what it finds wrong itself ends it with
 * exit code 1 and a line on stderr.
 */
#ifndef MOCA_TESTS_CASE_H
#define MOCA_TESTS_CASE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul
#define MIB (1024ul * 1024)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
#define RW (PROT_READ | PROT_WRITE)

struct test_case {
	const char *name;
	void (*run)(void);
};

#define CHECK(cond)                                                          \
	do {                                                                 \
		if (!(cond)) {                                               \
			fprintf(stderr, "wrong: %s:%d: %s (errno %s)\n",     \
				__FILE__, __LINE__, #cond, strerror(errno)); \
			_exit(1);                                            \
		}                                                            \
	} while (0)

/* The kernel cannot do it here: the harness skips the case. */
#define UNSUPPORTED(what)                            \
	do {                                         \
		printf("unsupported: %s\n", what);   \
		fflush(stdout);                      \
		_exit(77);                           \
	} while (0)

static inline void *map_pages(size_t pages)
{
	void *p = mmap(NULL, pages * PAGE, RW, ANON, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

/* Write a value into every page that depends on the page and the seed. */
static inline void fill(void *p, size_t pages, uint64_t seed)
{
	for (size_t i = 0; i < pages; i++)
		*(volatile uint64_t *)((char *)p + i * PAGE + 8 * (i % 512)) =
			seed * 1000003 + i;
}

static inline int filled(const void *p, size_t pages, uint64_t seed)
{
	for (size_t i = 0; i < pages; i++)
		if (*(const volatile uint64_t *)((const char *)p + i * PAGE +
						 8 * (i % 512)) !=
		    seed * 1000003 + i)
			return 0;
	return 1;
}

static inline int zeroed(const void *p, size_t bytes)
{
	const volatile char *c = p;

	for (size_t i = 0; i < bytes; i++)
		if (c[i])
			return 0;
	return 1;
}

/* Sleep without signals' help; survives EINTR. */
void pause_ms(long ms);
/* Where $ATTACHED says that a recorder is about to attach to this process, wait until it
 * has (AWAIT_MS at most, as there are recorders without ptrace); else go on at once. */
void await_recorder(void);
/* Wait for pid, which must exit with code 0. */
void wait_ok(int pid);
/* Wait for pid, a child or clone of ours: its status, as of wait(2). */
int wait_for(int pid);
/* Print it: "WHAT: exit 3" or "WHAT: signal 11, core". */
void print_status(const char *what, int status);

/* Execute the same program for the case of this name. tests/house/names looks
 * for it in the program. */
void exec_case(const char *name) __attribute__((noreturn));

/* Run the case that argv[1] names; without it, list the cases on stderr and
 * return 2. Of a name that is no case's, one line says so. */
int cases_main(int argc, char **argv, const struct test_case *cases);

#endif
