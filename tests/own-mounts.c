// SPDX-License-Identifier: GPL-2.0-or-later
/* own-mounts COMMAND [ARGUMENT...]: run it in a mount namespace of its own. */
#include "own-mounts.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	if (argc < 2) {
		fputs("usage: own-mounts COMMAND [ARGUMENT...]\n", stderr);
		return 2;
	}
	if (own_mounts()) {
		perror("own-mounts: cannot make a mount namespace");
		return 98;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
