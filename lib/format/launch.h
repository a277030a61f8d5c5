/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How a recorded program was started, in the file `launch` of its trace: a list
 * of "key value" lines with a checksum, as metadata (meta.h). It holds the
 * environment, and is as private as the trace (0600); no report shows it.
 */
#ifndef MOCA_FORMAT_LAUNCH_H
#define MOCA_FORMAT_LAUNCH_H

#include <stdint.h>

#include "lib/format/meta.h"

#define MOCA_LAUNCH_NAME "launch"

enum moca_launch_input {
	MOCA_LAUNCH_NONE,	/* it had no standard input */
	MOCA_LAUNCH_FILE,	/* a regular file, or /dev/null */
	MOCA_LAUNCH_OTHER,	/* a terminal, a pipe, a socket */
};

struct moca_launch {
	char **argv;		/* until NULL; at least one */
	char **env;		/* "NAME=VALUE", until NULL */
	int env_left_out;	/* it was not kept, or too large; env is empty */
	const char *dir;	/* the working directory; NULL: not known */
	enum moca_launch_input input;
	const char *input_name;	/* its path; else what it was, for people */
	uint64_t input_offset;	/* of a file, where the program began to read */
	struct moca_meta *meta;	/* holds all of these */
};

/*
 * Write how this process would start argv: with env (NULL: not to be kept), in
 * its working directory, with its standard input. 0 or -errno.
 */
int moca_launch_write(int dirfd, char *const *argv, char *const *env);

/*
 * 0; -ENOENT: the trace has none (it is older, or was attached to); -EBADMSG: it
 * is damaged; -errno. Free it only if this returned 0.
 */
int moca_launch_read(struct moca_launch *out, int dirfd);
void moca_launch_free(struct moca_launch *l);
/* 0: the file is as the trace's metadata has it, or none is to be there; -errno as above. */
int moca_launch_check(int dirfd, const struct moca_meta *trace);

#endif
