// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/check-seal.h"

#include <stdio.h>
#include <string.h>

#include "lib/format/seal.h"
#include "lib/format/trace.h"
#include "lib/format/tried.h"
#include "lib/text/text.h"

static int differs(const char *what, uint64_t said, uint64_t found)
{
	char a[TEXT_MAX], b[TEXT_MAX];

	if (said == found)
		return 0;
	printf("contradiction: the recorder left %s %s, the directory holds %s\n",
	       text_count(a, said), what, text_count(b, found));
	return 1;
}

static int compare(const struct moca_trace *t, const struct moca_seal *said,
		   const struct moca_seal *found)
{
	int wrong = differs("files", said->files, found->files);

	wrong |= differs("chunks in them", said->chunks, found->chunks);
	wrong |= differs("bytes in them", said->bytes, found->bytes);
	if (!wrong && said->sum != found->sum) {
		puts("contradiction: the files are not those that the recorder left: some are of another trace, or changed");
		wrong = 1;
	}
	/* Chunks of kinds that nothing here reads: of a newer Moca. */
	if (found->bad_payloads && !t->damage.chunks) {
		printf("damaged: %llu chunk%s with a wrong checksum\n",
		       (unsigned long long)found->bad_payloads,
		       PLURAL(found->bad_payloads));
		wrong = 1;
	}
	return wrong;
}

/* How the program was started: only moca try reads it. 1: it is damaged. */
static int check_launch(const struct moca_trace *t)
{
	int err = t->launch_error;

	if (!err)
		return 0;
	printf("damaged: the file launch (how the program was started): %s\n",
	       err == -EBADMSG ? "its checksum or its contents are wrong" :
				 strerror(-err));
	return 1;
}

/* What moca try left there: no part of the trace. 1: it is damaged. */
static int check_tried(struct moca_trace *t)
{
	struct moca_tried tried;
	int err = moca_tried_read(&tried, t->dirfd);

	if (!err)
		moca_tried_free(&tried);
	if (!err || err == -ENOENT)
		return 0;
	printf("damaged: the file tried (what moca try measured): %s\n",
	       err == -EBADMSG ? "its checksum or its contents are wrong" :
				 strerror(-err));
	return 1;
}

enum check_seal check_seal(struct moca_trace *t)
{
	struct moca_seal said, found;
	int has = moca_seal_get(&said, t->meta);
	int err, wrong = check_launch(t) | check_tried(t);

	switch (moca_trace_metadata(t)) {
	case MOCA_METADATA_DAMAGED:
		puts("damaged: the file metadata has a wrong checksum: nothing that it says can be relied on");
		return CHECK_SEAL_WRONG;
	case MOCA_METADATA_UNVERIFIED:
		puts("unverified: metadata without checksum (of an older Moca): a change in it, or a file that is missing, may not be noticed");
		return CHECK_SEAL_NONE;
	default:
		break;
	}
	if (wrong)
		return CHECK_SEAL_WRONG;
	if (moca_trace_truncated(t))
		return CHECK_SEAL_RIGHT;	/* what is there is told */
	if (!has) {
		puts("truncated: metadata does not say which files belong to it: the recorder did not end properly");
		return CHECK_SEAL_MISSING;
	}
	err = moca_seal_take(&found, t->dirfd, 1);
	if (err) {
		printf("damaged: the files cannot be read: %s\n",
		       strerror(-err));
		return CHECK_SEAL_WRONG;
	}
	return compare(t, &said, &found) ? CHECK_SEAL_WRONG : CHECK_SEAL_RIGHT;
}
