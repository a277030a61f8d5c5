// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LD_PRELOAD=oracle.so PROGRAM: runs step by step, by the trap flag, and prints
 * on stderr how many loads and stores the functions of its own file made, by moca
 * cc's conventions ("loads stores"): what `moca cc` must count to the last access.
 * A tracer would do the same, but for two switches of context a step.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

#define TRAP_FLAG 0x100ull

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

static int touches(const ZydisDecodedInstruction *i)
{
	return i->mnemonic != ZYDIS_MNEMONIC_NOP &&
	       i->mnemonic != ZYDIS_MNEMONIC_LEA &&
	       i->meta.category != ZYDIS_CATEGORY_NOP &&
	       i->meta.category != ZYDIS_CATEGORY_WIDENOP &&
	       i->meta.category != ZYDIS_CATEGORY_PREFETCH;
}

static void count(const struct program *p, const ZydisDecoder *d,
		  uint64_t rip, uint64_t rcx, uint64_t *l, uint64_t *s)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t at = rip - p->bias;
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
			    ZYDIS_ATTRIB_HAS_REPNE) && !rcx &&
	    i.meta.category == ZYDIS_CATEGORY_STRINGOP)
		return;
	for (k = 0; k < i.operand_count; k++) {
		if (op[k].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    op[k].mem.type != ZYDIS_MEMOP_TYPE_MEM)
			continue;
		*l += !!(op[k].actions & ZYDIS_OPERAND_ACTION_MASK_READ);
		*s += !!(op[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
	}
}

static struct program program;
static ZydisDecoder decoder;
static uint64_t loads, stores;
static void (*handlers[NSIG])(int);

static inline void step(int on)
{
	uint64_t flags;

	__asm__ volatile("pushfq\n\tpopq %0" : "=r"(flags));
	flags = on ? flags | TRAP_FLAG : flags & ~TRAP_FLAG;
	__asm__ volatile("pushq %0\n\tpopfq" : : "r"(flags) : "cc", "memory");
}

/* Before each instruction but the first. */
static void on_trap(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;

	count(&program, &decoder, (uint64_t)u->uc_mcontext.gregs[REG_RIP],
	      (uint64_t)u->uc_mcontext.gregs[REG_RCX], &loads, &stores);
}

/* The kernel begins handlers without the flag. */
static void on_signal(int sig)
{
	step(1);
	handlers[sig](sig);
	step(0);
}

void (*signal(int sig, void (*handler)(int)))(int)
{
	struct sigaction sa = { .sa_handler = on_signal };

	handlers[sig] = handler;
	return sigaction(sig, &sa, NULL) ? SIG_ERR : SIG_DFL;
}

static int first_module(struct dl_phdr_info *info, size_t size, void *bias)
{
	*(uint64_t *)bias = info->dlpi_addr;
	return 1;
}

__attribute__((constructor)) static void begin(void)
{
	struct sigaction sa = { .sa_sigaction = on_trap,
				.sa_flags = SA_SIGINFO };

	load(&program, "/proc/self/exe");
	dl_iterate_phdr(first_module, &program.bias);
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
			 ZYDIS_STACK_WIDTH_64);
	sigaction(SIGTRAP, &sa, NULL);
	step(1);
}

__attribute__((destructor)) static void end(void)
{
	step(0);
	fprintf(stderr, "%llu %llu\n", (unsigned long long)loads,
		(unsigned long long)stores);
}
