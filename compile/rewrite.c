// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compile/asm.h"

int moca_asm_rewrite(const char *text, size_t len,
		     const struct asm_options *o, struct asm_stats *s,
		     char **out, size_t *out_len)
{
	struct asm_file f;
	FILE *stream;
	int err;

	memset(s, 0, sizeof(*s));
	*out = NULL;
	err = moca_asm_parse(&f, text, len);
	if (!err)
		err = moca_asm_list(&f, o);
	if (!err) {
		moca_asm_decode(&f);
		err = moca_asm_live(&f, o);
	}
	if (!err) {
		stream = open_memstream(out, out_len);
		err = stream ? moca_asm_emit(&f, o, s, stream) : -errno;
		if (stream && fclose(stream) && !err)
			err = -ENOMEM;
	}
	moca_asm_free(&f);
	if (err) {
		free(*out);
		*out = NULL;
	}
	return err;
}
