// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/vdso.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "collect/ptrace/tracee.h"

uint64_t vdso_syscall(pid_t tid)
{
	static uint64_t cached;
	uint64_t aux[64 * 2], base = 0;
	static uint8_t text[1 << 14];
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, aux, sizeof(aux));
	close(fd);
	for (ssize_t i = 0; i + 1 < n / 8; i += 2)
		if (aux[i] == AT_SYSINFO_EHDR)
			base = aux[i + 1];
	if (!base || cached)
		return base ? base + cached : 0;
	for (uint64_t at = 0; at < sizeof(text); at += PAGE_SIZE)
		if (tracee_read(tid, base + at, text + at, PAGE_SIZE) !=
		    (ssize_t)PAGE_SIZE)
			break;
	for (uint64_t i = 0; i + 1 < sizeof(text); i++)
		if (text[i] == 0x0f && text[i + 1] == 0x05) {
			cached = i;
			return base + i;
		}
	return 0;
}
