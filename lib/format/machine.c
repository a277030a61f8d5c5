// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/machine.h"

#include <fcntl.h>

#include "lib/format/append.h"

#define TEXT_MAX 4095		/* bytes of a setting's name or value */

/* --- both ways ----------------------------------------------------------- */

int moca_machine_node(const struct moca_machine *m, int32_t id)
{
	size_t lo = 0, hi = m->node_count, mid;

	if (id < 0)
		return -1;
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (m->nodes[mid].id < (uint32_t)id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->node_count && m->nodes[lo].id == (uint32_t)id ?
		       (int)lo : -1;
}

int32_t moca_machine_cpu_node(const struct moca_machine *m, uint32_t cpu)
{
	return cpu < m->cpu_count ? m->node_of_cpu[cpu] : -1;
}

const char *moca_machine_setting(const struct moca_machine *m,
				 const char *name)
{
	size_t i;

	for (i = 0; i < m->setting_count; i++)
		if (!strcmp(m->settings[i].name, name))
			return m->settings[i].value;
	return NULL;
}

/* Whether the ids rise, and whatever refers to a node has one. */
static int is_consistent(const struct moca_machine *m)
{
	const struct moca_machine_node *n;
	size_t i, k;

	for (i = 0; i < m->node_count; i++) {
		n = &m->nodes[i];
		if (n->id > INT16_MAX || n->free_bytes > n->bytes ||
		    (i && n->id <= n[-1].id))
			return 0;
		for (k = 0; k < n->initiator_count; k++)
			if (moca_machine_node(m, (int32_t)n->initiators[k]) < 0 ||
			    (k && n->initiators[k] <= n->initiators[k - 1]))
				return 0;
	}
	for (i = 0; i < m->cpu_count; i++)
		if (m->node_of_cpu[i] != -1 &&
		    moca_machine_node(m, m->node_of_cpu[i]) < 0)
			return 0;
	return 1;
}

/* --- writing -------------------------------------------------------------- */

static int put(struct moca_buf *b, uint64_t v)
{
	if (moca_buf_reserve(b, MOCA_VARINT_MAX))
		return -ENOMEM;
	b->len += moca_put_varint(b->data + b->len, v);
	return 0;
}

static int put_text(struct moca_buf *b, const char *s)
{
	size_t n = strlen(s) + 1;

	if (moca_buf_reserve(b, n))
		return -ENOMEM;
	memcpy(b->data + b->len, s, n);
	b->len += n;
	return 0;
}

static int put_node(struct moca_buf *b, const struct moca_machine_node *n)
{
	const uint64_t values[] = {
		n->id, n->tier, n->bytes, n->free_bytes, n->read_latency_ns,
		n->write_latency_ns, n->read_bandwidth, n->write_bandwidth,
		n->initiator_count,
	};
	size_t i;
	int err = 0;

	for (i = 0; !err && i < sizeof(values) / sizeof(*values); i++)
		err = put(b, values[i]);
	for (i = 0; !err && i < n->initiator_count; i++)
		err = put(b, n->initiators[i]);
	return err;
}

static int put_all(struct moca_buf *b, const struct moca_machine *m)
{
	const uint64_t head[] = { m->page_size, m->node_count, m->cpu_count,
				  m->setting_count };
	size_t i, k;
	int err = 0;

	for (i = 0; !err && i < sizeof(head) / sizeof(*head); i++)
		err = put(b, head[i]);
	for (i = 0; !err && i < m->node_count; i++)
		err = put_node(b, &m->nodes[i]);
	for (i = 0; i < m->node_count; i++)
		for (k = 0; !err && k < m->node_count; k++)
			err = put(b, m->nodes[i].distances[k]);
	for (i = 0; !err && i < m->cpu_count; i++)
		err = put(b, (uint64_t)(m->node_of_cpu[i] + 1));
	for (i = 0; !err && i < m->setting_count; i++) {
		err = put_text(b, m->settings[i].name);
		if (!err)
			err = put_text(b, m->settings[i].value);
	}
	return err;
}

static int within_limits(const struct moca_machine *m)
{
	size_t i;

	if (m->node_count > MOCA_MACHINE_NODES_MAX ||
	    m->cpu_count > MOCA_MACHINE_CPUS_MAX ||
	    m->setting_count > MOCA_MACHINE_SETTINGS_MAX)
		return 0;
	for (i = 0; i < m->setting_count; i++)
		if (strlen(m->settings[i].name) > TEXT_MAX ||
		    strlen(m->settings[i].value) > TEXT_MAX)
			return 0;
	return is_consistent(m);
}

int moca_machine_encode(struct moca_stream_out *s,
			const struct moca_machine *m)
{
	struct moca_buf b = { 0 };
	int err;

	if (!within_limits(m))
		return -EINVAL;
	err = put_all(&b, m);
	if (!err && b.len > MOCA_MACHINE_RAW_MAX)
		err = -EINVAL;
	if (!err)
		err = moca_stream_put(s, MOCA_S_MACHINE, b.data, b.len, 1);
	/* A machine without its drawing is better than none. */
	if (!err && m->xml && m->xml_len <= MOCA_MACHINE_XML_MAX)
		err = moca_stream_put(s, MOCA_S_MACHINE_XML,
				      (const uint8_t *)m->xml, m->xml_len, 1);
	moca_buf_free(&b);
	return err;
}

int moca_machine_write(int dirfd, const struct moca_machine *m,
		       uint64_t begin_ns)
{
	struct moca_append file = {
		.type = MOCA_FILE_MACHINE, .flags = O_CREAT | O_EXCL,
	};
	struct moca_header h = {
		.kind = MOCA_KIND_MACHINE, .records = 1,
		.begin_ns = begin_ns, .end_ns = begin_ns,
	};
	uint64_t next[MOCA_KINDS] = { 0 }, bytes;
	struct moca_stream_out s;
	int err = moca_stream_out_init(&s, MOCA_STREAM_LEVEL);

	if (!err) {
		moca_stream_reset(&s);
		err = moca_machine_encode(&s, m);
	}
	if (!err)
		err = moca_append_chunk(dirfd, &file, &h, &s, next, &bytes);
	moca_stream_out_free(&s);
	return err;
}

/* --- reading -------------------------------------------------------------- */

/* The block that becomes the machine, and what is left to parse. */
struct parser {
	const uint8_t *p, *end;
	char *block, *at;	/* where its next part goes */
};

static int get(struct parser *r, uint64_t max, uint64_t *out)
{
	if (moca_get_varint(&r->p, r->end, out) || *out > max)
		return -EBADMSG;
	return 0;
}

/* Room in the block, which was made large enough. */
static void *take(struct parser *r, size_t bytes)
{
	void *p = r->at;

	r->at += (bytes + 7) & ~(size_t)7;
	return p;
}

/* A text in place: it is in the block's copy of the stream. */
static int get_text(struct parser *r, const char **out)
{
	const uint8_t *nul = memchr(r->p, 0, (size_t)(r->end - r->p));

	if (!nul || nul - r->p > TEXT_MAX)
		return -EBADMSG;
	*out = (const char *)r->p;
	r->p = nul + 1;
	return 0;
}

static int get_node(struct parser *r, size_t nodes,
		    struct moca_machine_node *n)
{
	uint64_t id, tier, count, v;
	uint32_t *initiators;
	size_t i;

	if (get(r, INT16_MAX, &id) || get(r, UINT32_MAX, &tier) ||
	    get(r, UINT64_MAX, &n->bytes) ||
	    get(r, UINT64_MAX, &n->free_bytes) ||
	    get(r, UINT64_MAX, &n->read_latency_ns) ||
	    get(r, UINT64_MAX, &n->write_latency_ns) ||
	    get(r, UINT64_MAX, &n->read_bandwidth) ||
	    get(r, UINT64_MAX, &n->write_bandwidth) || get(r, nodes, &count))
		return -EBADMSG;
	n->id = (uint32_t)id;
	n->tier = (uint32_t)tier;
	n->initiator_count = count;
	initiators = take(r, nodes * sizeof(*initiators));
	for (i = 0; i < count; i++) {
		if (get(r, INT16_MAX, &v))
			return -EBADMSG;
		initiators[i] = (uint32_t)v;
	}
	n->initiators = initiators;
	return 0;
}

static int get_distances(struct parser *r, size_t nodes,
			 struct moca_machine_node *list)
{
	uint32_t *d;
	size_t i, k;
	uint64_t v;

	for (i = 0; i < nodes; i++) {
		d = take(r, nodes * sizeof(*d));
		for (k = 0; k < nodes; k++) {
			if (get(r, UINT16_MAX, &v))
				return -EBADMSG;
			d[k] = (uint32_t)v;
		}
		list[i].distances = d;
	}
	return 0;
}

static int get_all(struct parser *r, struct moca_machine *m)
{
	struct moca_machine_setting *settings;
	struct moca_machine_node *nodes;
	int32_t *cpus;
	uint64_t v;
	size_t i;

	nodes = take(r, m->node_count * sizeof(*nodes));
	cpus = take(r, m->cpu_count * sizeof(*cpus));
	settings = take(r, m->setting_count * sizeof(*settings));
	for (i = 0; i < m->node_count; i++)
		if (get_node(r, m->node_count, &nodes[i]))
			return -EBADMSG;
	if (get_distances(r, m->node_count, nodes))
		return -EBADMSG;
	for (i = 0; i < m->cpu_count; i++) {
		if (get(r, INT16_MAX, &v))
			return -EBADMSG;
		cpus[i] = (int32_t)v - 1;
	}
	for (i = 0; i < m->setting_count; i++)
		if (get_text(r, &settings[i].name) ||
		    get_text(r, &settings[i].value))
			return -EBADMSG;
	m->nodes = nodes;
	m->node_of_cpu = cpus;
	m->settings = settings;
	return is_consistent(m) ? 0 : -EBADMSG;
}

/* Bytes of a block for a machine of these numbers, texts not counted. */
static size_t block_size(uint64_t nodes, uint64_t cpus, uint64_t settings)
{
	return ((sizeof(struct moca_machine) + 7) & ~(size_t)7) +
	       nodes * sizeof(struct moca_machine_node) +
	       2 * nodes * ((nodes * sizeof(uint32_t) + 7) & ~(size_t)7) +
	       ((cpus * sizeof(int32_t) + 7) & ~(size_t)7) +
	       settings * sizeof(struct moca_machine_setting);
}

int moca_machine_decode(struct moca_machine **out,
			const struct moca_stream_in *s)
{
	size_t len = moca_stream_len(s, MOCA_S_MACHINE);
	size_t xml = moca_stream_len(s, MOCA_S_MACHINE_XML), fixed;
	uint64_t page, nodes, cpus, settings;
	struct parser r = { 0 };
	struct moca_machine *m;
	uint8_t *raw;
	int err = -EBADMSG;

	if (!len || len > MOCA_MACHINE_RAW_MAX || xml > MOCA_MACHINE_XML_MAX)
		return -EBADMSG;
	raw = malloc(len);
	if (!raw)
		return -ENOMEM;
	r.p = raw;
	r.end = raw + len;
	if (moca_stream_get(s, MOCA_S_MACHINE, raw, len) ||
	    get(&r, UINT64_MAX, &page) ||
	    get(&r, MOCA_MACHINE_NODES_MAX, &nodes) ||
	    get(&r, MOCA_MACHINE_CPUS_MAX, &cpus) ||
	    get(&r, MOCA_MACHINE_SETTINGS_MAX, &settings))
		goto err_raw;
	/* Behind the numbers: a copy of the stream, whose texts stay, the XML. */
	fixed = block_size(nodes, cpus, settings);
	err = -ENOMEM;
	r.block = calloc(1, fixed + len + xml + 1);
	if (!r.block)
		goto err_raw;
	memcpy(r.block + fixed, raw, len);
	r.p = (uint8_t *)r.block + fixed + (r.p - raw);
	r.end = (uint8_t *)r.block + fixed + len;
	r.at = r.block;
	m = take(&r, sizeof(*m));
	*m = (struct moca_machine){ .page_size = page, .node_count = nodes,
				    .cpu_count = cpus,
				    .setting_count = settings };
	err = get_all(&r, m);
	if (!err && xml) {
		err = moca_stream_get(s, MOCA_S_MACHINE_XML,
				      (uint8_t *)r.block + fixed + len, xml);
		m->xml = r.block + fixed + len;
		m->xml_len = xml;
	}
	if (err)
		free(r.block);
	else
		*out = m;
err_raw:
	free(raw);
	return err;
}
