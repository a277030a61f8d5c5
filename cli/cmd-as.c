// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The assembler that compilers run below `moca cc`: rewrites what they wrote
 * (compile/), then runs the real one.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cc.h"
#include "cli/commands.h"
#include "compile/asm.h"
#include "lib/base/err.h"

extern char **environ;

static const char *const gap_names[ASM_GAP_COUNT] = { ASM_GAP_NAMES };

struct as_run {
	const char *as;
	char **options;		/* as, then all that is no input or output */
	char **rest;		/* the same and the output */
	const char *inputs[64];
	int ninputs;
	const char *name;
	int foreign;		/* not for x86-64 */
};

/*
 * The linker may not take loads from the GOT away that are counted; but it knows
 * this call, of -fno-plt, by a relocation that allows it to.
 */
static void keep_loads(struct as_run *r, const char *text)
{
	int n;

	if (strstr(text, "__tls_get_addr@GOTPCREL"))
		return;
	for (n = 0; r->options[n]; n++)
		;
	r->options[n] = (char *)"-mrelax-relocations=no";
	for (n = 0; r->rest[n]; n++)
		;
	r->rest[n] = (char *)"-mrelax-relocations=no";
}

static int has_value(const char *a)
{
	return !strcmp(a, "-I") || !strcmp(a, "--defsym") ||
	       !strcmp(a, "-MD") || !strcmp(a, "--MD") ||
	       !strcmp(a, "--debug-prefix-map") || !strcmp(a, "--hash-size");
}

static int parse(struct as_run *r, int argc, char **argv)
{
	int i, no = 0, nr = 0;

	r->options = calloc(argc + 3, sizeof(char *));
	r->rest = calloc(argc + 5, sizeof(char *));
	if (!r->options || !r->rest)
		return -ENOMEM;
	r->options[no++] = r->rest[nr++] = (char *)r->as;
	for (i = 1; i < argc; i++) {
		char *a = argv[i];

		r->foreign |= !strcmp(a, "--32") || !strcmp(a, "--x32");
		if (!strcmp(a, "-o") && i + 1 < argc) {
			r->rest[nr++] = a;
			r->rest[nr++] = argv[++i];
		} else if (has_value(a) && i + 1 < argc) {
			int dep = !strcmp(a, "-MD") || !strcmp(a, "--MD");

			r->rest[nr++] = a;
			r->rest[nr++] = argv[i + 1];
			if (!dep) {
				r->options[no++] = a;
				r->options[no++] = argv[i + 1];
			}
			i++;
		} else if (a[0] == '-' && a[1] && strcmp(a, "--")) {
			r->options[no++] = r->rest[nr++] = a;
		} else if (r->ninputs < 64) {
			r->inputs[r->ninputs++] = a;
		} else {
			return -E2BIG;
		}
	}
	if (!r->ninputs)
		r->inputs[r->ninputs++] = "-";
	r->name = r->inputs[0];
	return 0;
}

static int slurp(const struct as_run *r, char **text, size_t *len)
{
	FILE *out = open_memstream(text, len), *in;
	char buf[65536];
	size_t n;
	int i;

	if (!out)
		return -ENOMEM;
	for (i = 0; i < r->ninputs; i++) {
		int standard = !strcmp(r->inputs[i], "-");

		in = standard ? stdin : fopen(r->inputs[i], "re");
		if (!in) {
			i = -errno;
			fclose(out);
			return i;
		}
		while ((n = fread(buf, 1, sizeof(buf), in)) > 0)
			fwrite(buf, 1, n, out);
		if (!standard)
			fclose(in);
	}
	return fclose(out) ? -ENOMEM : 0;
}

/* The compiler's source, by its .file, rather than a temporary file's name. */
static char *source_name(const char *text)
{
	const char *p = strstr(text, "\t.file\t\"");
	size_t n;

	if (!p || p - text > 4096)
		return NULL;
	p += strlen("\t.file\t\"");
	n = strcspn(p, "\"\n");
	return p[n] == '"' && n ? strndup(p, n) : NULL;
}

static int run(char **argv)
{
	int status, err;
	pid_t pid;

	/* Ignored, no child would be there to be waited for. */
	signal(SIGCHLD, SIG_DFL);
	err = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
	if (err) {
		moca_error("cannot run the assembler %s: %s", argv[0],
			   strerror(err));
		return 1;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Assembles text from a file of its own. The assembler's exit code. */
static int assemble(const struct as_run *r, const char *text, size_t len,
		    int quiet)
{
	const char *tmp = getenv("TMPDIR");
	int n = 0, fd, ret, null = -1, err = -1;
	char path[4096];

	snprintf(path, sizeof(path), "%s/moca-as-XXXXXX.s",
		 tmp && *tmp ? tmp : "/tmp");
	fd = mkstemps(path, 2);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len) {
		moca_error("cannot write %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return 1;
	}
	close(fd);
	while (r->rest[n])
		n++;
	r->rest[n] = path;
	r->rest[n + 1] = NULL;
	if (quiet) {
		err = dup(2);
		null = open("/dev/null", O_WRONLY);
		dup2(null, 2);
	}
	ret = run(r->rest);
	if (quiet) {
		dup2(err, 2);
		close(err);
		close(null);
	}
	r->rest[n] = NULL;
	if (!getenv("MOCA_CC_KEEP"))
		unlink(path);
	return ret;
}

/* The source as it is; the program will tell that it is not counted. */
static int assemble_plain(const struct as_run *r, const char *text, size_t len,
			  const char *why)
{
	static const char format[] =
		"\n\t.section moca_gaps,\"a\",@progbits\n\t.balign 8\n"
		"\t.long %d,1\n\t.ascii \"%.55s\"\n\t.zero %d\n\t.zero 64\n";
	char base[56], *all;
	int n, ret, room = (int)sizeof(base) - 1;
	char *p;

	n = snprintf(base, sizeof(base), "%s", r->name);
	if (n > room)
		n = room;
	for (p = base; *p; p++)
		if (*p == '"' || *p == '\\' || *p < ' ')
			*p = '_';
	all = malloc(len + sizeof(format) + 128);
	if (!all)
		return 1;
	memcpy(all, text, len);
	n = sprintf(all + len, format, ASM_GAP_FILE, base, 56 - n);
	ret = assemble(r, all, len + n, 0);
	if (!ret)
		moca_warn("%s is not counted: %s", r->name, why);
	free(all);
	return ret;
}

static void tell(const struct as_run *r, const struct asm_stats *s)
{
	int i;

	for (i = 1; i < ASM_GAP_COUNT; i++)
		if (s->gaps[i])
			moca_warn("%s: not counted: %s, %llu times, the first: %s",
				  r->name, gap_names[i],
				  (unsigned long long)s->gaps[i], s->sample[i]);
	if (getenv(CC_ENV_VERBOSE))
		moca_say("%s: %llu instructions, %llu accesses in %llu groups, "
			 "%llu spills, %llu times flags", r->name,
			 (unsigned long long)s->insns,
			 (unsigned long long)s->accesses,
			 (unsigned long long)s->groups,
			 (unsigned long long)s->spills,
			 (unsigned long long)s->saves);
}

static int rewrite(const struct as_run *r, const char *text, size_t len)
{
	const char *granularity = getenv(CC_ENV_GRANULARITY);
	struct asm_options o = { .as = r->options, .name = r->name };
	struct asm_stats s;
	size_t out_len;
	char *out;
	int shift, err, ret;

	shift = granularity ? compile_shift(granularity) : 12;
	if (shift < 0) {
		moca_error("%s=%s: not a power of two from 64 to 4096",
			   CC_ENV_GRANULARITY, granularity);
		return 1;
	}
	o.shift = (unsigned int)shift;
	o.abi = getenv(CC_ENV_ABI) != NULL;
	err = moca_asm_rewrite(text, len, &o, &s, &out, &out_len);
	if (err)
		return assemble_plain(r, text, len, err == -ENOTSUP ?
				      "it uses subsections" : strerror(-err));
	ret = assemble(r, out, out_len, 1);
	if (ret && getenv(CC_ENV_VERBOSE))
		assemble(r, out, out_len, 0);
	free(out);
	if (ret)
		return assemble_plain(r, text, len,
				      "it does not assemble with what counts "
				      "put in");
	tell(r, &s);
	return 0;
}

/* As the compiler would find it, but for ourselves. */
static const char *real_as(void)
{
	const char *as = getenv(CC_ENV_AS);

	return as && *as ? as : "as";
}

int cmd_as(int argc, char **argv)
{
	struct as_run r = { .as = real_as() };
	char *text = NULL, *name = NULL;
	size_t len;
	int err, ret;

	err = parse(&r, argc, argv);
	if (argc == 2 && (!strcmp(argv[1], "--version") ||
			  !strcmp(argv[1], "--help"))) {
		argv[0] = (char *)r.as;
		return run(argv);
	}
	if (!err)
		err = slurp(&r, &text, &len);
	if (err) {
		moca_error("cannot read the assembly %s: %s",
			   r.name ? r.name : "", strerror(-err));
		return 1;
	}
	keep_loads(&r, text);
	name = source_name(text);
	if (name)
		r.name = name;
	if (r.foreign)
		ret = assemble_plain(&r, text, len, "it is not for x86-64");
	else
		ret = rewrite(&r, text, len);
	free(text);
	free(name);
	free(r.options);
	free(r.rest);
	return ret;
}
