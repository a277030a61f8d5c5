// SPDX-License-Identifier: GPL-2.0-or-later
/* A program that has its own use for %gs: one object before, others after. */
#include <asm/prctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned long words[512] = { 41, 42, 43 };

static void touch(size_t size)
{
	char *volatile p = malloc(size);

	memset(p, 3, size);
	free(p);
}

int main(void)
{
	unsigned long word;

	touch(10000);
	if (syscall(SYS_arch_prctl, ARCH_SET_GS, words))
		return 1;
	touch(20000);
	__asm__ volatile("movq %%gs:8, %0" : "=r"(word));
	touch(30000);
	if (write(1, word == 42 ? "42\n" : "no\n", 3) != 3)
		return 2;
	_exit(0);
}
