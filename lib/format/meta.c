// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/meta.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lib/base/bytes.h"
#include "lib/base/vec.h"
#include "lib/base/write.h"
#include "lib/format/chunk.h"

#define META_NAME "metadata"
#define META_FIRST "moca-trace "
#define META_MAX (1u << 20)
#define KEY_MAX 64
/*
 * The second line says that the last one is a checksum: so the loss of either
 * is no way to look like an old trace, which has neither.
 */
#define META_SUMMED "sums xxh64\n"
#define META_SUM "checksum "
#define META_SUM_LEN (sizeof(META_SUM) - 1 + 16 + 1)

struct entry {
	char *key;
	char *value;
};

struct moca_meta {
	struct entry *entries;
	size_t count;
	size_t cap;
	enum moca_metadata checked;	/* how the file was that it is from */
};

struct moca_meta *moca_meta_new(void)
{
	return calloc(1, sizeof(struct moca_meta));
}

void moca_meta_free(struct moca_meta *m)
{
	size_t i;

	if (!m)
		return;
	for (i = 0; i < m->count; i++) {
		free(m->entries[i].key);
		free(m->entries[i].value);
	}
	free(m->entries);
	free(m);
}

static int key_is_valid(const char *key)
{
	size_t n = strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_.");

	return n && n <= KEY_MAX && !key[n];
}

static struct entry *find(const struct moca_meta *m, const char *key,
			  unsigned n)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		if (!strcmp(m->entries[i].key, key) && !n--)
			return &m->entries[i];
	return NULL;
}

int moca_meta_add(struct moca_meta *m, const char *key, const char *value)
{
	struct entry e;

	if (!key_is_valid(key))
		return -EINVAL;
	if (moca_vec_fit(m->entries, m->cap, m->count + 1))
		return -ENOMEM;
	e.key = strdup(key);
	e.value = strdup(value);
	if (!e.key || !e.value) {
		free(e.key);
		free(e.value);
		return -ENOMEM;
	}
	m->entries[m->count++] = e;
	return 0;
}

int moca_meta_add_loss(struct moca_meta *m, const char *text)
{
	int err = moca_meta_add(m, "note", text);

	return err ? err : moca_meta_add(m, "loss", text);
}

int moca_meta_set(struct moca_meta *m, const char *key, const char *fmt, ...)
{
	struct entry *e;
	char *value;
	va_list ap;
	int ret;

	if (!key_is_valid(key))
		return -EINVAL;
	va_start(ap, fmt);
	ret = vasprintf(&value, fmt, ap);
	va_end(ap);
	if (ret < 0)
		return -ENOMEM;
	e = find(m, key, 0);
	if (e) {
		free(e->value);
		e->value = value;
		return 0;
	}
	ret = moca_meta_add(m, key, value);
	free(value);
	return ret;
}

void moca_meta_unset(struct moca_meta *m, const char *key)
{
	struct entry *e;

	while ((e = find(m, key, 0))) {
		free(e->key);
		free(e->value);
		m->count--;
		memmove(e, e + 1,
			(size_t)(m->entries + m->count - e) * sizeof(*e));
	}
}

enum moca_metadata moca_meta_checked(const struct moca_meta *m)
{
	return m->checked;
}

const char *moca_meta_nth(const struct moca_meta *m, const char *key,
			  unsigned n)
{
	const struct entry *e = find(m, key, n);

	return e ? e->value : NULL;
}

const char *moca_meta_get(const struct moca_meta *m, const char *key)
{
	return moca_meta_nth(m, key, 0);
}

size_t moca_meta_count(const struct moca_meta *m)
{
	return m->count;
}

const char *moca_meta_line(const struct moca_meta *m, size_t i,
			   const char **value)
{
	*value = m->entries[i].value;
	return m->entries[i].key;
}

uint64_t moca_meta_u64(const struct moca_meta *m, const char *key,
		       uint64_t dflt)
{
	const char *s = moca_meta_get(m, key);
	uint64_t v = 0;

	if (!s || !*s)
		return dflt;
	for (; *s; s++) {
		if (*s < '0' || *s > '9' ||
		    __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			return dflt;
	}
	return v;
}

static int put_line(struct moca_buf *b, const struct entry *e)
{
	size_t len = strlen(e->value);
	const char *s;
	int n;

	if (moca_buf_reserve(b, KEY_MAX + 3 + 2 * len))
		return -ENOMEM;
	n = sprintf((char *)b->data + b->len, "%s ", e->key);
	b->len += (size_t)n;
	for (s = e->value; *s; s++) {
		if (*s == '\n' || *s == '\\')
			b->data[b->len++] = '\\';
		b->data[b->len++] = *s == '\n' ? 'n' : (uint8_t)*s;
	}
	b->data[b->len++] = '\n';
	return 0;
}

static int put_sum(struct moca_buf *b)
{
	uint64_t sum = XXH64(b->data, b->len, 0);

	if (moca_buf_reserve(b, META_SUM_LEN + 1))
		return -ENOMEM;
	b->len += (size_t)sprintf((char *)b->data + b->len,
				  META_SUM "%016" PRIx64 "\n", sum);
	return 0;
}

int moca_meta_write_as(const struct moca_meta *m, int dirfd, const char *name)
{
	struct moca_buf b = { 0 };
	char tmp[64];
	int fd, ret;
	size_t i;

	if (moca_buf_reserve(&b, 64))
		return -ENOMEM;
	b.len = (size_t)sprintf((char *)b.data,
				META_FIRST "%d\n" META_SUMMED,
				MOCA_FORMAT_VERSION);
	for (i = 0, ret = 0; i < m->count && !ret; i++)
		ret = put_line(&b, &m->entries[i]);
	if (!ret)
		ret = put_sum(&b);
	if (!ret && b.len > META_MAX)
		ret = -E2BIG;
	if (ret)
		goto err_free;
	snprintf(tmp, sizeof(tmp), "%s.tmp", name);
	/* What a recorder that died left behind. */
	unlinkat(dirfd, tmp, 0);
	fd = openat(dirfd, tmp,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		ret = -errno;
		goto err_free;
	}
	ret = moca_write_all(fd, b.data, b.len);
	if (close(fd) < 0 && !ret)
		ret = -errno;
	if (!ret && renameat(dirfd, tmp, dirfd, name) < 0)
		ret = -errno;
	if (ret)
		unlinkat(dirfd, tmp, 0);
err_free:
	moca_buf_free(&b);
	return ret;
}

int moca_meta_write(const struct moca_meta *m, int dirfd)
{
	return moca_meta_write_as(m, dirfd, META_NAME);
}

/* Undo the escapes in place; -EBADMSG for unknown ones. */
static int unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (*s != '\\') {
			*to++ = *s;
			continue;
		}
		s++;
		if (*s != 'n' && *s != '\\')
			return -EBADMSG;
		*to++ = *s == 'n' ? '\n' : '\\';
	}
	*to = 0;
	return 0;
}

/* The line of the checksum at the end, or NULL. */
static char *sum_line(char *text, size_t len)
{
	char *line = text + len - META_SUM_LEN;

	if (len < META_SUM_LEN + 1 || line[-1] != '\n' ||
	    strncmp(line, META_SUM, strlen(META_SUM)) ||
	    strspn(line + strlen(META_SUM), "0123456789abcdef") != 16)
		return NULL;
	return line;
}

/* Whether the text, which is whole lines, has and obeys its checksum. */
static enum moca_metadata check_sum(char *text, size_t len)
{
	const char *second = strchr(text, '\n') + 1;
	int said = !strncmp(second, META_SUMMED, strlen(META_SUMMED));
	char *line = sum_line(text, len);

	if (!line)
		return said ? MOCA_METADATA_DAMAGED :
			      MOCA_METADATA_UNVERIFIED;
	if (!said || strtoull(line + strlen(META_SUM), NULL, 16) !=
			     XXH64(text, (size_t)(line - text), 0))
		return MOCA_METADATA_DAMAGED;
	return MOCA_METADATA_VERIFIED;
}

/* Lines that are the file's own, and no keys. */
static int is_frame(const char *key)
{
	return !strcmp(key, "sums") || !strcmp(key, "checksum");
}

/* text is len bytes and a NUL after them. */
static int parse(struct moca_meta *m, char *text, size_t len)
{
	size_t first = strlen(META_FIRST);
	char *line, *next, *value;
	unsigned long version;
	int ret;

	if (memchr(text, 0, len) || !len || text[len - 1] != '\n' ||
	    strncmp(text, META_FIRST, first))
		return -EBADMSG;
	version = strtoul(text + first, &next, 10);
	if (next == text + first || *next != '\n' || !version)
		return -EBADMSG;
	if (version > MOCA_FORMAT_VERSION)
		return -EPROTO;
	m->checked = check_sum(text, len);
	for (line = next + 1; *line; line = next) {
		next = strchr(line, '\n');
		*next++ = 0;
		value = strchr(line, ' ');
		if (!value)
			return -EBADMSG;
		*value++ = 0;
		if (!key_is_valid(line) || unescape(value))
			return -EBADMSG;
		ret = is_frame(line) ? 0 : moca_meta_add(m, line, value);
		if (ret)
			return ret;
	}
	return 0;
}

static int read_file(int fd, struct moca_buf *b)
{
	ssize_t n;
	int ret;

	do {
		ret = moca_buf_reserve(b, 4097);
		if (ret)
			return ret;
		n = read(fd, b->data + b->len, b->cap - b->len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		b->len += (size_t)n;
		if (b->len > META_MAX)
			return -EBADMSG;
	} while (n);
	b->data[b->len] = 0;
	return 0;
}

int moca_meta_read_as(struct moca_meta **out, int dirfd, const char *name)
{
	struct moca_buf b = { 0 };
	struct moca_meta *m;
	struct stat st;
	int fd, ret;

	fd = openat(dirfd, name,
		    O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == ELOOP ? -EBADMSG : -errno;
	m = moca_meta_new();
	ret = m ? 0 : -ENOMEM;
	if (!ret && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
		ret = -EBADMSG;
	if (!ret)
		ret = read_file(fd, &b);
	if (!ret)
		ret = parse(m, (char *)b.data, b.len);
	moca_buf_free(&b);
	close(fd);
	if (ret) {
		moca_meta_free(m);
		return ret;
	}
	*out = m;
	return 0;
}

int moca_meta_read(struct moca_meta **out, int dirfd)
{
	return moca_meta_read_as(out, dirfd, META_NAME);
}
