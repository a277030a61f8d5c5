// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * oracle PROGRAM ARGUMENTS...: runs it step by step and prints, on stderr, how
 * many loads and stores the functions of its own file made, by moca cc's
 * conventions ("loads stores"): what `moca cc` must count to the last access.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

struct program {
	const uint8_t *file;
	const Elf64_Sym *syms;
	size_t nsyms;
	const char *names;
	uint64_t bias, low, high;	/* of the code, as loaded */
	uint8_t *own;			/* a byte per byte of code: counts? */
	const uint8_t *code;
};

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

/* The C library's start-up files are not rewritten. */
static int is_startup(const char *name)
{
	static const char *const names[] = { "_start", "_init", "_fini",
		"deregister_tm_clones", "register_tm_clones", "frame_dummy",
		"__do_global_dtors_aux", "_dl_relocate_static_pie", "set_fast_math" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return 1;
	return 0;
}

static void load(struct program *p, const char *path)
{
	int fd = open(path, O_RDONLY), i;
	const Elf64_Ehdr *e;
	const Elf64_Shdr *s;
	const Elf64_Phdr *h;
	struct stat st;
	size_t k;

	if (fd < 0 || fstat(fd, &st))
		fail(path);
	p->file = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	e = (const void *)p->file;
	s = (const void *)(p->file + e->e_shoff);
	for (i = 0; i < e->e_shnum; i++)
		if (s[i].sh_type == SHT_SYMTAB) {
			p->syms = (const void *)(p->file + s[i].sh_offset);
			p->nsyms = s[i].sh_size / sizeof(*p->syms);
			p->names = (const char *)p->file +
				   s[s[i].sh_link].sh_offset;
		}
	h = (const void *)(p->file + e->e_phoff);
	for (i = 0; i < e->e_phnum; i++)
		if (h[i].p_type == PT_LOAD && h[i].p_flags & PF_X) {
			p->low = h[i].p_vaddr;
			p->high = h[i].p_vaddr + h[i].p_memsz;
			p->code = p->file + h[i].p_offset;
		}
	p->own = calloc(1, p->high - p->low);
	for (k = 0; k < p->nsyms; k++) {
		const Elf64_Sym *y = &p->syms[k];

		if (ELF64_ST_TYPE(y->st_info) == STT_FUNC && y->st_size &&
		    y->st_value >= p->low && y->st_value < p->high &&
		    !is_startup(p->names + y->st_name))
			memset(p->own + (y->st_value - p->low), 1, y->st_size);
	}
}

static void find_bias(struct program *p, pid_t pid, const char *path)
{
	const Elf64_Ehdr *e = (const void *)p->file;
	char maps[64], line[4096], real[4096];
	FILE *f;

	if (e->e_type == ET_EXEC)
		return;
	if (!realpath(path, real))
		fail(path);
	snprintf(maps, sizeof(maps), "/proc/%d/maps", pid);
	f = fopen(maps, "r");
	while (fgets(line, sizeof(line), f))
		if (strstr(line, real)) {
			p->bias = strtoull(line, NULL, 16);
			break;
		}
	fclose(f);
}

static int touches(const ZydisDecodedInstruction *i)
{
	return i->mnemonic != ZYDIS_MNEMONIC_NOP &&
	       i->mnemonic != ZYDIS_MNEMONIC_LEA &&
	       i->meta.category != ZYDIS_CATEGORY_NOP &&
	       i->meta.category != ZYDIS_CATEGORY_WIDENOP &&
	       i->meta.category != ZYDIS_CATEGORY_PREFETCH;
}

static void count(const struct program *p, const ZydisDecoder *d,
		  const struct user_regs_struct *r, uint64_t *loads,
		  uint64_t *stores)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t at = r->rip - p->bias;
	ZydisDecodedInstruction i;
	int k;

	if (at < p->low || at >= p->high || !p->own[at - p->low])
		return;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(d, p->code + (at - p->low),
						 p->high - at, &i, op)))
		return;
	if (!touches(&i))
		return;
	if (i.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
			    ZYDIS_ATTRIB_HAS_REPNE) && !r->rcx &&
	    i.meta.category == ZYDIS_CATEGORY_STRINGOP)
		return;
	for (k = 0; k < i.operand_count; k++) {
		if (op[k].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    op[k].mem.type != ZYDIS_MEMOP_TYPE_MEM)
			continue;
		*loads += !!(op[k].actions & ZYDIS_OPERAND_ACTION_MASK_READ);
		*stores += !!(op[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
	}
}

int main(int argc, char **argv)
{
	uint64_t loads = 0, stores = 0;
	struct user_regs_struct r;
	struct program p = { 0 };
	int status, sig = 0;
	ZydisDecoder d;
	pid_t pid;

	load(&p, argv[1]);
	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execv(argv[1], argv + 1);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	find_bias(&p, pid, argv[1]);
	while (!WIFEXITED(status) && !WIFSIGNALED(status)) {
		if (ptrace(PTRACE_GETREGS, pid, 0, &r))
			fail("PTRACE_GETREGS");
		count(&p, &d, &r, &loads, &stores);
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, sig))
			fail("PTRACE_SINGLESTEP");
		waitpid(pid, &status, 0);
		sig = WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP ?
			      WSTOPSIG(status) : 0;
	}
	fprintf(stderr, "%llu %llu\n", (unsigned long long)loads,
		(unsigned long long)stores);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
