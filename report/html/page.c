// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/html/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "report/html/template.h"

#define TITLE_MARK "<!--MOCA-TITLE-->"
#define DATA_MARK "<!--MOCA-DATA-->"
#define BLOB_HEAD "<script type=\"application/octet-stream\" id=\"moca-"

size_t moca_page_template_size(void)
{
	return (size_t)(moca_page_template_end - moca_page_template);
}

int moca_page_available(void)
{
	return moca_page_template_size() > 0;
}

/* --- blobs -------------------------------------------------------------- */

int moca_blob_pack(struct moca_blob *out, const char *name, const void *data,
		   size_t len)
{
	z_stream z = { 0 };
	size_t bound;
	int ret;

	memset(out, 0, sizeof(*out));
	snprintf(out->name, sizeof(out->name), "%s", name);
	out->plain = len;
	/* Raw, as the browser's DecompressionStream reads it. */
	if (len > UINT32_MAX / 2 ||
	    deflateInit2(&z, 6, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	bound = deflateBound(&z, len);
	out->packed = malloc(bound);
	if (!out->packed) {
		deflateEnd(&z);
		return -ENOMEM;
	}
	z.next_in = (Bytef *)(uintptr_t)data;
	z.avail_in = (uInt)len;
	z.next_out = out->packed;
	z.avail_out = (uInt)bound;
	ret = deflate(&z, Z_FINISH);
	out->len = bound - z.avail_out;
	deflateEnd(&z);
	if (ret == Z_STREAM_END)
		return 0;
	moca_blob_free(out);
	return -ENOMEM;
}

void moca_blob_free(struct moca_blob *b)
{
	free(b->packed);
	memset(b, 0, sizeof(*b));
}

size_t moca_blob_size(const struct moca_blob *b)
{
	return (b->len + 2) / 3 * 4 + sizeof(BLOB_HEAD) + sizeof(b->name) + 16;
}

/* --- the page ----------------------------------------------------------- */

static void write_base64(FILE *f, const uint8_t *p, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	char buf[4096];
	size_t n = 0;
	uint32_t v;

	for (; len; p += len < 3 ? len : 3, len -= len < 3 ? len : 3) {
		v = (uint32_t)p[0] << 16 | (len > 1 ? p[1] << 8 : 0) |
		    (len > 2 ? p[2] : 0);
		buf[n++] = digits[v >> 18];
		buf[n++] = digits[v >> 12 & 63];
		buf[n++] = len > 1 ? digits[v >> 6 & 63] : '=';
		buf[n++] = len > 2 ? digits[v & 63] : '=';
		if (n == sizeof(buf)) {
			fwrite(buf, 1, n, f);
			n = 0;
		}
	}
	fwrite(buf, 1, n, f);
}

/* Text for HTML, whatever it is: not ASCII or not printable is a blank. */
static void write_text(FILE *f, const char *s)
{
	for (; *s; s++) {
		if (*s == '&' || *s == '<' || *s == '>' || *s == '"' ||
		    *s == '\'')
			fprintf(f, "&#%d;", *s);
		else
			fputc(*s >= ' ' && *s <= '~' ? *s : ' ', f);
	}
}

int moca_page_write(FILE *f, const char *title, const struct moca_blob *blobs,
		    size_t count)
{
	const char *t = moca_page_template, *end = moca_page_template_end;
	const char *a, *b;
	size_t i;

	if (!moca_page_available())
		return -ENOENT;
	errno = 0;
	a = memmem(t, (size_t)(end - t), TITLE_MARK, strlen(TITLE_MARK));
	b = a ? memmem(a, (size_t)(end - a), DATA_MARK, strlen(DATA_MARK)) :
		NULL;
	if (!b)
		return -ENOENT;
	fwrite(t, 1, (size_t)(a - t), f);
	write_text(f, title);
	a += strlen(TITLE_MARK);
	fwrite(a, 1, (size_t)(b - a), f);
	for (i = 0; i < count; i++) {
		fprintf(f, "%s%s\">", BLOB_HEAD, blobs[i].name);
		write_base64(f, blobs[i].packed, blobs[i].len);
		fputs("</script>\n", f);
	}
	b += strlen(DATA_MARK);
	fwrite(b, 1, (size_t)(end - b), f);
	/* As the first write that failed has it. */
	return fflush(f) || ferror(f) ? -(errno ? errno : EIO) : 0;
}
