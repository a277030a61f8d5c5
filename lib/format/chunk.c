// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/chunk.h"

#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <moca/types.h>

#include "lib/base/bytes.h"
#include "lib/format/meta.h"

static const char *const prefixes[] = {
	[MOCA_FILE_TASK] = "task-",
	[MOCA_FILE_EVENT] = "marker-",
};

static const char types_name[] = "marker-types";
static const char machine_name[] = "machine";
static const char stacks_name[] = "stacks";
static const char jit_name[] = "jit";
/*
 * A name that readers which do not know it count as damage: without it, tasks
 * are missing.
 */
static const char shared_name[] = "task-shared";

void moca_file_name(char buf[MOCA_FILE_NAME_MAX], enum moca_file_type type,
		    uint32_t number)
{
	if (type == MOCA_FILE_TYPES)
		strcpy(buf, types_name);
	else if (type == MOCA_FILE_MACHINE)
		strcpy(buf, machine_name);
	else if (type == MOCA_FILE_SHARED)
		strcpy(buf, shared_name);
	else if (type == MOCA_FILE_STACKS)
		strcpy(buf, stacks_name);
	else if (type == MOCA_FILE_JIT)
		strcpy(buf, jit_name);
	else
		snprintf(buf, MOCA_FILE_NAME_MAX, "%s%u", prefixes[type],
			 number);
}

/* A number as a writer would make it. */
static int parse_number(const char *s, uint32_t *out)
{
	uint64_t v = 0;

	if (!*s || (*s == '0' && s[1]))
		return -EINVAL;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return -EINVAL;
		v = v * 10 + (uint64_t)(*s - '0');
		if (v >= MOCA_TASKS_MAX)
			return -EINVAL;
	}
	*out = (uint32_t)v;
	return 1;
}

int moca_file_name_parse(const char *name, enum moca_file_type *type,
			 uint32_t *number)
{
	*number = 0;
	if (!strcmp(name, types_name)) {
		*type = MOCA_FILE_TYPES;
		return 1;
	}
	if (!strcmp(name, machine_name)) {
		*type = MOCA_FILE_MACHINE;
		return 1;
	}
	if (!strcmp(name, stacks_name)) {
		*type = MOCA_FILE_STACKS;
		return 1;
	}
	if (!strcmp(name, jit_name)) {
		*type = MOCA_FILE_JIT;
		return 1;
	}
	if (!strcmp(name, shared_name)) {
		*type = MOCA_FILE_SHARED;
		return 1;
	}
	/* Also while it is being written. */
	if (!strncmp(name, MOCA_META_SESSION, strlen(MOCA_META_SESSION)))
		return 0;
	for (*type = MOCA_FILE_TASK; *type <= MOCA_FILE_EVENT; ++*type)
		if (!strncmp(name, prefixes[*type], strlen(prefixes[*type])))
			return parse_number(name + strlen(prefixes[*type]),
					    number);
	return 0;
}

#define WEIGHTS_LEN 32

void moca_weights_add(struct moca_weights *w, const struct moca_access *a)
{
	w->all += a->weight;
	if (a->type == MOCA_ACCESS_WRITE)
		w->writes += a->weight;
	else if (a->type != MOCA_ACCESS_UNKNOWN)
		w->reads += a->weight;
	if (w->top < a->weight)
		w->top = a->weight;
}

int moca_weights_valid(const struct moca_header *h)
{
	const struct moca_weights *w = &h->weights;

	/* The highest weight is 0 or a power of two, as each weight is. */
	return w->top <= MOCA_WEIGHT_MAX && !(w->top & (w->top - 1)) &&
	       h->records <= MOCA_CHUNK_RECORDS_MAX &&
	       w->all <= w->top * h->records &&
	       w->reads <= w->top * h->reads &&
	       w->writes <= w->top * h->writes &&
	       w->reads + w->writes <= w->all;
}

static void put_weights(uint8_t *buf, const struct moca_weights *w)
{
	moca_put64(buf, w->all);
	moca_put64(buf + 8, w->reads);
	moca_put64(buf + 16, w->writes);
	moca_put64(buf + 24, w->top);
}

size_t moca_header_put(struct moca_header *h, uint8_t *buf)
{
	size_t len = MOCA_HEADER_FIXED + 8 * h->cpu_words;
	size_t weights = len;
	uint32_t i;

	if (h->flags & MOCA_CHUNK_WEIGHTS)
		len += WEIGHTS_LEN;
	h->header_len = (uint16_t)(len + 8);
	h->version = MOCA_FORMAT_VERSION;
	memcpy(buf, MOCA_MAGIC, MOCA_MAGIC_LEN);
	moca_put16(buf + 8, h->header_len);
	buf[10] = h->version;
	buf[11] = h->kind;
	moca_put32(buf + 12, h->flags);
	moca_put32(buf + 16, h->task);
	moca_put32(buf + 20, h->payload_len);
	moca_put64(buf + 24, h->number);
	moca_put64(buf + 32, h->interval);
	moca_put64(buf + 40, h->begin_ns);
	moca_put64(buf + 48, h->end_ns);
	moca_put64(buf + 56, h->lost);
	moca_put32(buf + 64, h->records);
	moca_put32(buf + 68, h->reads);
	moca_put32(buf + 72, h->writes);
	moca_put32(buf + 76, h->cpu_words);
	moca_put64(buf + 80, h->payload_sum);
	for (i = 0; i < h->cpu_words; i++)
		moca_put64(buf + MOCA_HEADER_FIXED + 8 * i, h->cpumask[i]);
	if (h->flags & MOCA_CHUNK_WEIGHTS)
		put_weights(buf + weights, &h->weights);
	moca_put64(buf + len, XXH64(buf, len, 0));
	return len + 8;
}

static void parse(struct moca_header *h, const uint8_t *buf)
{
	uint32_t i;

	h->kind = buf[11];
	h->flags = moca_get32(buf + 12);
	h->task = moca_get32(buf + 16);
	h->payload_len = moca_get32(buf + 20);
	h->number = moca_get64(buf + 24);
	h->interval = moca_get64(buf + 32);
	h->begin_ns = moca_get64(buf + 40);
	h->end_ns = moca_get64(buf + 48);
	h->lost = moca_get64(buf + 56);
	h->records = moca_get32(buf + 64);
	h->reads = moca_get32(buf + 68);
	h->writes = moca_get32(buf + 72);
	h->payload_sum = moca_get64(buf + 80);
	for (i = 0; i < h->cpu_words; i++)
		h->cpumask[i] = moca_get64(buf + MOCA_HEADER_FIXED + 8 * i);
}

/* 0 or -EBADMSG. */
static int parse_weights(struct moca_header *h, const uint8_t *buf)
{
	size_t at = MOCA_HEADER_FIXED + 8 * h->cpu_words;

	h->weights = (struct moca_weights){ .all = h->records,
					    .reads = h->reads,
					    .writes = h->writes, .top = 1 };
	if (h->kind != MOCA_KIND_ACCESSES || !(h->flags & MOCA_CHUNK_WEIGHTS))
		return 0;
	if (at + WEIGHTS_LEN + 8 > h->header_len)
		return -EBADMSG;
	h->weights.all = moca_get64(buf + at);
	h->weights.reads = moca_get64(buf + at + 8);
	h->weights.writes = moca_get64(buf + at + 16);
	h->weights.top = moca_get64(buf + at + 24);
	return 0;
}

int moca_header_get(struct moca_header *h, const uint8_t *buf, size_t len)
{
	size_t part = len < MOCA_MAGIC_LEN ? len : MOCA_MAGIC_LEN;

	if (memcmp(buf, MOCA_MAGIC, part))
		return -EBADMSG;
	if (len < MOCA_HEADER_MIN)
		return -EAGAIN;
	memset(h, 0, sizeof(*h));
	h->header_len = moca_get16(buf + 8);
	h->version = buf[10];
	if (h->header_len < MOCA_HEADER_MIN || h->header_len > MOCA_HEADER_MAX)
		return -EBADMSG;
	if (len < h->header_len)
		return -EAGAIN;
	h->header_sum = moca_get64(buf + h->header_len - 8);
	if (h->header_sum != XXH64(buf, h->header_len - 8, 0))
		return -EBADMSG;
	h->cpu_words = moca_get32(buf + 76);
	if (h->cpu_words > MOCA_CPUMASK_WORDS ||
	    MOCA_HEADER_MIN + 8 * h->cpu_words > h->header_len)
		return -EBADMSG;
	parse(h, buf);
	if (h->payload_len > MOCA_PAYLOAD_MAX)
		return -EBADMSG;
	return parse_weights(h, buf);
}

uint64_t moca_payload_sum(const void *a, size_t a_len, const void *b,
			  size_t b_len)
{
	XXH64_state_t st;

	XXH64_reset(&st, 0);
	if (a_len)
		XXH64_update(&st, a, a_len);
	if (b_len)
		XXH64_update(&st, b, b_len);
	return XXH64_digest(&st);
}
