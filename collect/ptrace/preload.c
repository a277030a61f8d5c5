// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/preload.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/ptrace/tracee.h"
#include "collect/run/loads.h"
#include "collect/run/sanitizer.h"
#include "include/abi/agent.h"
#include "lib/base/proc.h"
#include "lib/code/symfile.h"

#define WORDS_MAX (1u << 20)	/* of arguments, environment, auxv: 8 MiB */
#define TEXT_MAX (1u << 14)	/* bytes of the environment that are read at once */

/* The vectors at the stack pointer of a new image. */
struct image {
	uint64_t sp;
	uint64_t *words;	/* argc, argv, 0, envp, 0, auxv */
	size_t count;
	size_t env;		/* index of the first of envp */
	size_t env_count;
	size_t aux;
	/* Of the environment, whose strings lie behind each other. */
	char text[TEXT_MAX];
	size_t text_len;
};

/* What is appended to them. */
struct strings {
	char *text;
	size_t len;
};

static int read_words(pid_t tid, struct image *im, size_t count)
{
	uint64_t *words;
	ssize_t n;

	if (count > WORDS_MAX)
		return -E2BIG;
	words = realloc(im->words, count * 8);
	if (!words)
		return -ENOMEM;
	im->words = words;
	/* Near the top of the stack there are fewer: a short read. */
	n = tracee_read(tid, im->sp + im->count * 8, words + im->count,
			(count - im->count) * 8);
	if (n < 0)
		return n;
	if (n < 8)
		return -EFAULT;
	im->count += n / 8;
	return 0;
}

/* The index behind the next 0 from i on, or -errno. */
static ssize_t find_end(pid_t tid, struct image *im, size_t i, size_t step)
{
	int err;

	for (;; i += step) {
		while (i + step > im->count) {
			err = read_words(tid, im, im->count + 4096);
			if (err)
				return err;
		}
		if (!im->words[i])
			return i + step;
	}
}

static int read_image(pid_t tid, uint64_t sp, struct image *im)
{
	ssize_t n;

	im->sp = sp;
	im->words = NULL;
	im->count = im->text_len = 0;
	n = read_words(tid, im, 512);
	if (n)
		return n;
	n = find_end(tid, im, 1, 1);
	if (n < 0)
		return n;
	im->env = n;
	n = find_end(tid, im, im->env, 1);
	if (n < 0)
		return n;
	im->aux = n;
	im->env_count = im->aux - 1 - im->env;
	n = find_end(tid, im, im->aux, 2);
	if (n < 0)
		return n;
	im->count = n;
	n = im->env_count ? tracee_read(tid, im->words[im->env], im->text,
					sizeof(im->text)) : 0;
	im->text_len = n > 0 ? n : 0;
	return 0;
}

static uint64_t auxv(const struct image *im, uint64_t type)
{
	size_t i;

	for (i = im->aux; i + 1 < im->count; i += 2)
		if (im->words[i] == type)
			return im->words[i + 1];
	return 0;
}

/* The entry of a variable in the environment; env_count: it is not there. */
static size_t find_variable(pid_t tid, const struct image *im,
			    const char *name)
{
	size_t len = strlen(name), i;
	char buf[64];

	for (i = 0; i < im->env_count; i++) {
		uint64_t addr = im->words[im->env + i];
		uint64_t at = addr - im->words[im->env];
		const char *s = im->text + at;

		if (at >= im->text_len || im->text_len - at <= len) {
			s = buf;
			if (tracee_read(tid, addr, buf, len + 1) !=
			    (ssize_t)len + 1)
				continue;
		}
		if (!memcmp(s, name, len) && s[len] == '=')
			break;
	}
	return i;
}

/* A string of the program's; NULL: too long, or no memory. */
static char *read_string(pid_t tid, uint64_t addr)
{
	size_t room = 4096, len = 0;
	char *s = NULL, *p;
	ssize_t n;

	for (; room <= 1u << 20; room *= 2) {
		p = realloc(s, room);
		if (!p)
			break;
		s = p;
		n = tracee_read(tid, addr + len, s + len, room - len);
		if (n <= 0)
			break;
		if (memchr(s + len, 0, n))
			return s;
		len += n;
	}
	free(s);
	return NULL;
}

static const char *check_file(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", tid);
	return loads_refusal_of(path);
}

int preload_is_static(pid_t tid)
{
	return check_file(tid) == loads_static;
}

/* May any user read this file, and does it lie below folders so? */
static int is_public(const char *path)
{
	char part[4096];
	struct stat st;
	const char *p;

	if (stat(path, &st) || !(st.st_mode & S_IROTH))
		return 0;
	for (p = path + 1; (p = strchr(p, '/')); p++) {
		snprintf(part, sizeof(part), "%.*s", (int)(p - path), path);
		if (stat(part, &st) || !(st.st_mode & S_IXOTH))
			return 0;
	}
	return 1;
}

static int effective_uid(pid_t tid)
{
	char text[128];
	int uid = -1;

	moca_proc_status(text, sizeof(text), tid, "Uid:");
	return sscanf(text, "%*d %d", &uid) == 1 ? uid : -1;
}

/* Would the program's loader find and map the library? NULL, or why not. */
static const char *check_library(pid_t tid, const char *library)
{
	char path[4200];
	struct stat ours, theirs;
	struct statvfs fs;
	int uid = effective_uid(tid);

	snprintf(path, sizeof(path), "/proc/%d/root%s", tid, library);
	if (stat(library, &ours))
		return "libmoca-alloc.so is gone";
	if (stat(path, &theirs) || ours.st_dev != theirs.st_dev ||
	    ours.st_ino != theirs.st_ino)
		return "libmoca-alloc.so is not in its root directory";
	if (statvfs(path, &fs) || (fs.f_flag & ST_NOEXEC))
		return "libmoca-alloc.so lies where nothing may be executed";
	if (loads_is_limited(tid))
		return "it may have little memory only (ulimit -v or -d)";
	if (uid != 0 && uid != (int)geteuid() && !is_public(library))
		return "its user may not read libmoca-alloc.so";
	return NULL;
}

static int put_string(struct strings *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int put_string(struct strings *s, const char *fmt, ...)
{
	va_list ap;
	char *one, *p;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&one, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -ENOMEM;
	p = realloc(s->text, s->len + n + 1);
	if (!p) {
		free(one);
		return -ENOMEM;
	}
	memcpy(p + s->len, one, n + 1);
	s->text = p;
	s->len += n + 1;
	free(one);
	return 0;
}

static int write_back(pid_t tid, uint64_t addr, const void *buf, size_t len)
{
	struct iovec local = { (void *)buf, len };
	struct iovec remote = { (void *)addr, len };
	ssize_t n = process_vm_writev(tid, &local, 1, &remote, 1, 0);

	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EFAULT;
}

/* Room for struct moca_agent_quiet, behind all strings. */
static int put_quiet(struct strings *s)
{
	size_t at = (s->len + 15) & ~(size_t)15;
	size_t len = at + sizeof(struct moca_agent_quiet);
	struct moca_agent_quiet q = { .store[0].what = MOCA_AGENT_QUIET,
				      .store[1].what = MOCA_AGENT_QUIET };
	char *p = realloc(s->text, len);

	if (!p)
		return -ENOMEM;
	memset(p + s->len, 0, len - s->len);
	memcpy(p + at, &q, sizeof(q));
	s->text = p;
	s->len = len;
	return 0;
}

/*
 * The vectors move down, and the strings come between them and where they
 * ended. entries: index of envp (env_count and above: a new entry) and offset
 * of its string, n of them.
 */
static int rewrite(struct task *t, struct tracee_regs *regs,
		   const struct image *im, const struct strings *s,
		   const size_t entries[][2], size_t n)
{
	const size_t quiet = s->len - sizeof(struct moca_agent_quiet);
	uint64_t end = im->sp + im->count * 8, at, sp, *w;
	size_t extra = 0, i, env_end = im->env + im->env_count;
	int err;

	for (i = 0; i < n; i++)
		extra += entries[i][0] >= im->env_count;
	at = (end - s->len) & ~15ull;
	sp = (at - (im->count + extra) * 8) & ~15ull;
	w = calloc(im->count + extra, 8);
	if (!w)
		return -ENOMEM;
	memcpy(w, im->words, env_end * 8);
	memcpy(w + env_end + extra, im->words + env_end,
	       (im->count - env_end) * 8);
	for (i = 0; i < n; i++)
		w[im->env + entries[i][0]] = at + entries[i][1];
	err = write_back(t->tid, sp, w, (im->count + extra) * 8);
	if (!err)
		err = write_back(t->tid, at, s->text, s->len);
	free(w);
	if (err) {
		write_back(t->tid, im->sp, im->words, im->count * 8);
		return err;
	}
	regs->reg_sp = sp;
	if (t->space)
		t->space->quiet = at + quiet;
	return 0;
}

/* library: NULL = what is to be loaded is there already. */
static int extend(const struct recorder *rec, struct task *t,
		  struct tracee_regs *regs, const struct image *im,
		  const char *library)
{
	const struct moca_record_options *o = rec->opt;
	size_t own = find_variable(t->tid, im, "LD_PRELOAD");
	size_t next = im->env_count, n = 0, entries[2][2];
	struct strings s = { 0 };
	uint64_t orig = 0;
	char *list = NULL, hidden[32] = "";
	int err = -ENOMEM;

	if (library && own < im->env_count) {
		orig = im->words[im->env + own];
		list = read_string(t->tid, orig);
		if (!list)
			goto out;
		/* The user did it: the library is there, and stays visible. */
		if (strstr(list, library)) {
			err = 0;
			goto out;
		}
	}
	if (library) {
		entries[n][0] = list ? own : next++;
		entries[n++][1] = s.len;
		snprintf(hidden, sizeof(hidden), "orig=%" PRIx64 ";", orig);
		err = put_string(&s, "LD_PRELOAD=%s%s%s", library,
				 list ? ":" : "",
				 list ? list + strlen("LD_PRELOAD=") : "");
		if (err)
			goto out;
	}
	entries[n][0] = next++;
	entries[n++][1] = s.len;
	err = put_string(&s, "%s=%squiet=1;%s", MOCA_ALLOC_ENV,
			 o->preload_config ? o->preload_config : "", hidden);
	if (!err)
		err = put_quiet(&s);
	if (!err)
		err = rewrite(t, regs, im, &s, entries, n);
out:
	free(list);
	free(s.text);
	return err;
}

int preload_configure(const struct recorder *rec, struct task *t,
		      struct tracee_regs *regs)
{
	struct image im;
	int err = read_image(t->tid, regs->reg_sp, &im);

	if (!err)
		err = extend(rec, t, regs, &im, NULL);
	free(im.words);
	return err;
}

int preload_silence(struct task *t)
{
	struct moca_agent_quiet q;
	int done = 0;
	size_t i;

	if (!t->space || !t->space->quiet ||
	    tracee_read(t->tid, t->space->quiet, &q, sizeof(q)) != sizeof(q))
		return 0;
	for (i = 0; i < sizeof(q.store) / sizeof(*q.store); i++)
		if (q.store[i].where)
			done |= !write_back(t->tid, q.store[i].where,
					    &q.store[i].what, 8);
	t->space->quiet = 0;
	return done;
}

/* The value of a variable, to be freed; NULL: none. */
static char *variable(pid_t tid, const struct image *im, const char *name)
{
	size_t i = find_variable(tid, im, name);
	char *s;

	if (i == im->env_count)
		return NULL;
	s = read_string(tid, im->words[im->env + i]);
	if (s)
		memmove(s, s + strlen(name) + 1, strlen(s) - strlen(name));
	return s;
}

static int loads_sanitizer(pid_t tid, const struct image *im)
{
	char *list = variable(tid, im, "LD_PRELOAD");
	int yes = sanitizer_among(list) != NULL;

	free(list);
	return yes;
}

const char *preload_sanitizer(pid_t tid, uint64_t sp)
{
	struct moca_symfile f;
	const char *what = NULL;
	char path[64], *options;
	struct image im;

	snprintf(path, sizeof(path), "/proc/%d/exe", tid);
	if (!moca_symfile_open(&f, path)) {
		what = sanitizer_in(&f);
		moca_symfile_close(&f);
	}
	if (read_image(tid, sp, &im))
		goto out;
	if (!what && loads_sanitizer(tid, &im))
		what = "LD_PRELOAD";
	/* An allocator and shadow memory alone are no trouble. */
	options = variable(tid, &im, "ASAN_OPTIONS");
	if (what && strstr(what, "asan") && !strstr(what, "hwasan") && options &&
	    strstr(options, "detect_leaks=0"))
		what = NULL;
	free(options);
out:
	free(im.words);
	return what;
}

int preload_inject(const struct recorder *rec, struct task *t,
		   struct tracee_regs *regs, char why[PRELOAD_WHY_MAX])
{
	const char *reason = check_file(t->tid);
	struct image im;
	int err;

	if (!reason)
		reason = check_library(t->tid, rec->opt->preload);
	if (reason == loads_static)
		return PRELOAD_STATIC;
	if (reason)
		goto no;
	err = read_image(t->tid, regs->reg_sp, &im);
	if (!err && auxv(&im, AT_SECURE)) {
		reason = "it runs with another user's rights";
	} else if (!err && loads_sanitizer(t->tid, &im)) {
		reason = loads_sanitized;
	} else if (!err) {
		err = extend(rec, t, regs, &im, rec->opt->preload);
		if (!err)
			err = tracee_set_regs(t, regs);
		if (!err) {
			free(im.words);
			return 1;
		}
	}
	free(im.words);
	if (err == -ESRCH)
		return err;
	if (!reason) {
		snprintf(why, PRELOAD_WHY_MAX, "its environment could not be "
			 "extended: %s", strerror(-err));
		return 0;
	}
no:
	snprintf(why, PRELOAD_WHY_MAX, "%s", reason);
	return 0;
}
