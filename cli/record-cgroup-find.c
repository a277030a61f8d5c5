// SPDX-License-Identifier: GPL-2.0-or-later
/* Which folder of /sys/fs/cgroup a cgroup or a container is. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/record-cgroup.h"
#include "lib/base/err.h"

/* Containers are not deeper, and a host has not more cgroups. */
#define DEEPEST 24
#define FOLDERS_MOST 200000
#define ID_MOST 128
#define HEX "0123456789abcdef"
/* Docker shows so many digits of 64; fewer are ambiguous soon. */
#define ID_DIGITS 12

struct search {
	const char *id;
	size_t folders;
	char *found;
	char *second;	/* the ID is ambiguous */
	int error;
};

static int is_cgroup(const char *path)
{
	char *file;
	int is;

	if (asprintf(&file, "%s/cgroup.procs", path) < 0)
		return 0;
	is = !access(file, F_OK);
	free(file);
	return is;
}

/* What container engines put around an ID. */
static int is_container(const char *name, const char *id)
{
	static const char *const before[] = {
		"docker-", "libpod-", "cri-containerd-", "crio-", "containerd-",
	};
	size_t len, i;

	for (i = 0; i < sizeof(before) / sizeof(*before); i++)
		if (!strncmp(name, before[i], strlen(before[i])))
			break;
	if (i < sizeof(before) / sizeof(*before))
		name += strlen(before[i]);
	len = strspn(name, HEX);
	return len >= ID_DIGITS && (!name[len] || !strcmp(name + len, ".scope")) &&
	       !strncmp(name, id, strlen(id));
}

static void search_below(struct search *s, const char *path, int depth)
{
	struct dirent *e;
	char *below;
	DIR *d;

	if (depth > DEEPEST || s->second || s->error)
		return;
	d = opendir(path);
	while (d && !s->second && !s->error && (e = readdir(d))) {
		if (e->d_type != DT_DIR || *e->d_name == '.')
			continue;
		if (s->folders++ > FOLDERS_MOST)
			s->error = -E2BIG;
		else if (asprintf(&below, "%s/%s", path, e->d_name) < 0)
			s->error = -ENOMEM;
		else if (!is_container(e->d_name, s->id)) {
			search_below(s, below, depth + 1);
			free(below);
		} else if (!s->found) {
			s->found = below;
		} else {
			s->second = below;
		}
	}
	if (d)
		closedir(d);
}

/* One that is not hidden by escapes, of a file system of that type. */
static int parse_mount(char *line, const char *type, const char **point)
{
	char *dash = strstr(line, " - "), *field = line, *end;
	int i;

	if (!dash || strncmp(dash + 3, type, strlen(type)) ||
	    dash[3 + strlen(type)] != ' ')
		return 0;
	for (i = 0; i < 4 && field; i++) {
		field = strchr(field, ' ');
		field += field != NULL;
	}
	end = field ? strchr(field, ' ') : NULL;
	if (!end || end > dash)
		return 0;
	*end = 0;
	*point = field;
	return !strchr(field, '\\');
}

/*
 * each() with each mount of cgroups, the unified ones first, until it returns
 * 1. 1, 0, or -errno.
 */
static int each_mount(int (*each)(void *arg, const char *point), void *arg)
{
	static const char *const types[] = { "cgroup2", "cgroup" };
	const char *point;
	char *line = NULL;
	size_t size = 0;
	int ret = 0;

	for (size_t i = 0; i < 2 && !ret; i++) {
		FILE *f = fopen("/proc/self/mountinfo", "re");

		if (!f)
			return -errno;
		while (!ret && getline(&line, &size, f) > 0)
			if (parse_mount(line, types[i], &point))
				ret = each(arg, point);
		fclose(f);
	}
	free(line);
	return ret;
}

static int search_mount(void *arg, const char *point)
{
	struct search *s = arg;

	search_below(s, point, 0);
	return s->error ? s->error : s->found != NULL;
}

static char *find_container(const char *id)
{
	struct search s = { .id = id };
	int ret;

	if (!*id || strlen(id) > ID_MOST || id[strspn(id, HEX)]) {
		moca_error("--container takes the ID of a container, hexadecimal digits as 'podman ps' and 'docker ps' show them (of a name: podman inspect --format '{{.Id}}' NAME); not %s",
			   *id ? id : "nothing");
		return NULL;
	}
	ret = each_mount(search_mount, &s);
	if (ret > 0 && !s.second)
		return s.found;
	if (s.second)
		moca_error("--container %s: two have such an ID, %s and %s: give more of its digits",
			   id, s.found, s.second);
	else if (ret < 0)
		moca_error("--container %s: cannot look for its cgroup: %s; name it with --cgroup",
			   id, strerror(-ret));
	else
		moca_error("--container %s: no cgroup has this ID; give 12 digits of it or more (podman ps, docker ps, crictl ps; of a name: podman inspect --format '{{.Id}}' NAME), or the cgroup itself with --cgroup",
			   id);
	free(s.found);
	free(s.second);
	return NULL;
}

struct below {
	const char *path;
	char *found;
};

static int look_below(void *arg, const char *point)
{
	struct below *b = arg;

	if (asprintf(&b->found, "%s%s%s", point, *b->path == '/' ? "" : "/",
		     b->path) < 0) {
		b->found = NULL;
		return -ENOMEM;
	}
	if (is_cgroup(b->found))
		return 1;
	free(b->found);
	b->found = NULL;
	return 0;
}

char *cgroup_find(const struct cgroup_options *g)
{
	struct below b = { g->path, NULL };
	char *path = NULL;
	int ret;

	if (g->container)
		return find_container(g->container);
	/* As a path below the mount it would be all that the machine runs. */
	if (!*g->path) {
		moca_error("--cgroup takes a cgroup, as /proc/PID/cgroup names it, or its folder; not nothing");
		return NULL;
	}
	if (is_cgroup(g->path)) {
		path = strdup(g->path);
		if (!path)
			moca_error("out of memory");
		return path;
	}
	ret = each_mount(look_below, &b);
	if (ret > 0)
		return b.found;
	if (ret < 0)
		moca_error("--cgroup %s: cannot look for it: %s", g->path,
			   strerror(-ret));
	else
		moca_error("--cgroup %s: there is no such cgroup, neither as a folder nor below /sys/fs/cgroup; /proc/PID/cgroup names that of a process",
			   g->path);
	return NULL;
}

/* --- who is frozen ------------------------------------------------------- */

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

/* The cgroup, or one above it. */
static int look_frozen(void *arg, const char *point)
{
	struct freezer *f = arg;
	size_t least = strlen(point);
	char *folder, *slash;

	if (asprintf(&folder, "%s%s", point, f->path) < 0)
		return 0;
	while (!f->command && strlen(folder) > least) {
		if (says_one(folder, f->file) &&
		    asprintf(&f->command, "echo %s >%s/%s", f->thaw, folder,
			     f->into) < 0)
			f->command = NULL;
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
	each_mount(look_frozen, &f);
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
