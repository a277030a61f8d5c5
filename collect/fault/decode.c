// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/fault/decode.h"

#include <Zydis/Zydis.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/fault/text.h"
#include <moca/types.h>

/* The text of a program does not change: remember the answer by address. */
#define CACHE_SIZE (1u << 14)
#define INSN_BYTES 15

struct entry {
	uint64_t ip;
	int space;
	uint8_t type;
	uint8_t valid;
};

struct decoder {
	ZydisDecoder zydis;
	const struct text *text;
	struct entry cache[CACHE_SIZE];
};

struct decoder *decoder_new(const struct text *text)
{
	struct decoder *d = calloc(1, sizeof(*d));

	if (d && !ZYAN_SUCCESS(ZydisDecoderInit(&d->zydis,
						ZYDIS_MACHINE_MODE_LONG_64,
						ZYDIS_STACK_WIDTH_64))) {
		free(d);
		return NULL;
	}
	if (d)
		d->text = text;
	return d;
}

void decoder_free(struct decoder *d)
{
	free(d);
}

static uint8_t classify(const ZydisDecodedInstruction *insn,
			const ZydisDecodedOperand *ops)
{
	int reads = 0, writes = 0, places = 0;

	for (int i = 0; i < insn->operand_count; i++) {
		if (ops[i].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    ops[i].mem.type == ZYDIS_MEMOP_TYPE_AGEN)
			continue;
		places++;
		reads += (ops[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
		writes += (ops[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
	}
	/* A read-modify-write of one place asks for it as a write. */
	if (writes && (places == 1 || !reads))
		return MOCA_ACCESS_WRITE;
	if (reads && !writes)
		return MOCA_ACCESS_READ;
	return MOCA_ACCESS_UNKNOWN;
}

/* Is the page of addr there? To read one that is not would make it. */
static int is_there(pid_t pid, uint64_t addr)
{
	uint64_t entry = 0;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (pread(fd, &entry, sizeof(entry),
		  (off_t)(addr / 4096 * sizeof(entry))) != sizeof(entry))
		entry = 0;
	close(fd);
	return (int)(entry >> 63);
}

/* len bytes at ip, all in one page: of the process, or of its file. */
static ssize_t fetch_part(const struct decoder *d, pid_t pid, int space,
			  uint64_t ip, uint8_t *bytes, size_t len)
{
	struct iovec local = { bytes, len };
	struct iovec remote = { (void *)ip, len };
	ssize_t n = -1;

	if (is_there(pid, ip))
		n = process_vm_readv(pid, &local, 1, &remote, 1, 0);
	return n > 0 ? n : text_read(d->text, space, ip, bytes, len);
}

/* The bytes at ip, which may stand at the end of a page. */
static ssize_t fetch(const struct decoder *d, pid_t pid, int space,
		     uint64_t ip, uint8_t bytes[INSN_BYTES])
{
	size_t first = 4096 - (ip & 4095);
	ssize_t n, more;

	if (first >= INSN_BYTES)
		return fetch_part(d, pid, space, ip, bytes, INSN_BYTES);
	n = fetch_part(d, pid, space, ip, bytes, first);
	if (n < (ssize_t)first)
		return n;
	more = fetch_part(d, pid, space, ip + first, bytes + first,
			  INSN_BYTES - first);
	return more > 0 ? n + more : n;
}

static uint8_t decode(struct decoder *d, pid_t pid, int space, uint64_t ip)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	uint8_t text[INSN_BYTES];
	ssize_t n = fetch(d, pid, space, ip, text);

	if (n <= 0 ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d->zydis, text, n, &insn, ops)))
		return MOCA_ACCESS_UNKNOWN;
	return classify(&insn, ops);
}

uint8_t decoder_type(struct decoder *d, pid_t pid, int space, uint64_t ip,
		     uint64_t addr)
{
	uint64_t hash = (ip ^ ((uint64_t)space << 40)) * 0x9e3779b97f4a7c15ull;
	struct entry *e = &d->cache[hash >> 50];

	/* The fetch of the instruction itself, which may straddle pages. */
	if (addr >= ip && addr - ip < INSN_BYTES)
		return MOCA_ACCESS_EXEC;
	if (e->valid && e->ip == ip && e->space == space)
		return e->type;
	e->ip = ip;
	e->space = space;
	e->type = decode(d, pid, space, ip);
	e->valid = 1;
	return e->type;
}
