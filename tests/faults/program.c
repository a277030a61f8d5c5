// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * program [WAIT]: some of all that recording has to follow (memory, threads,
 * processes, exec), with a known result; exit code 7. WAIT: it begins when
 * there is a line on stdin, and says so first.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define PAGES 64

static unsigned char data[PAGES * PAGE];

static unsigned long sum(const unsigned char *p, size_t n)
{
	unsigned long s = 0;
	size_t i;

	for (i = 0; i < n; i += 64)
		s += p[i] * (i / 64 + 1);
	return s;
}

static void *worker(void *arg)
{
	unsigned char *p = malloc(PAGES * PAGE / 2);
	unsigned long s;

	memset(p, (int)(uintptr_t)arg, PAGES * PAGE / 2);
	s = sum(p, PAGES * PAGE / 2);
	free(p);
	return (void *)s;
}

static unsigned long threads(void)
{
	unsigned long s = 0;
	pthread_t t[3];
	void *one;
	int i;

	for (i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, worker, (void *)(i + 1l)))
			abort();
	for (i = 0; i < 3; i++) {
		pthread_join(t[i], &one);
		s += (unsigned long)one;
	}
	return s;
}

static unsigned long mappings(void)
{
	unsigned char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long s;

	memset(p, 5, PAGES * PAGE);
	mprotect(p, PAGE, PROT_READ);
	munmap(p + 32 * PAGE, 16 * PAGE);
	madvise(p + 8 * PAGE, 4 * PAGE, MADV_DONTNEED);
	s = sum(p, 32 * PAGE);
	munmap(p, PAGES * PAGE);
	return s;
}

/* Memory that stays, sealed where the kernel can (mseal) and has memory for it. */
static unsigned char *sealed(void)
{
	unsigned char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(p, 6, PAGES * PAGE);
	mprotect(p, 16 * PAGE, PROT_READ);
	syscall(462, p, 32 * PAGE, 0);
	return p;
}

/* Both sides write where the other must not see it. */
static unsigned long child(const char *self)
{
	unsigned char *p = sealed();
	pid_t pid = fork();
	int status;

	if (!pid) {
		memset(data, 9, sizeof(data) / 2);
		memset(p + 16 * PAGE, 9, PAGES / 2 * PAGE);
		_exit(sum(data, sizeof(data)) % 100);
	}
	data[0] = 3;
	p[24 * PAGE] = 3;
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status))
		return 0;
	pid = fork();
	if (!pid) {
		execl(self, self, "exec", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	return sum(data, sizeof(data)) + sum(p, PAGES * PAGE) +
	       WEXITSTATUS(status) * 1000000;
}

int main(int argc, char **argv)
{
	unsigned long a, b, c;
	char line[16];

	if (argc > 1 && !strcmp(argv[1], "exec"))
		return mappings() % 100;
	if (argc > 1) {
		puts("ready");
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			return 1;
	}
	memset(data, 1, sizeof(data));
	a = threads();
	b = mappings();
	c = child("/proc/self/exe");
	printf("%lu %lu %lu\n", a, b, c);
	return 7;
}
