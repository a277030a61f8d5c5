// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/record-own.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/run/own.h"
#include "collect/trace/shm.h"
#include "lib/ring/registry.h"

/* As built, and where `make install` puts them, seen from the tool. */
static void tell_libraries(void)
{
	static const char *const places[] = {
		"libmoca-alloc.so", "libmocatrace.so",
		"libmoca-place.so", "../lib/moca/libmoca-place.so",
		"../lib/moca/libmoca-alloc.so", "../" MOCA_LIBDIR "/libmocatrace.so.0",
		"cc/libmoca-count.so", "../lib/moca/cc/libmoca-count.so",
	};
	char exe[PATH_MAX / 2], path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	exe[n > 0 ? n : 0] = 0;
	slash = strrchr(exe, '/');
	if (!slash)
		return;
	*slash = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%s/%s", exe, places[i]);
		own_file(path);
	}
}

void record_own(void)
{
	char path[PATH_MAX], registry[PATH_MAX + 32];

	tell_libraries();
	tracer_shm_parent(path, sizeof(path));
	own_folder(path);
	if (moca_registry_dir(path, sizeof(path)))
		return;
	snprintf(registry, sizeof(registry), "%s/" MOCA_REGISTRY_FILE, path);
	own_file(registry);
}
