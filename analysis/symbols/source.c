// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading source files, with limits: paths and contents are not ours. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/symbols/source.h"
#include "analysis/symbols/tables.h"

#define SIZE_MAX_BYTES (16u << 20)

int add_token(struct source *s, enum token_kind kind, size_t at, size_t len,
	      uint32_t line, size_t line_begin)
{
	if (moca_vec_fit(s->tokens, s->room, s->count + 1))
		return -ENOMEM;
	s->tokens[s->count++] = (struct token){
		.at = (uint32_t)at, .len = (uint32_t)len, .line = line,
		.column = (uint32_t)(at - line_begin + 1), .kind = kind };
	return 0;
}

int token_is(const struct source *s, size_t i, const char *text)
{
	size_t len = strlen(text);
	const char *p;

	if (i >= s->count || s->tokens[i].len != len ||
	    s->tokens[i].kind == TOKEN_STRING)
		return 0;
	p = s->text + s->tokens[i].at;
	return s->fortran ? !strncasecmp(p, text, len) : !memcmp(p, text, len);
}

size_t source_line(const struct source *s, unsigned line)
{
	size_t lo = 0, hi = s->count, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (s->tokens[mid].line < line)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int source_has(const struct source *s, unsigned line, const char *path)
{
	char word[128];
	size_t n;

	path += strspn(path, "*");
	n = strcspn(path, ".-[(%:");
	if (n >= sizeof(word))
		return 0;
	memcpy(word, path, n);
	word[n] = '\0';
	for (size_t i = source_line(s, line);
	     i < s->count && s->tokens[i].line == line; i++)
		if (token_is(s, i, word))
			return 1;
	return 0;
}

/*
 * By its name: 1 C or C++, 2 Fortran, 3 Fortran in columns, 4 others, 0 none of
 * these.
 */
static int language(const char *path)
{
	static const struct {
		const char *ext;
		int language;
	} table[] = {
		{ "c", 1 }, { "cc", 1 }, { "cpp", 1 }, { "cxx", 1 },
		{ "C", 1 }, { "h", 1 }, { "hh", 1 }, { "hpp", 1 },
		{ "hxx", 1 }, { "H", 1 }, { "inc", 1 }, { "inl", 1 },
		{ "ipp", 1 }, { "tcc", 1 }, { "c++", 1 }, { "cu", 1 },
		{ "l", 1 }, { "y", 1 }, { "m", 1 }, { "mm", 1 },
		{ "f90", 2 }, { "F90", 2 }, { "f95", 2 }, { "F95", 2 },
		{ "f03", 2 }, { "F03", 2 }, { "f08", 2 }, { "F08", 2 },
		{ "f18", 2 }, { "F18", 2 },
		{ "f", 3 }, { "F", 3 }, { "for", 3 }, { "FOR", 3 },
		{ "f77", 3 }, { "F77", 3 }, { "ftn", 3 }, { "FTN", 3 },
		{ "rs", 4 }, { "go", 4 }, { "d", 4 }, { "zig", 4 },
		{ "swift", 4 }, { "adb", 4 }, { "ads", 4 }, { "pas", 4 },
		{ "ml", 4 }, { "hs", 4 }, { "nim", 4 }, { "v", 4 },
		{ "s", 4 }, { "S", 4 }, { "asm", 4 }, { "cl", 4 },
	};
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(dot + 1, table[i].ext))
			return table[i].language;
	return 0;
}

/* All of fd's text, with a NUL behind. 0 or -errno; -EINVAL: no text. */
static int read_text(struct source *s, int fd, const struct stat *st)
{
	size_t got = 0;
	ssize_t n;

	if (st->st_size < 0 || st->st_size > (off_t)SIZE_MAX_BYTES)
		return -EFBIG;
	s->mtime_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000u +
		      (uint64_t)st->st_mtim.tv_nsec;
	s->text = malloc((size_t)st->st_size + 1);
	if (!s->text)
		return -ENOMEM;
	while (got < (size_t)st->st_size) {
		n = read(fd, s->text + got, (size_t)st->st_size - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		got += (size_t)n;
	}
	s->text[got] = '\0';
	s->size = got;
	return memchr(s->text, '\0', got) ? -EINVAL : 0;
}

/*
 * Who named it may have made a link to what the user alone may read, and the text goes
 * into a page that is sent on.
 */
static int may_show(int fd, const struct stat *st)
{
	char self[32], path[PATH_MAX];
	ssize_t n;

	if (st->st_uid != geteuid() && !(st->st_mode & S_IROTH))
		return 0;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, path, sizeof(path) - 1);
	if (n < 0)
		return 0;
	path[n] = '\0';
	return language(path);
}

static int read_file(struct source *s)
{
	struct stat st;
	int fd = open_regular(s->path, &st), err;

	if (fd < 0)
		return fd;
	err = may_show(fd, &st) ? read_text(s, fd, &st) : -EACCES;
	close(fd);
	return err;
}

static int load(struct source *s)
{
	int kind = language(s->path), err;

	if (!kind || kind > 3)
		return -EINVAL;
	s->fortran = kind > 1;
	s->fixed = kind == 3;
	err = read_file(s);
	if (err < 0)
		return err;
	return s->fortran ? lex_fortran(s) : lex_c(s);
}

int moca_source_read(const char *path, char **text, uint64_t *mtime_ns)
{
	struct source s = { .path = (char *)(uintptr_t)path };
	int err = language(path) ? read_file(&s) : -EINVAL;

	if (err) {
		free(s.text);
		return err;
	}
	*text = s.text;
	*mtime_ns = s.mtime_ns;
	return 0;
}

const struct source *source_get(struct moca_symbols *symbols, const char *path)
{
	struct source *s;

	if (!path)
		return NULL;
	for (s = symbols->sources; s; s = s->next)
		if (!strcmp(s->path, path))
			return s->text ? s : NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->path = strdup(path);
	if (!s->path) {
		free(s);
		return NULL;
	}
	if (load(s) < 0) {
		free(s->text);
		free(s->tokens);
		s->text = NULL;
		s->tokens = NULL;
		s->count = 0;
	}
	s->next = symbols->sources;
	symbols->sources = s;
	return s->text ? s : NULL;
}

void sources_free(struct source *list)
{
	struct source *s;

	while ((s = list)) {
		list = s->next;
		free(s->path);
		free(s->text);
		free(s->tokens);
		free(s);
	}
}
