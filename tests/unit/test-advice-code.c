// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What advice learns from code: whether threads do the same work, by the functions
 * that access an object, and in which language a program is written, by the sections
 * of its file. The file is that of this test.
 */
#include <link.h>
#include <unistd.h>

#include "tests/unit/advice-trace.h"

/* By this section a program is known to be of Go. */
__attribute__((section(".go.buildinfo"), used))
static const char of_go[16] = "not of Go";

static volatile unsigned counted;

__attribute__((noinline)) static void encodes(void)
{
	counted += 3;
}

__attribute__((noinline)) static void finds_matches(void)
{
	counted *= 5;
}

static char exe[4096];
static uint64_t encodes_at, matches_at;		/* offsets in it */

/* The offset in the file of what is at addr, of the first object: this program. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *addr)
{
	const ElfW(Phdr) *ph;
	uint64_t *at = addr, vaddr = *at - info->dlpi_addr;
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		ph = &info->dlpi_phdr[i];
		if (ph->p_type == PT_LOAD && vaddr >= ph->p_vaddr &&
		    vaddr - ph->p_vaddr < ph->p_filesz)
			*at = vaddr - ph->p_vaddr + ph->p_offset;
	}
	return 1;
}

static void look_up(void)
{
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0)
		abort();
	encodes_at = (uintptr_t)encodes;
	matches_at = (uintptr_t)finds_matches;
	dl_iterate_phdr(find_offset, &encodes_at);
	dl_iterate_phdr(find_offset, &matches_at);
}

static void unequal(uint64_t allocated)
{
	begin(THREADS, allocated);
	put_map(0, CODE, 64 << 20, exe);
	unequal_parts_written();
}

static uint64_t same_function(const struct touch *t)
{
	return CODE + encodes_at;
}

static uint64_t other_functions(const struct touch *t)
{
	return CODE + (t->task ? encodes_at : matches_at);
}

/* Each thread has a function of its own for a tenth of what it does. */
static uint64_t mostly_the_same(const struct touch *t)
{
	return t->interval % 10 ? same_function(t) : other_functions(t);
}

/* Of no file: the one far from the other, or near. */
static uint64_t far_apart(const struct touch *t)
{
	return 0x10000000 + 0x100000 * (uint64_t)t->task;
}

static uint64_t near_by(const struct touch *t)
{
	return 0x10000000 + 0x200 * (uint64_t)t->task;
}

static int by_code(uint64_t (*ips)(const struct touch *t))
{
	int err;

	unequal(BIG);
	ip_of = ips;
	err = look("2x1");
	ip_of = NULL;
	return err;
}

/* What an interpreter runs is written in no language of a library that it uses. */
static int interpreter(void)
{
	int err;

	program_path = "/usr/bin/python3.11";
	begin(THREADS, BIG);
	put_map(0, CODE, 64 << 20, exe);
	put_map(0, CODE + (64 << 20), PAGE, "/lib/libgfortran.so.5");
	unequal_parts_written();
	err = look("2x1");
	program_path = "/bin/prog";
	CHECK(!err && only(MOCA_FINDING_UNBALANCED));
	CHECK(!has_line(advice->findings[0].try_, "first(t)") &&
	      !has_line(advice->findings[0].try_, "! "));
	return 0;
}

/* The stages of a pipeline have no parts of one work: nothing is to be divided. */
static int pipeline(void)
{
	CHECK(!by_code(same_function));
	CHECK(only(MOCA_FINDING_UNBALANCED));
	CHECK(!by_code(other_functions));
	CHECK(!advice->count);
	CHECK(check(MOCA_FINDING_UNBALANCED)->missed);
	CHECK(strstr(check(MOCA_FINDING_UNBALANCED)->missed, "the same code"));
	CHECK(!by_code(mostly_the_same));
	CHECK(only(MOCA_FINDING_UNBALANCED));
	return 0;
}

/* Functions are not known, as of a stripped program. */
static int pipeline_without_names(void)
{
	CHECK(!by_code(near_by));
	CHECK(only(MOCA_FINDING_UNBALANCED));
	CHECK(!by_code(far_apart));
	CHECK(!advice->count);
	return 0;
}

static int serial(const char *program)
{
	int err;

	program_path = program;
	begin(THREADS, BIG);
	sweep(0, 0, BIG, MOCA_ACCESS_WRITE);
	halves(20, MOCA_ACCESS_WRITE);
	err = look("2x1");
	program_path = "/bin/prog";
	return err;
}

/* Thread 0 prepares it in the kernel, in a system call. */
static uint64_t by_call(const struct touch *t)
{
	return t->interval ? CODE : 0xffffffff81234567;
}

/* What read(2) fills is to be read by those who use it: no loop fills it. */
static int filled_by_call(void)
{
	ip_of = by_call;
	CHECK(!serial("/bin/prog"));
	ip_of = NULL;
	CHECK(only(MOCA_FINDING_SERIAL_TOUCH));
	CHECK(tries("pread(fd, p + first[t]") == 1 && !tries("the loop that"));
	CHECK(strstr(advice->findings[0].fix, "System calls fill"));
	CHECK(!serial("/bin/prog"));
	CHECK(only(MOCA_FINDING_SERIAL_TOUCH));
	CHECK(!tries("pread") && tries("the loop that first fills") == 1);
	CHECK(!strstr(advice->findings[0].fix, "System calls"));
	return 0;
}

/* Both halves in turn, page after page; or all over it. */
static int turns(int by_chance)
{
	unsigned i, k;

	begin(1, 2 * BIG);
	for (i = 0; i < 12; i++) {
		for (k = 0; k < BIG; k++) {
			touch(0, by_chance ? k * 1237ull % (2 * BIG) : k,
			      MOCA_ACCESS_READ);
			touch(0, by_chance ? (k + BIG) * 1237ull % (2 * BIG) :
					     BIG + k, MOCA_ACCESS_READ);
		}
		next();
	}
	return look("2x1");
}

/* Arrays of one site that are walked over in turn are not used at random. */
static int arrays_in_turn(void)
{
	CHECK(!turns(0));
	CHECK(object()->patterns & MOCA_PATTERN_STREAMING);
	CHECK(10 * object()->steps_near > 9 * object()->steps);
	CHECK(!turns(1));
	CHECK(object()->patterns & MOCA_PATTERN_RANDOM);
	CHECK(10 * object()->steps_near < 3 * object()->steps);
	return 0;
}

/* No line of C for a program that is written in Go, and none of Go for others. */
static int go(void)
{
	CHECK(!serial(exe));
	CHECK(only(MOCA_FINDING_SERIAL_TOUCH));
	CHECK(tries("goroutine t") == 1 && tries("LockOSThread") == 1);
	CHECK(!tries("pthread") && !tries("/*"));
	CHECK(!serial("/bin/prog"));
	CHECK(only(MOCA_FINDING_SERIAL_TOUCH));
	CHECK(tries("pthread") == 1 && !tries("goroutine"));
	return 0;
}

/* All structures of a Go program are in memory that nobody else names. */
static int go_heap(void)
{
	unequal(1);
	CHECK(!look("2x1"));
	CHECK(only(MOCA_FINDING_UNBALANCED));
	CHECK(object()->object->kind == MOCA_OBJECT_ALLOCATOR);
	program_path = exe;
	unequal(1);
	program_path = "/bin/prog";
	CHECK(!look("2x1"));
	CHECK(object()->object->kind == MOCA_OBJECT_ALLOCATOR);
	CHECK(!advice->count);
	return 0;
}

int main(void)
{
	look_up();
	encodes();
	finds_matches();
	run("interpreter", interpreter);
	run("pipeline", pipeline);
	run("pipeline, without names", pipeline_without_names);
	run("arrays in turn", arrays_in_turn);
	run("filled by a system call", filled_by_call);
	run("go", go);
	run("go: heap", go_heap);
	done();
	free(touches);
	dir_remove();
	return failures != 0;
}
