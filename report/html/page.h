/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The HTML page: the template that report/web is built into, with data in it.
 * doc/design/report.md says what is in the data.
 */
#ifndef MOCA_REPORT_HTML_PAGE_H
#define MOCA_REPORT_HTML_PAGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Is the page there at all? Not when moca was built without npm. */
int moca_page_available(void);
/* Bytes of the page without data. */
size_t moca_page_template_size(void);

/* A piece of the page's data, packed (deflate, raw). */
struct moca_blob {
	char name[24];		/* the page asks for it by this name */
	uint8_t *packed;
	size_t len;		/* of packed */
	size_t plain;		/* bytes before */
};

/* Pack data under a name. 0 or -ENOMEM; free with moca_blob_free. */
int moca_blob_pack(struct moca_blob *out, const char *name, const void *data,
		   size_t len);
void moca_blob_free(struct moca_blob *b);
/* Bytes that it takes in the page. */
size_t moca_blob_size(const struct moca_blob *b);

/*
 * Write the page with these blobs; title is text. 0, -ENOENT (no page was
 * built in), or -errno of what f is written to (-ENOSPC: its disk is full).
 */
int moca_page_write(FILE *f, const char *title, const struct moca_blob *blobs,
		    size_t count);

#endif
