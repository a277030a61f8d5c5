// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/launch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of the environment that are kept: a file of metadata has 1 MiB. */
#define ENV_MAX (256u << 10)

static const char *const input_names[] = { "none", "file", "other" };

/* --- writing -------------------------------------------------------------- */

static int add_all(struct moca_meta *m, const char *key, char *const *list)
{
	int err = 0;

	for (; !err && *list; list++)
		err = moca_meta_add(m, key, *list);
	return err;
}

static int add_env(struct moca_meta *m, char *const *env)
{
	size_t bytes = 0, i;

	for (i = 0; env && env[i]; i++)
		bytes += strlen(env[i]) + 8;
	if (!env || bytes > ENV_MAX)
		return moca_meta_set(m, "env_left_out", "1");
	return add_all(m, "env", env);
}

static int add_input(struct moca_meta *m)
{
	enum moca_launch_input kind = MOCA_LAUNCH_OTHER;
	char path[PATH_MAX];
	struct stat st;
	off_t offset;
	ssize_t n;
	int err;

	if (fstat(STDIN_FILENO, &st))
		return moca_meta_set(m, "input", "none");
	n = readlink("/proc/self/fd/0", path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	if (S_ISREG(st.st_mode) || !strcmp(path, "/dev/null"))
		kind = MOCA_LAUNCH_FILE;
	else if (isatty(STDIN_FILENO))
		strcpy(path, "a terminal");
	else
		strcpy(path, S_ISSOCK(st.st_mode) ? "a socket" :
			     S_ISFIFO(st.st_mode) ? "a pipe" : "a device");
	err = moca_meta_set(m, "input", "%s", input_names[kind]);
	if (!err)
		err = moca_meta_set(m, "input_name", "%s", path);
	offset = kind == MOCA_LAUNCH_FILE ?
			 lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
	if (!err && offset > 0)
		err = moca_meta_set(m, "input_offset", "%lld",
				    (long long)offset);
	return err;
}

int moca_launch_write(int dirfd, char *const *argv, char *const *env)
{
	struct moca_meta *m = moca_meta_new();
	char dir[PATH_MAX];
	int err;

	if (!m)
		return -ENOMEM;
	err = add_all(m, "arg", argv);
	if (!err && getcwd(dir, sizeof(dir)))
		err = moca_meta_set(m, "directory", "%s", dir);
	if (!err)
		err = add_input(m);
	if (!err)
		err = add_env(m, env);
	if (!err)
		err = moca_meta_write_as(m, dirfd, MOCA_LAUNCH_NAME);
	moca_meta_free(m);
	return err;
}

/* --- reading -------------------------------------------------------------- */

/* All values of the key, which stay the meta's. NULL: no memory. */
static char **list_of(const struct moca_meta *m, const char *key)
{
	size_t n = moca_meta_count(m), i, k = 0;
	char **list = calloc(n + 1, sizeof(*list));
	const char *value;

	for (i = 0; list && i < n; i++)
		if (!strcmp(moca_meta_line(m, i, &value), key))
			list[k++] = (char *)value;
	return list;
}

static int read_input(struct moca_launch *l)
{
	const char *kind = moca_meta_get(l->meta, "input");
	size_t i;

	l->input_name = moca_meta_get(l->meta, "input_name");
	l->input_offset = moca_meta_u64(l->meta, "input_offset", 0);
	for (i = 0; kind && i < sizeof(input_names) / sizeof(*input_names); i++)
		if (!strcmp(kind, input_names[i])) {
			l->input = (enum moca_launch_input)i;
			return i && !l->input_name ? -EBADMSG : 0;
		}
	return -EBADMSG;
}

int moca_launch_read(struct moca_launch *out, int dirfd)
{
	struct moca_launch l = { 0 };
	int err = moca_meta_read_as(&l.meta, dirfd, MOCA_LAUNCH_NAME);

	if (err)
		return err;
	l.argv = list_of(l.meta, "arg");
	l.env = list_of(l.meta, "env");
	l.dir = moca_meta_get(l.meta, "directory");
	l.env_left_out = moca_meta_u64(l.meta, "env_left_out", 0) == 1;
	if (!l.argv || !l.env)
		err = -ENOMEM;
	else if (!l.argv[0] ||
		 moca_meta_checked(l.meta) != MOCA_METADATA_VERIFIED)
		err = -EBADMSG;
	else
		err = read_input(&l);
	if (err)
		moca_launch_free(&l);
	else
		*out = l;
	return err;
}

void moca_launch_free(struct moca_launch *l)
{
	free(l->argv);
	free(l->env);
	moca_meta_free(l->meta);
	*l = (struct moca_launch){ 0 };
}

int moca_launch_check(int dirfd, const struct moca_meta *trace)
{
	struct moca_launch l;
	int err = moca_launch_read(&l, dirfd);

	if (!err)
		moca_launch_free(&l);
	return err == -ENOENT && !moca_meta_get(trace, "launch") ? 0 : err;
}
