// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/run/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/shell.h"

/* One that is not hidden by escapes, of a file system of that type. */
static int parse_mount(char *line, const char *type, struct cgroup_mount *m)
{
	char *dash = strstr(line, " - "), *at = line;
	int i;

	if (!dash || strncmp(dash + 3, type, strlen(type)) ||
	    dash[3 + strlen(type)] != ' ')
		return 0;
	*dash = 0;
	for (i = 0; i < 3; i++)
		strsep(&at, " ");
	m->root = strsep(&at, " ");
	m->point = strsep(&at, " ");
	return m->point && !strchr(m->root, '\\') && !strchr(m->point, '\\');
}

int cgroup_each_mount(int (*each)(void *arg, const struct cgroup_mount *m),
		      void *arg)
{
	static const char *const types[] = { "cgroup2", "cgroup" };
	struct cgroup_mount m;
	char *line = NULL;
	size_t size = 0;
	int ret = 0;

	for (size_t i = 0; i < 2 && !ret; i++) {
		FILE *f = fopen("/proc/self/mountinfo", "re");

		if (!f)
			return -errno;
		while (!ret && getline(&line, &size, f) > 0)
			if (parse_mount(line, types[i], &m))
				ret = each(arg, &m);
		fclose(f);
	}
	free(line);
	return ret;
}

char *cgroup_folder(const struct cgroup_mount *m, const char *path)
{
	size_t len = strlen(m->root);
	char *folder;

	/* Of a tree that begins above our namespace's nothing is known. */
	if (!strcmp(m->root, "/") || !strncmp(m->root, "/..", 3))
		len = 0;
	if (strncmp(path, m->root, len) || (len && path[len] && path[len] != '/'))
		return NULL;
	path += len;
	return asprintf(&folder, "%s%s%s", m->point,
			*path && *path != '/' ? "/" : "", path) < 0 ? NULL : folder;
}

struct freezer {
	const char *path;	/* of the cgroup below the mount */
	const char *file;	/* has a 1 where this cgroup itself is frozen */
	const char *thaw, *into;
	char *command;		/* what was found */
};

static int says_one(const char *folder, const char *file)
{
	char *name;
	FILE *f;
	int c;

	if (asprintf(&name, "%s/%s", folder, file) < 0)
		return 0;
	f = fopen(name, "re");
	free(name);
	if (!f)
		return 0;
	c = fgetc(f);
	fclose(f);
	return c == '1';
}

/* Whoever made the cgroup chose its name; the reader may be root. NULL: no memory. */
static char *thaw_command(const struct freezer *f, const char *folder)
{
	char *file, *command = NULL, *word;
	size_t size;
	int plain, n;

	if (asprintf(&file, "%s/%s", folder, f->into) < 0)
		return NULL;
	size = 4 * strlen(file) + 16;
	word = malloc(size);
	plain = moca_shell_is_plain(file) && !strchr(file, ' ');
	if (word && (plain || moca_shell_word(word, size, file)))
		n = asprintf(&command, "echo %s >%s", f->thaw,
			     plain ? file : word);
	else
		n = asprintf(&command, "echo %s into its %s", f->thaw, f->into);
	free(word);
	free(file);
	return n < 0 ? NULL : command;
}

/* The cgroup, or one above it that is mounted. */
static int look_frozen(void *arg, const struct cgroup_mount *m)
{
	char *folder, *slash;
	struct freezer *f = arg;
	size_t least = strlen(m->point);

	folder = cgroup_folder(m, f->path);
	while (folder && !f->command && strlen(folder) >= least) {
		if (says_one(folder, f->file))
			f->command = thaw_command(f, folder);
		slash = strrchr(folder, '/');
		*slash = 0;
	}
	free(folder);
	return f->command != NULL;
}

/* Of one line of /proc/PID/cgroup: "0::/path", "7:freezer:/path". */
static char *frozen_by_line(char *line)
{
	char *controllers = strchr(line, ':');
	char *path = controllers ? strchr(controllers + 1, ':') : NULL;
	struct freezer f = {
		.file = "cgroup.freeze", .thaw = "0", .into = "cgroup.freeze",
	};

	if (!path || path[1] != '/')
		return NULL;
	*path++ = 0;
	path[strcspn(path, "\n")] = 0;
	f.path = path;
	if (controllers[1]) {
		if (!strstr(controllers, "freezer"))
			return NULL;
		f.file = "freezer.self_freezing";
		f.thaw = "THAWED";
		f.into = "freezer.state";
	}
	cgroup_each_mount(look_frozen, &f);
	return f.command;
}

char *cgroup_frozen(pid_t pid)
{
	char name[64], *line = NULL, *found = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
	f = fopen(name, "re");
	if (!f)
		return NULL;
	while (!found && getline(&line, &size, f) > 0)
		found = frozen_by_line(line);
	free(line);
	fclose(f);
	return found;
}
