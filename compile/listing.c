// SPDX-License-Identifier: GPL-2.0-or-later
/* Which bytes the assembler makes of each statement, from its listing. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compile/asm.h"

extern char **environ;

/* One statement a line, so that the listing's numbers are ours. */
static int write_plain(struct asm_file *f, const char *path)
{
	FILE *out = fopen(path, "we");
	uint32_t line = 0;
	size_t i;

	if (!out)
		return -errno;
	for (i = 0; i < f->count; i++) {
		struct asm_stmt *s = &f->stmts[i];

		s->line = ++line;
		fprintf(out, "%s%s\n", s->text,
			s->kind == ASM_LABEL ? ":" : "");
	}
	i = ferror(out);
	return fclose(out) || i ? -EIO : 0;
}

/* Runs the assembler on src with its messages thrown away. */
static int assemble(char **as, char *src, char *object, char *listing)
{
	posix_spawn_file_actions_t fa;
	int err, n = 0, status, i = 0;
	char **argv;
	pid_t pid;

	while (as[n])
		n++;
	argv = calloc(n + 6, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	for (n = 0; as[n]; n++)
		if (strncmp(as[n], "-a", 2))
			argv[i++] = as[n];
	argv[i++] = listing;
	argv[i++] = (char *)"--listing-lhs-width=8";
	argv[i++] = (char *)"-o";
	argv[i++] = object;
	argv[i++] = src;
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0);
	err = posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	free(argv);
	if (err)
		return -err;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status ? -EINVAL : 0;
}

static int digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' :
	       tolower((unsigned char)c) - 'a' + 10;
}

/* "  12 0034 4889E5  \tsource": line, offset, bytes in groups. */
static void take_line(struct asm_file *f, const char *s, uint32_t *next)
{
	struct asm_stmt *stmt;
	unsigned long n;
	char *end;

	n = strtoul(s, &end, 10);
	if (end == s || *end != ' ' || n == 0 || n > f->count)
		return;
	/* Numbers are those of write_plain(): statement n is the n-th. */
	stmt = &f->stmts[n - 1];
	s = end + 1;
	if (stmt->kind != ASM_INSN || stmt->size || !isxdigit((unsigned char)*s))
		return;
	while (isxdigit((unsigned char)*s))
		s++;
	*next = (uint32_t)n;
	while (*s == ' ') {
		s++;
		while (isxdigit((unsigned char)s[0]) &&
		       isxdigit((unsigned char)s[1]) &&
		       stmt->size < sizeof(stmt->bytes)) {
			stmt->bytes[stmt->size++] =
				(uint8_t)(digit(s[0]) * 16 + digit(s[1]));
			s += 2;
		}
	}
}

int moca_asm_list(struct asm_file *f, const struct asm_options *o)
{
	const char *tmp = getenv("TMPDIR");
	char dir[4096], src[4128], object[4128], listing[4128];
	uint32_t last = 0;
	char *buf = NULL;
	size_t room = 0;
	FILE *in;
	int err;

	snprintf(dir, sizeof(dir), "%s/moca-as-XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return -errno;
	snprintf(src, sizeof(src), "%s/a.s", dir);
	snprintf(object, sizeof(object), "%s/a.o", dir);
	snprintf(listing, sizeof(listing), "-aln=%s/a.l", dir);
	err = write_plain(f, src);
	if (!err)
		err = assemble(o->as, src, object, listing);
	if (!err) {
		in = fopen(listing + 5, "re");
		err = in ? 0 : -errno;
		while (in && getline(&buf, &room, in) >= 0)
			take_line(f, buf, &last);
		free(buf);
		if (in)
			fclose(in);
	}
	unlink(src);
	unlink(object);
	unlink(listing + 5);
	rmdir(dir);
	return err;
}
