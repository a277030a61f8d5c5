// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A monitor as the course's handout describes it: maps 128 pages of the device
 * called "node", prints samples until it meets -1, and puts -1 where it read.
 * Knows nothing of Moca.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 128
#define LONGS (12000 * 4)

int main(void)
{
	size_t bytes = PAGES * (size_t)getpagesize();
	int fd = open("node", O_RDWR | O_SYNC), i = 0, n = 0;
	long *buffer;

	if (fd < 0) {
		perror("node");
		return 1;
	}
	buffer = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (buffer == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	/* It begins where an earlier one stopped. */
	while (i < LONGS && buffer[i] == -1)
		i++;
	i %= LONGS;
	while (buffer[i] != -1) {
		printf("%ld%c", buffer[i], ++n % 4 ? ' ' : '\n');
		buffer[i] = -1;
		i = (i + 1) % LONGS;
	}
	munmap(buffer, bytes);
	close(fd);
	return 0;
}
