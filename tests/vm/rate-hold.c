// SPDX-License-Identifier: GPL-2.0-or-later
/* Holds the device as it is told, until it is killed. */
#include "tests/vm/rate.h"

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int fd = open(DEVICE, O_RDWR);
	void *p = NULL;

	if (fd < 0)
		give_up("open " DEVICE);
	if (!strcmp(how, "shared"))
		p = mmap(NULL, 128 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			 fd, 0);
	else if (!strcmp(how, "private"))
		p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd,
			 127 * 4096);
	else if (!strcmp(how, "notes"))
		p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 128 * 4096);
	if (p == MAP_FAILED)
		give_up("mmap");
	if (p) {
		close(fd);
		if (!strcmp(how, "private"))
			*(volatile char *)p = 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
