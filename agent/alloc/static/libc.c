// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What the agent and libmocatrace need of a C library, where there is none of
 * ours: a static program's own one must not be called, and its thread-local
 * storage is not ours. Only what they use, as they use it.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/alloc/static/static.h"

/* Of each thread: static/thread.c, Makefile. */
static __thread int own_errno;

int *__errno_location(void)
{
	return &own_errno;
}

long syscall(long nr, ...)
{
	long a[6], ret;
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	ret = moca_static_call(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if ((unsigned long)ret < -4095ul)
		return ret;
	own_errno = (int)-ret;
	return -1;
}

/* --- memory and strings ------------------------------------------------ */

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	void *ret = to;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	return ret;
}

void *memset(void *to, int c, size_t n)
{
	void *ret = to;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(c) : "memory");
	return ret;
}

void *memchr(const void *s, int c, size_t n)
{
	const unsigned char *p = s;

	for (; n; n--, p++)
		if (*p == (unsigned char)c)
			return (void *)p;
	return NULL;
}

size_t strlen(const char *s)
{
	const char *p = s;

	while (*p)
		p++;
	return (size_t)(p - s);
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (; n; n--, a++, b++) {
		if (*a != *b)
			return (unsigned char)*a - (unsigned char)*b;
		if (!*a)
			break;
	}
	return 0;
}

char *strchr(const char *s, int c)
{
	for (; *s != (char)c; s++)
		if (!*s)
			return NULL;
	return (char *)s;
}

char *strrchr(const char *s, int c)
{
	const char *last = NULL;

	do
		if (*s == (char)c)
			last = s;
	while (*s++);
	return (char *)last;
}

size_t strcspn(const char *s, const char *reject)
{
	size_t n = 0;

	while (s[n] && !strchr(reject, s[n]))
		n++;
	return n;
}

size_t strspn(const char *s, const char *accept)
{
	size_t n = 0;

	while (s[n] && strchr(accept, s[n]))
		n++;
	return n;
}

char *strstr(const char *s, const char *part)
{
	size_t len = strlen(part);

	for (; strncmp(s, part, len); s++)
		if (!*s)
			return NULL;
	return (char *)s;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

unsigned long strtoul(const char *s, char **end, int base)
{
	unsigned long n = 0;

	if (base == 16 && s[0] == '0' && (s[1] | 0x20) == 'x')
		s += 2;
	for (; digit(*s) < base; s++)
		n = n * (unsigned)base + (unsigned)digit(*s);
	if (end)
		*end = (char *)s;
	return n;
}

unsigned long long strtoull(const char *s, char **end, int base)
{
	return strtoul(s, end, base);
}

/* --- the program -------------------------------------------------------- */

char **environ;
void *__libc_stack_end;
const Elf64_auxv_t *moca_static_auxv;

char *getenv(const char *name)
{
	size_t len = strlen(name);

	for (char **e = environ; *e; e++)
		if (!strncmp(*e, name, len) && (*e)[len] == '=')
			return *e + len + 1;
	return NULL;
}

unsigned long getauxval(unsigned long type)
{
	for (const Elf64_auxv_t *a = moca_static_auxv; a->a_type; a++)
		if (a->a_type == type)
			return a->a_un.a_val;
	return 0;
}

char *secure_getenv(const char *name)
{
	return getauxval(AT_SECURE) ? NULL : getenv(name);
}

/* --- system calls --------------------------------------------------------- */

pid_t getpid(void)
{
	return (pid_t)syscall(SYS_getpid);
}

uid_t geteuid(void)
{
	return (uid_t)syscall(SYS_geteuid);
}

int open(const char *path, int flags, ...)
{
	return (int)syscall(SYS_open, path, flags, 0);
}

int openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, int) : 0;
	va_end(ap);
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

int close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

ssize_t write(int fd, const void *p, size_t n)
{
	return syscall(SYS_write, fd, p, n);
}

int fstat(int fd, struct stat *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

int lstat(const char *path, struct stat *st)
{
	return (int)syscall(SYS_lstat, path, st);
}

int mkdir(const char *path, mode_t mode)
{
	return (int)syscall(SYS_mkdir, path, mode);
}

int linkat(int a, const char *from, int b, const char *to, int flags)
{
	return (int)syscall(SYS_linkat, a, from, b, to, flags);
}

int unlinkat(int dir, const char *path, int flags)
{
	return (int)syscall(SYS_unlinkat, dir, path, flags);
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	return (int)syscall(SYS_getsockopt, fd, level, name, value, len);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return (int)syscall(SYS_setsockopt, fd, level, name, value, len);
}

void *mmap(void *p, size_t len, int prot, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, p, len, prot, flags, fd, offset);
}

int munmap(void *p, size_t len)
{
	return (int)syscall(SYS_munmap, p, len);
}

int madvise(void *p, size_t len, int advice)
{
	return (int)syscall(SYS_madvise, p, len, advice);
}

int prctl(int what, ...)
{
	unsigned long a[4];
	va_list ap;

	va_start(ap, what);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	return (int)syscall(SYS_prctl, what, a[0], a[1], a[2], a[3]);
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	return (int)syscall(SYS_clock_gettime, clock, ts);
}

/* --- modules: the program is the only one --------------------------------- */

int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *),
		    void *arg)
{
	const struct moca_static_setup *s = &moca_static_setup;
	const Elf64_Phdr *p = (const Elf64_Phdr *)s->phdrs;
	struct dl_phdr_info info = {
		.dlpi_addr = s->base,
		.dlpi_name = "",
		.dlpi_phdr = p,
		.dlpi_phnum = (uint16_t)s->phdr_count,
	};

	/* Thread-local storage is below the thread pointer, in all of them. */
	for (uint64_t i = 0; i < s->phdr_count; i++)
		if (p[i].p_type == PT_TLS)
			info.dlpi_tls_data =
				(void *)(moca_static_thread_pointer() -
					 ((p[i].p_memsz + p[i].p_align - 1) &
					  -p[i].p_align));
	return visit(&info, sizeof(info), arg);
}

int _dl_find_object(void *at, struct dl_find_object *o)
{
	const struct moca_static_setup *s = &moca_static_setup;

	if ((uint64_t)at < s->code || (uint64_t)at >= s->code_end)
		return -1;
	o->dlfo_map_start = (void *)s->low;
	o->dlfo_map_end = (void *)s->high;
	o->dlfo_eh_frame = (void *)s->frames;
	return 0;
}

/* --- threads ---------------------------------------------------------------- */

void (*moca_static_ends[MOCA_STATIC_KEYS])(void *);
void (*moca_static_forked[MOCA_STATIC_KEYS])(void);
static unsigned int keys, forks;

/* Kept in the thread's block: thread.c runs the destructors. */
static __thread const void *values[MOCA_STATIC_KEYS];

int pthread_key_create(pthread_key_t *key, void (*end)(void *))
{
	if (keys == MOCA_STATIC_KEYS)
		return EAGAIN;
	moca_static_ends[keys] = end;
	*key = keys++;
	return 0;
}

int pthread_key_delete(pthread_key_t key)
{
	moca_static_ends[key] = NULL;
	return 0;
}

int pthread_setspecific(pthread_key_t key, const void *value)
{
	values[key] = value;
	return 0;
}

void moca_static_end_thread(void)
{
	for (int round = 0; round < 4; round++) {
		for (unsigned int i = 0; i < keys; i++) {
			const void *value = values[i];

			values[i] = NULL;
			if (value && moca_static_ends[i])
				moca_static_ends[i]((void *)value);
		}
	}
}

int pthread_atfork(void (*prepare)(void), void (*parent)(void),
		   void (*child)(void))
{
	if (forks == MOCA_STATIC_KEYS)
		return ENOMEM;
	moca_static_forked[forks++] = child;
	return 0;
}

pthread_t pthread_self(void)
{
	return moca_static_thread_pointer();
}

/* Nobody knows: it is looked up where it is needed. */
int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
	return ENOSYS;
}

int pthread_attr_getstack(const pthread_attr_t *attr, void **addr, size_t *size)
{
	return ENOSYS;
}

int pthread_attr_destroy(pthread_attr_t *attr)
{
	return 0;
}
