// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LD_PRELOAD=fail.so FAIL_CALL=malloc FAIL_AT=17 FAIL_COUNT=FILE moca record ...
 * The 17th malloc of moca's own code fails, counted over all its processes; the
 * programs that it runs are left alone. FILE holds a number: how many there were.
 * FAIL_FOR_GOOD=1: all from the 17th on.
 * FAIL_PLACE=HEX FAIL_AT=1: the first at this place: return addresses of the call,
 * its caller and the caller's caller, in moca's code, 21 bits each, or of so many as
 * FAIL_DEPTH says. FILE has the places, and how often each came, behind the number.
 *
 * Calls that libraries make are not counted: what a library does with a failure
 * is not Moca's.
 *
 * FAIL_CALL=gone, zombie or seized: no call fails, but the process that is the FAIL_ATth
 * to be seized ends: right before that, and its parent has seen it or has not; or
 * right behind it.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

static const char *wanted;		/* the call that fails; NULL = none */
static unsigned long fail_at;
static int for_good;
static unsigned long fail_place;	/* 0 = any */
static int place_bits;
static uintptr_t base, low, high;	/* moca, and its code */

/* FILE, which moca's processes share. */
static struct {
	_Atomic unsigned long calls;
	struct place {
		_Atomic unsigned long place, calls;
	} places[4096];
} *count;

static int find_code(struct dl_phdr_info *info, size_t size, void *arg)
{
	int i;

	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    info->dlpi_phdr[i].p_flags & PF_X) {
			base = info->dlpi_addr;
			low = base + info->dlpi_phdr[i].p_vaddr;
			high = low + info->dlpi_phdr[i].p_memsz;
		}
	return 1;	/* the first is the program */
}

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("FAIL_AT"), *path = getenv("FAIL_COUNT");
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	void *page;
	int fd;

	exe[n > 0 ? n : 0] = 0;
	if (!at || !path || !getenv("FAIL_CALL") ||
	    n < 5 || strcmp(exe + n - 5, "/moca"))
		return;
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*count)))
		_exit(99);
	page = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		_exit(99);
	count = page;
	fail_at = strtoul(at, NULL, 10);
	for_good = getenv("FAIL_FOR_GOOD") != NULL;
	dl_iterate_phdr(find_code, NULL);
	fail_place = strtoul(getenv("FAIL_PLACE") ?: "0", NULL, 16);
	place_bits = 21 * atoi(getenv("FAIL_DEPTH") ?: "3");
	wanted = strdup(getenv("FAIL_CALL"));
	unsetenv("LD_PRELOAD");
	unsetenv("FAIL_CALL");
	unsetenv("FAIL_AT");
	unsetenv("FAIL_COUNT");
	unsetenv("FAIL_FOR_GOOD");
	unsetenv("FAIL_PLACE");
	unsetenv("FAIL_DEPTH");
}

struct frames {
	unsigned long place;
	int bits;
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *arg)
{
	uintptr_t pc = _Unwind_GetIP(context);
	struct frames *f = arg;

	if (pc >= low && pc < high) {
		f->place |= ((pc - base) & 0x1fffff) << f->bits;
		f->bits += 21;
	}
	return f->bits >= place_bits ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* Where this call is made, and which number it has there. */
static unsigned long call_at(unsigned long *place)
{
	struct place *p = count->places, *end = p + sizeof(count->places) /
		sizeof(*p);
	struct frames f = { 0 };
	unsigned long is;

	_Unwind_Backtrace(add_frame, &f);
	*place = f.place;
	for (; p < end; p++) {
		is = 0;
		if (atomic_compare_exchange_strong(&p->place, &is, *place) ||
		    is == *place)
			return atomic_fetch_add(&p->calls, 1) + 1;
	}
	_exit(99);
}

static int fails(const char *call, void *from)
{
	uintptr_t pc = (uintptr_t)from;
	unsigned long place, n, there;

	if (!wanted || pc < low || pc >= high || strcmp(wanted, call))
		return 0;
	n = atomic_fetch_add(&count->calls, 1) + 1;
	there = call_at(&place);
	if (fail_place)
		return place == fail_place && there == fail_at;
	return n == fail_at || (for_good && fail_at && n > fail_at);
}

/* The function that this one hides. */
#define REAL(name) ({ \
	static __typeof__(&name) real; \
	if (!real) \
		real = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
	real; })
#define FAILS(call, error, value) do { \
	if (fails(call, __builtin_return_address(0))) { \
		errno = error; \
		return value; \
	} \
} while (0)

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

void *malloc(size_t size)
{
	FAILS("malloc", ENOMEM, NULL);
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	FAILS("malloc", ENOMEM, NULL);
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	FAILS("malloc", ENOMEM, NULL);
	return __libc_realloc(p, size);
}

char *strdup(const char *s)
{
	FAILS("malloc", ENOMEM, NULL);
	return REAL(strdup)(s);
}

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	FAILS("mmap", ENOMEM, MAP_FAILED);
	return REAL(mmap)(addr, len, prot, flags, fd, offset);
}

/* Pipes and eventfds do not run full. */
#define WRITE_FAILS(fd) do { \
	struct stat st; \
	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) \
		FAILS("write", ENOSPC, -1); \
} while (0)

ssize_t write(int fd, const void *data, size_t len)
{
	WRITE_FAILS(fd);
	return REAL(write)(fd, data, len);
}

ssize_t writev(int fd, const struct iovec *v, int n)
{
	WRITE_FAILS(fd);
	return REAL(writev)(fd, v, n);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
	WRITE_FAILS(fd);
	return REAL(pwrite)(fd, data, len, at);
}

#define OPEN(call) \
	va_list ap; \
	va_start(ap, flags); \
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0; \
	va_end(ap); \
	FAILS("open", EMFILE, -1); \
	return call

int open(const char *path, int flags, ...)
{
	OPEN(REAL(open)(path, flags, mode));
}

int openat(int dir, const char *path, int flags, ...)
{
	OPEN(REAL(openat)(dir, path, flags, mode));
}

FILE *fopen(const char *path, const char *mode)
{
	FAILS("open", EMFILE, NULL);
	return REAL(fopen)(path, mode);
}

int memfd_create(const char *name, unsigned flags)
{
	FAILS("open", EMFILE, -1);
	return REAL(memfd_create)(name, flags);
}

int ftruncate(int fd, off_t size)
{
	FAILS("ftruncate", ENOSPC, -1);
	return REAL(ftruncate)(fd, size);
}

int fallocate(int fd, int mode, off_t offset, off_t len)
{
	FAILS("ftruncate", ENOSPC, -1);
	return REAL(fallocate)(fd, mode, offset, len);
}

/* R, S, Z...; 0: it is gone. */
static char state_of(pid_t pid)
{
	char path[64], text[512], *name;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = REAL(fopen)(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	name = strrchr(text, ')');
	return name ? name[2] : 0;
}

/* Kill it, and wait until it is a zombie; or until its parent has waited for it. */
static void end(pid_t pid, int gone)
{
	char state;

	kill(pid, SIGKILL);
	do {
		usleep(1000);
		state = state_of(pid);
	} while (state && (gone || state != 'Z'));
}

long ptrace(enum __ptrace_request request, ...)
{
	void *addr, *data, *from = __builtin_return_address(0);
	va_list ap;
	pid_t pid;
	long ret;

	va_start(ap, request);
	pid = va_arg(ap, pid_t);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	FAILS("ptrace", EIO, -1);
	if (request != PTRACE_SEIZE)
		return REAL(ptrace)(request, pid, addr, data);
	if (fails("gone", from))
		end(pid, 1);
	if (fails("zombie", from))
		end(pid, 0);
	ret = REAL(ptrace)(request, pid, addr, data);
	if (fails("seized", from))
		end(pid, 0);
	return ret;
}
