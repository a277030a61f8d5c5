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
#include "collect/run/cgroup.h"
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

static int search_mount(void *arg, const struct cgroup_mount *m)
{
	struct search *s = arg;

	search_below(s, m->point, 0);
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
	ret = cgroup_each_mount(search_mount, &s);
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

static int look_below(void *arg, const struct cgroup_mount *m)
{
	struct below *b = arg;

	const struct cgroup_mount all = { m->point, "/" };
	const struct cgroup_mount *as[] = { m, &all };

	/* As it is named in /proc, or below this mount. */
	for (size_t i = 0; i < 2; i++) {
		b->found = cgroup_folder(as[i], b->path);
		if (b->found && is_cgroup(b->found))
			return 1;
		free(b->found);
		b->found = NULL;
	}
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
	ret = cgroup_each_mount(look_below, &b);
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
