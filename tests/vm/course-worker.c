// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A worker as the course's handout describes it: MB R|L N. Registers through the
 * shell, takes memory, accesses it N times in each of 20 iterations, gives it
 * back, unregisters. Knows nothing of Moca.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define ITERATIONS 20
#define PAGE 4096ul

static void tell(char what)
{
	char command[100];

	sprintf(command, "echo '%c %d' > /proc/mp3/status", what, getpid());
	if (system(command))
		exit(1);
}

int main(int argc, char **argv)
{
	unsigned long bytes, n, at = 0, i, k;
	char *memory;

	if (argc != 4)
		return 2;
	bytes = strtoul(argv[1], NULL, 10) << 20;
	n = strtoul(argv[3], NULL, 10);
	tell('R');
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	for (i = 0; i < ITERATIONS; i++)
		for (k = 0; k < n; k++) {
			/* Near the last place, or anywhere. */
			if (argv[2][0] == 'L' && k % 100)
				at = (at + 64) % bytes;
			else
				at = (unsigned long)random() * PAGE % bytes;
			/* A store alone: one fault for a page. */
			memory[at] = (char)i;
		}
	munmap(memory, bytes);
	tell('U');
	return 0;
}
