// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_LEN 64

static const char *path_of(char path[PATH_LEN], pid_t pid, const char *what)
{
	if (pid)
		snprintf(path, PATH_LEN, "/proc/%d/%s", pid, what);
	else
		snprintf(path, PATH_LEN, "/proc/self/%s", what);
	return path;
}

int moca_proc_field(char *buf, size_t size, const char *path,
		    const char *field)
{
	char *line = NULL, *value;
	size_t room = 0, len = strlen(field);
	int err = -ENOENT;
	FILE *f = fopen(path, "re");

	*buf = 0;
	if (!f)
		return -errno;
	while (err && getline(&line, &room, f) > 0) {
		if (strncmp(line, field, len))
			continue;
		value = line + len;
		value += strspn(value, " \t:");
		len = strlen(value);
		while (len && strchr(" \t\n", value[len - 1]))
			value[--len] = 0;
		snprintf(buf, size, "%s", value);
		err = 0;
	}
	free(line);
	fclose(f);
	return err;
}

int moca_proc_status(char *buf, size_t size, pid_t pid, const char *field)
{
	char path[PATH_LEN];

	return moca_proc_field(buf, size, path_of(path, pid, "status"), field);
}

uint64_t moca_proc_number(pid_t pid, const char *field)
{
	char buf[64];

	return moca_proc_status(buf, sizeof(buf), pid, field) ?
		       0 : strtoull(buf, NULL, 10);
}

int moca_proc_numbers(pid_t pid, pid_t *last)
{
	char text[512], *p = text, *end;
	int count = 0;

	moca_proc_status(text, sizeof(text), pid, "NSpid:");
	for (;; p = end, count++) {
		long n = strtol(p, &end, 10);

		if (end == p)
			break;
		*last = (pid_t)n;
	}
	return count;
}

/* The begin of a file: its bytes, or -errno. */
static ssize_t read_file(pid_t pid, const char *what, void *to, size_t size)
{
	char path[PATH_LEN];
	ssize_t n, len = 0;
	int fd = open(path_of(path, pid, what), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	while ((n = read(fd, (char *)to + len, size - (size_t)len)) > 0)
		len += n;
	if (n < 0)
		len = -errno;
	close(fd);
	return len;
}

int moca_proc_stat(char *buf, size_t size, pid_t pid)
{
	char text[1024], *end;
	ssize_t n = read_file(pid, "stat", text, sizeof(text) - 1);

	*buf = 0;
	if (n < 0)
		return (int)n;
	text[n] = 0;
	end = strrchr(text, ')');
	if (!end || end[1] != ' ')
		return -EBADMSG;
	end[strcspn(end, "\n")] = 0;
	snprintf(buf, size, "%s", end + 2);
	return 0;
}

static int read_some(int fd, void *buf, size_t size)
{
	ssize_t n;

	do
		n = read(fd, buf, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (int)n;
}

static int parse_schedstat(char *text, ssize_t n, uint64_t *run_ns,
			   uint64_t *wait_ns)
{
	char *end;

	*run_ns = *wait_ns = 0;
	if (n < 0)
		return (int)n;
	text[n] = 0;
	*run_ns = strtoull(text, &end, 10);
	if (end != text && *end == ' ')
		*wait_ns = strtoull(end, NULL, 10);
	return *run_ns ? 0 : -ENODATA;
}

int moca_proc_schedstat(pid_t pid, pid_t tid, uint64_t *run_ns,
			uint64_t *wait_ns)
{
	char what[40], text[96];

	snprintf(what, sizeof(what), "task/%d/schedstat", tid);
	return parse_schedstat(text, read_file(pid, what, text,
					       sizeof(text) - 1),
			       run_ns, wait_ns);
}

int moca_proc_schedstat_of(int fd, uint64_t *run_ns, uint64_t *wait_ns)
{
	char text[96];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	return parse_schedstat(text, n < 0 ? -errno : n, run_ns, wait_ns);
}

int moca_proc_maps(struct moca_maps *m, pid_t pid, char *buf, size_t size)
{
	char path[PATH_LEN];

	*m = (struct moca_maps){ .read = read_some, .buf = buf, .size = size };
	m->fd = open(path_of(path, pid, "maps"), O_RDONLY | O_CLOEXEC);
	return m->fd < 0 ? -errno : 0;
}

int moca_proc_maps_again(struct moca_maps *m, int fd, char *buf, size_t size)
{
	*m = (struct moca_maps){
		.fd = fd, .read = read_some, .buf = buf, .size = size,
	};
	return lseek(fd, 0, SEEK_SET) ? -errno : 0;
}

int moca_proc_auxv(struct moca_auxv *aux, pid_t pid)
{
	ssize_t n;

	memset(aux, 0, sizeof(*aux));
	n = read_file(pid, "auxv", aux->words, 2 * MOCA_AUXV_MAX * sizeof(uint64_t));
	if (n >= 0)
		return 0;
	memset(aux, 0, sizeof(*aux));
	return (int)n;
}

uint64_t moca_auxv_value(const struct moca_auxv *aux, uint64_t type)
{
	for (const uint64_t *w = aux->words; *w; w += 2)
		if (*w == type)
			return w[1];
	return 0;
}
