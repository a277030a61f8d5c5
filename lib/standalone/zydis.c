// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Debian has no static library of Zydis. Moca has a linker for it, which lays
 * the shared one out inside programs (lib/code/zydis.h); the static moca has that
 * file within itself, and lays it out for its own use when it starts.
 */
#include "lib/code/zydis.h"

#include <errno.h>
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

int moca_embedded_zydis_open(void)
{
	size_t len = (size_t)(moca_embedded_zydis_end - moca_embedded_zydis);
	int fd = memfd_create("libZydis", MFD_CLOEXEC);
	ssize_t n;

	for (size_t done = 0; fd >= 0 && done < len; done += (size_t)n) {
		n = write(fd, moca_embedded_zydis + done, len - done);
		if (n > 0)
			continue;
		close(fd);
		if (!n)
			errno = ENOSPC;
		return -1;
	}
	return fd;
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
