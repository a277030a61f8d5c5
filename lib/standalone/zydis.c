// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Debian has no static library of Zydis. Moca has a linker for it, which lays
 * the shared one out inside programs (lib/code/zydis.h); the static moca has that
 * file within itself, and lays it out for its own use when it starts.
 */
#include "lib/code/zydis.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/code/embedded.h"
#include "lib/code/link.h"

#define CALLS 4

static const char *const names[CALLS] = {
	"ZydisDecoderInit", "ZydisDecoderDecodeFull",
	"ZydisDecoderDecodeInstruction", "ZydisGetVersion",
};

extern void *moca_standalone_calls[CALLS] __attribute__((visibility("hidden")));
void *moca_standalone_calls[CALLS];

static int write_all(int fd)
{
	const uint8_t *at = moca_embedded_zydis;
	ssize_t n;

	for (; at < moca_embedded_zydis_end; at += n > 0 ? n : 0) {
		n = write(fd, at, (size_t)(moca_embedded_zydis_end - at));
		if (n < 0 && errno != EINTR)
			return -errno;
		if (!n)
			return -ENOSPC;
	}
	return 0;
}

int moca_embedded_zydis_open(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	int fd = memfd_create("libZydis", MFD_CLOEXEC), err;
	struct sigaction was;

	if (fd < 0)
		return -1;
	/* A limit of the size of files (ulimit -f) counts for a memfd, too. */
	sigaction(SIGXFSZ, &ignore, &was);
	err = write_all(fd);
	sigaction(SIGXFSZ, &was, NULL);
	if (!err)
		return fd;
	close(fd);
	errno = -err;
	return -1;
}

static int problem;

static void failed(void)
{
	fprintf(stderr, "moca: the decoder of instructions, Zydis, which is a part "
		"of this file, cannot be laid out in memory: %s. Allow moca to "
		"execute a memfd (sysctl vm.memfd_noexec), or use a moca that "
		"is linked with libraries\n", strerror(problem));
	exit(1);
}

static void broken(void)
{
	abort();
}

/* Before main(): it has no threads yet. */
__attribute__((constructor)) static void lay_out(void)
{
	static struct moca_zydis z;
	struct moca_linked l;

	problem = -moca_zydis_open(&z);
	if (!problem && moca_link(&l, (uint64_t)z.base, broken))
		problem = ELIBBAD;
	for (size_t i = 0; i < CALLS; i++) {
		void *f = problem ? NULL : moca_link_find(&l, names[i]);

		if (!f && !problem)
			problem = ELIBBAD;
		moca_standalone_calls[i] = f ? f : (void *)failed;
	}
}
