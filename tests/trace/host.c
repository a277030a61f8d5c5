// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: host PLUGIN... Threads that load a library, let it emit, unload it and
 * end. Nothing else here brings libmocatrace.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void *visit(void *arg)
{
	void (*call)(uint64_t from, uint64_t to);
	void *lib = dlopen(arg, RTLD_NOW);

	if (!lib) {
		fprintf(stderr, "host: %s\n", dlerror());
		return arg;
	}
	*(void **)&call = dlsym(lib, "plugin_emit");
	call(0, 10);
	dlclose(lib);
	return NULL;
}

int main(int argc, char **argv)
{
	int i, status, bad = 0;
	pthread_t t;
	void *ret;
	pid_t pid;

	for (i = 1; i < argc; i++) {
		if (pthread_create(&t, NULL, visit, argv[i]))
			return 1;
		pthread_join(t, &ret);
		bad |= ret != NULL;
		pid = fork();
		if (!pid)
			_exit(0);
		bad |= waitpid(pid, &status, 0) != pid || status;
	}
	return bad;
}
