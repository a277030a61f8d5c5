// SPDX-License-Identifier: GPL-2.0-or-later
/* Set keys of a trace's metadata: set-meta DIR KEY=VALUE... */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "lib/format/meta.h"

int main(int argc, char **argv)
{
	struct moca_meta *m;
	int fd, err;

	if (argc < 3)
		return 2;
	fd = open(argv[1], O_RDONLY | O_DIRECTORY);
	if (fd < 0 || moca_meta_read(&m, fd))
		return 1;
	for (int i = 2; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (!value)
			return 2;
		*value++ = 0;
		moca_meta_set(m, argv[i], "%s", value);
	}
	err = moca_meta_write(m, fd);
	moca_meta_free(m);
	if (err)
		fprintf(stderr, "set-meta: %s\n", strerror(-err));
	return err != 0;
}
