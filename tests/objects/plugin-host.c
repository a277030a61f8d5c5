// SPDX-License-Identifier: GPL-2.0-or-later
#include <dlfcn.h>

#include "expect.h"

int main(int argc, char **argv)
{
	void *library = dlopen(argv[argc - 1], RTLD_NOW);
	void (*run)(void);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	run = (void (*)(void))dlsym(library, "plugin_run");
	run();
	dlclose(library);
	return 0;
}
