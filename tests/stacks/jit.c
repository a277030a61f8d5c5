// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes code while it runs, and names it as compilers do, for perf:
 *
 *	jit map		red() touches 300 pages, blue() 700: /tmp/perf-PID.map
 *	jit dump DIR	the same, at one address one after the other, and blue() 50 more
 *			after it has been moved: DIR/jit-PID.dump
 *	jit arch DIR	the same with times of the CPU's own
 *	jit wait FILE	as map, and wait until there is FILE
 *	jit drop	as map, as user 65534 without another program
 *
 * The number of its process is printed first.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096ul

typedef void touch(char *at, long pages);

/* push %rbp; mov %rsp,%rbp; 1: movb $1,(%rdi); add $4096,%rdi; dec %rsi; jne 1b;
 * pop %rbp; ret */
static const uint8_t code[] = {
	0x55, 0x48, 0x89, 0xe5, 0xc6, 0x07, 0x01, 0x48, 0x81, 0xc7, 0x00, 0x10,
	0x00, 0x00, 0x48, 0xff, 0xce, 0x75, 0xf1, 0x5d, 0xc3,
};

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static char *get(size_t size, int prot)
{
	char *p = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

static int at_once;	/* memory for code is mapped as such */

/* In a page of its own. */
static char *make(void)
{
	char *p = get(PAGE, PROT_READ | PROT_WRITE | (at_once ? PROT_EXEC : 0));

	memcpy(p, code, sizeof(code));
	if (mprotect(p, PAGE, PROT_READ | PROT_EXEC))
		die("mprotect");
	return p;
}

static __attribute__((noinline)) void run(char *at, long pages)
{
	char *data = get((size_t)pages * PAGE, PROT_READ | PROT_WRITE);

	((touch *)(void *)at)(data, pages);
	/* So that the call is none of those that do not return here. */
	__asm__ volatile("" : : : "memory");
}

/* --- a map ---------------------------------------------------------------- */

static void by_map(void)
{
	char name[64], *red = make(), *blue = make();
	FILE *f;

	snprintf(name, sizeof(name), "/tmp/perf-%d.map", getpid());
	f = fopen(name, "w");
	if (!f)
		die(name);
	fprintf(f, "no line of a map\n%lx %zx red file.js:1\n",
		(unsigned long)red, sizeof(code));
	fprintf(f, "%lx %zx old\n0x%lx 0x%zx blue\n", (unsigned long)blue,
		sizeof(code), (unsigned long)blue, sizeof(code));
	if (fclose(f))
		die(name);
	run(red, 300);
	run(blue, 700);
}

/* --- a dump --------------------------------------------------------------- */

static int dump;

static void put(const void *data, size_t size)
{
	if (write(dump, data, size) != (ssize_t)size)
		die("write");
}

static void put32(uint32_t v)
{
	put(&v, sizeof(v));
}

static void put64(uint64_t v)
{
	put(&v, sizeof(v));
}

static void put_record(uint32_t id, size_t size)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	put32(id);
	put32((uint32_t)(16 + size));
	put64((uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec);
}

static void load(const char *name, const char *at, uint64_t index)
{
	put_record(0, 40 + strlen(name) + 1 + sizeof(code));
	put32((uint32_t)getpid());
	put32((uint32_t)getpid());
	put64((uintptr_t)at);
	put64((uintptr_t)at);
	put64(sizeof(code));
	put64(index);
	put(name, strlen(name) + 1);
	put(code, sizeof(code));
}

static void move(const char *from, const char *to, uint64_t index)
{
	put_record(1, 48);
	put32((uint32_t)getpid());
	put32((uint32_t)getpid());
	put64((uintptr_t)to);
	put64((uintptr_t)from);
	put64((uintptr_t)to);
	put64(sizeof(code));
	put64(index);
}

static void by_dump(const char *dir, int arch)
{
	char name[4096], *at = make(), *later = make();

	snprintf(name, sizeof(name), "%s/jit-%d.dump", dir, getpid());
	dump = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (dump < 0)
		die(name);
	put32(0x4a695444);
	put32(1);
	put32(40);
	put32(62);
	put32(0);
	put32((uint32_t)getpid());
	put64(0);
	put64(arch ? 1 : 0);
	/* So it is found. */
	if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump, 0) ==
	    MAP_FAILED)
		die("mmap of the dump");
	put_record(99, 4);	/* of a kind that nobody knows */
	put32(0);
	/* The same call: the addresses of both stacks are the same. */
	for (int i = 0; i < 2; i++) {
		load(i ? "blue" : "red", at, (uint64_t)i + 1);
		run(at, i ? 700 : 300);
	}
	move(at, later, 2);
	run(later, 50);
}

int main(int argc, char **argv)
{
	const struct timespec little = { 0, 10000000 };
	const char *how = argc > 1 ? argv[1] : "";

	printf("%d\n", getpid());
	fflush(stdout);
	at_once = !strcmp(how, "drop");
	if (at_once && (setgid(65534) || setuid(65534)))
		die("setuid");
	if (at_once || !strcmp(how, "map") || !strcmp(how, "wait"))
		by_map();
	else if (argc == 3 && (!strcmp(how, "dump") || !strcmp(how, "arch")))
		by_dump(argv[2], !strcmp(how, "arch"));
	else
		return 2;
	if (!strcmp(how, "wait"))
		while (access(argv[2], F_OK))
			nanosleep(&little, NULL);
	return 0;
}
