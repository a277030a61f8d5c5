// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/record-agent.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/record-unpack.h"
#include "lib/base/arch.h"
#include "lib/base/err.h"
#include "lib/code/embedded.h"
#include "lib/ring/meter.h"

#define LIBRARY "libmoca-alloc.so"
#define LOADER MOCA_LOADER_FOLDER MOCA_LOADER
#define NEEDED "libmocatrace.so.0"
#define ARG_MAX_NUMBER 5	/* the sixth integer argument is the last in a
				   register */

static int check_function(const char *option, const char *value)
{
	const char *colon = strrchr(value, ':');

	if (!colon || colon == value || strlen(value) > 200 ||
	    strchr(value, ';') || !isdigit((unsigned char)colon[1]) ||
	    colon[2] || colon[1] - '0' > ARG_MAX_NUMBER) {
		moca_error("%s %s: give NAME:ARG, the function's name as the "
			   "linker knows it and the number of the argument, "
			   "0 to %d", option, value, ARG_MAX_NUMBER);
		return -EINVAL;
	}
	return 0;
}

/* Of "1/N": log2 of N; -1: it is none. */
static int sampled_level(const char *how)
{
	unsigned long n;
	char *end;
	int level;

	if (strncmp(how, "1/", 2) || !isdigit((unsigned char)how[2]))
		return -1;
	n = strtoul(how + 2, &end, 10);
	for (level = 1; level <= (int)MOCA_THIN_MAX; level++)
		if (!*end && n == 1ul << level)
			return level;
	return -1;
}

static int check_how(const char *how)
{
	if (!how || !strcmp(how, "auto") || !strcmp(how, "full") ||
	    sampled_level(how) > 0)
		return 0;
	moca_error("--allocs %s: give auto (fewer are recorded one by one when that "
		   "costs more than the budget), full, or 1/N, of which N is a "
		   "power of two from 2 to %u", how, 1u << MOCA_THIN_MAX);
	return -EINVAL;
}

int agent_check(const struct agent_options *o)
{
	size_t i;

	if (check_how(o->allocs))
		return -EINVAL;
	for (i = 0; i < o->alloc_fns.count; i++)
		if (check_function("--alloc-fn", o->alloc_fns.items[i]))
			return -EINVAL;
	for (i = 0; i < o->free_fns.count; i++)
		if (check_function("--free-fn", o->free_fns.items[i]))
			return -EINVAL;
	return 0;
}

char *agent_library(const char *name, char folder[PATH_MAX])
{
	static const char *const places[] = { "", "../lib/moca/" };
	ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
	char *path, *real, *slash;
	size_t i;

	folder[n > 0 ? n : 0] = 0;
	slash = strrchr(folder, '/');
	if (slash)
		slash[1] = 0;
	for (i = 0; slash && i < sizeof(places) / sizeof(*places); i++) {
		if (asprintf(&path, "%s%s%s", folder, places[i], name) < 0)
			break;
		real = realpath(path, NULL);
		free(path);
		/* Blanks and colons part the entries of LD_PRELOAD. */
		if (real && !access(real, R_OK) && !strpbrk(real, " :;"))
			return real;
		free(real);
	}
	return NULL;
}

/* What a command that fails says, as much as fits; 0: it does not fail. */
static int failure_of(char *const argv[], char *text, size_t size)
{
	int fd = memfd_create("moca-agent", MFD_CLOEXEC), status = 0;
	posix_spawn_file_actions_t files;
	ssize_t n = 0;
	pid_t pid;

	if (fd < 0)
		return 0;
	if (posix_spawn_file_actions_init(&files))
		goto out;
	if (!posix_spawn_file_actions_adddup2(&files, fd, STDOUT_FILENO) &&
	    !posix_spawn_file_actions_adddup2(&files, fd, STDERR_FILENO) &&
	    !posix_spawn(&pid, argv[0], &files, NULL, argv, environ)) {
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		n = pread(fd, text, size - 1, 0);
	}
	posix_spawn_file_actions_destroy(&files);
out:
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return status;
}

/*
 * A library that is loaded first, and lacks one that it needs, keeps a program
 * from starting: so the loader is asked. Whether it finds the other.
 */
static int finds_needed(char *path)
{
	char text[4096];
	char *argv[] = { LOADER, "--list", path, NULL };

	return !failure_of(argv, text, sizeof(text)) || !strstr(text, NEEDED);
}

char *agent_find(void)
{
	char exe[PATH_MAX], *path;

	/* One file may lie anywhere: what lies beside it may be another's. */
	if (moca_embedded_alloc)
		return record_unpack();
	path = agent_library(LIBRARY, exe);
	if (path && finds_needed(path))
		return path;
	if (path) {
		moca_warn("programs cannot load %s: the loader finds no " NEEDED
			  ", which it needs. Allocations of programs that "
			  "are linked with libraries are not recorded, and "
			  "objects on their heaps have no names. Build or install "
			  "Moca as a whole, or say --no-allocs", path);
		free(path);
		return NULL;
	}
	moca_warn("cannot find " LIBRARY " in %s or %s../lib/moca: allocations "
		  "of programs that are linked with libraries are not "
		  "recorded, and objects on their heaps have no names. "
		  "Build or install Moca as a whole (in a folder without "
		  "blanks and colons in its name), or say --no-allocs", exe,
		  exe);
	return NULL;
}

/* How much the library may leave out. */
static void put_how(FILE *f, const struct agent_options *o)
{
	const char *how = o->allocs ? o->allocs : "auto";

	if (sampled_level(how) > 0)
		fprintf(f, "level=%d;", sampled_level(how));
	else if (!strcmp(how, "auto") && !isinf(o->budget))
		/* The other half is for faults and all else. */
		fprintf(f, "budget=%.0f;", ceil(o->budget * 1000 / 2));
}

char *agent_config(const struct agent_options *o)
{
	char *text = NULL;
	size_t size, i;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fprintf(f, "min=%" PRIu64 ";", o->min_size);
	put_how(f, o);
	for (i = 0; i < o->alloc_fns.count; i++)
		fprintf(f, "fn=%s;", o->alloc_fns.items[i]);
	for (i = 0; i < o->free_fns.count; i++)
		fprintf(f, "free=%s;", o->free_fns.items[i]);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}
