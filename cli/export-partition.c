// SPDX-License-Identifier: GPL-2.0-or-later
/* --partition: each rank of a job in a folder of its own, named as Hive does. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace.h"
#include "cli/commands.h"
#include "cli/export.h"
#include "lib/base/err.h"
#include "lib/cmdline/unfinished.h"

static const char *const keys[] = { META_JOB, META_RANK };
#define KEYS (sizeof(keys) / sizeof(keys[0]))

int export_partition_refuse(const struct export *x)
{
	for (size_t i = 0; i < KEYS; i++)
		if (moca_trace_meta(x->t, keys[i]))
			return 0;
	moca_error("export: '--partition' needs a trace of a job's rank, and the metadata of '%s' has neither rank nor job (moca record below mpirun or srun writes them): leave the option out",
		   x->trace);
	return EXIT_USAGE;
}

/* What is no letter, digit, _ or - is %XX, as readers of such folders take it. */
static void put_value(FILE *f, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		    (c >= 'A' && c <= 'Z') || c == '_' || c == '-')
			putc(c, f);
		else
			fprintf(f, "%%%02X", c);
	}
}

/* Another rank's may be in it, or come to be. */
static int make_folder(const char *path)
{
	int err = unfinished_folder(path, 0700, 1);

	if (!err || err == -EEXIST)
		return 0;
	moca_error("export: cannot make the directory '%s': %s", path,
		   strerror(-err));
	return -1;
}

int export_partition(struct export *x)
{
	char *path = NULL;
	const char *value;
	size_t len, i;
	FILE *f = open_memstream(&path, &len);

	if (!f)
		goto err_memory;
	fputs(x->out, f);
	for (i = 0; i < KEYS; i++) {
		value = moca_trace_meta(x->t, keys[i]);
		if (!value)
			continue;
		/* All but the last are made here. */
		if (fflush(f))
			goto err_memory;
		if (make_folder(path)) {
			fclose(f);
			free(path);
			return -1;
		}
		fprintf(f, "/%s=", keys[i]);
		put_value(f, value);
	}
	if (fclose(f)) {
		f = NULL;
		goto err_memory;
	}
	x->out = x->partition_path = path;
	return 0;

err_memory:
	if (f)
		fclose(f);
	free(path);
	moca_error("export: cannot name the folder of a rank: %s (end other programs, or give this one more)",
		   strerror(ENOMEM));
	return -1;
}
