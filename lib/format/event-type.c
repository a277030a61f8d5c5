// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/event-type.h"

size_t moca_type_text_len(const struct moca_type_text *t)
{
	return strlen(t->facility) + strlen(t->name) + strlen(t->fields) + 3;
}

int moca_type_encode(struct moca_buf *b, const struct moca_type_text *t)
{
	const char *const strings[] = { t->facility, t->name, t->fields };
	uint8_t id[MOCA_VARINT_MAX];
	size_t i, n, len = moca_put_varint(id, t->id);

	if (moca_buf_reserve(b, 2 * MOCA_VARINT_MAX + moca_type_text_len(t)))
		return -ENOMEM;
	b->len += moca_put_varint(b->data + b->len,
				  len + moca_type_text_len(t));
	memcpy(b->data + b->len, id, len);
	b->len += len;
	for (i = 0; i < 3; i++) {
		n = strlen(strings[i]) + 1;
		memcpy(b->data + b->len, strings[i], n);
		b->len += n;
	}
	return 0;
}

static int get_string(const char **out, const uint8_t **p, const uint8_t *end)
{
	const uint8_t *nul = memchr(*p, 0, (size_t)(end - *p));

	if (!nul)
		return -EBADMSG;
	*out = (const char *)*p;
	*p = nul + 1;
	return 0;
}

int moca_type_decode(struct moca_type_text *t, const uint8_t **p,
		     const uint8_t *end)
{
	const uint8_t *q;
	uint64_t len, id;

	if (moca_get_varint(p, end, &len) || len > (uint64_t)(end - *p))
		return -EBADMSG;
	q = *p;
	end = q + len;
	*p = end;
	if (moca_get_varint(&q, end, &id) || id > UINT32_MAX ||
	    get_string(&t->facility, &q, end) || get_string(&t->name, &q, end) ||
	    get_string(&t->fields, &q, end))
		return -EBADMSG;
	t->id = (uint32_t)id;
	return 0;
}

/* --- parsing, in a copy of the text that is taken to pieces ----------- */

/* Of C, whatever the program's locale. */
static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int is_ident(const char *s)
{
	size_t i;

	for (i = 0; s[i]; i++)
		if (!is_letter(s[i]) && (!i || !is_digit(s[i])))
			return 0;
	return i && i <= MOCA_IDENT_MAX;
}

/* The next word of a line, or NULL; the blank behind it becomes a NUL. */
static char *word(char **line)
{
	char *s = *line, *end;

	if (!s || !*s)
		return NULL;
	end = strchr(s, ' ');
	*line = end ? end + 1 : NULL;
	if (end)
		*end = 0;
	return s;
}

static int parse_element(struct moca_field *f, const char *s)
{
	static const struct {
		char letter;
		uint8_t kind;
	} kinds[] = {
		{ 'u', MOCA_FIELD_UNSIGNED },
		{ 's', MOCA_FIELD_SIGNED },
		{ 'x', MOCA_FIELD_HEX },
		{ 'f', MOCA_FIELD_FLOAT },
	};
	size_t i;

	if (!s)
		return -EINVAL;
	f->size = !strcmp(s + !!*s, "8")  ? 1 :
		  !strcmp(s + !!*s, "16") ? 2 :
		  !strcmp(s + !!*s, "32") ? 4 :
		  !strcmp(s + !!*s, "64") ? 8 :
					    0;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (*s == kinds[i].letter)
			f->kind = kinds[i].kind;
	if (!f->size || !f->kind ||
	    (f->kind == MOCA_FIELD_FLOAT && f->size < 4))
		return -EINVAL;
	return 0;
}

/* s without the blanks around it. */
static char *trim(char *s)
{
	char *end;

	s += strspn(s, " \t");
	for (end = s + strlen(s); end > s && strchr(" \t", end[-1]); end--)
		end[-1] = 0;
	return s;
}

static int parse_count(struct moca_field *f, char *s)
{
	unsigned long long v;
	char *end;

	if (!s || !is_digit(*s))
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, 10);
	if (errno || *end || !v || v > MOCA_ARRAY_BYTES / f->size)
		return -EINVAL;
	f->count = (uint32_t)v;
	return 0;
}

/* LABEL=VALUE; the value as a C compiler takes it for an int. */
static int parse_label(struct moca_field_label *l, char *s)
{
	char *equals = strrchr(s, '='), *end;
	long long v;

	if (!equals)
		return -EINVAL;
	*equals = 0;
	s = trim(s);
	if (!*s || strlen(s) > MOCA_LABEL_MAX)
		return -EINVAL;
	l->label = s;
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return -EINVAL;
	s = trim(equals + 1);
	if (!*s)
		return -EINVAL;
	errno = 0;
	v = strtoll(s, &end, 0);
	if (errno || *end || v < INT32_MIN || v > UINT32_MAX)
		return -EINVAL;
	l->value = (int32_t)v;
	return 0;
}

/* LABEL=VALUE,... into *free_labels, which are enough for all commas. */
static int parse_labels(struct moca_field *f, char *s,
			struct moca_field_label **free_labels)
{
	char *comma;

	f->kind = MOCA_FIELD_ENUM;
	f->size = 4;
	f->labels = *free_labels;
	for (; s; s = comma) {
		comma = strchr(s, ',');
		if (comma)
			*comma++ = 0;
		/* None at all, or a comma behind the last one, as in C. */
		if (!comma && !*trim(s))
			break;
		if (parse_label(*free_labels, s))
			return -EINVAL;
		++*free_labels;
		f->label_count++;
	}
	return 0;
}

static int parse_field(struct moca_field *f, char *line,
		       struct moca_field_label **free_labels)
{
	char *kind = word(&line), *s;
	int ret;

	f->name = word(&line);
	if (!kind || !f->name || !is_ident(f->name))
		return -EINVAL;
	if (!strcmp(kind, "enum")) {
		s = word(&line);
		if (!s || strcmp(s, "s32"))
			return -EINVAL;
		return parse_labels(f, line, free_labels);
	}
	if (!strcmp(kind, "array")) {
		f->shape = MOCA_FIELD_ARRAY;
		ret = parse_element(f, word(&line));
		return ret ? ret : parse_count(f, line);
	}
	if (!strcmp(kind, "sequence")) {
		f->shape = MOCA_FIELD_SEQUENCE;
		ret = parse_element(f, word(&line));
	} else if (!strcmp(kind, "string")) {
		f->kind = MOCA_FIELD_STRING;
		f->size = 1;
		ret = 0;
	} else {
		ret = parse_element(f, kind);
	}
	return !ret && line ? -EINVAL : ret;
}

static int parse_fields(struct moca_field *fields, size_t *count, char *text,
			struct moca_field_label *labels)
{
	char *line, *end;
	size_t i, n = 0;

	for (line = text; *line; line = end + 1) {
		end = strchr(line, '\n');
		if (!end || n == MOCA_FIELDS_MAX)
			return -EINVAL;
		*end = 0;
		if (parse_field(&fields[n], line, &labels))
			return -EINVAL;
		for (i = 0; i < n; i++)
			if (!strcmp(fields[i].name, fields[n].name))
				return -EINVAL;
		n++;
	}
	*count = n;
	return 0;
}

static void set_length(struct moca_type *t)
{
	const struct moca_field *f = t->type.fields;
	size_t i;

	t->is_fixed = 1;
	for (i = 0; i < t->type.field_count; i++, f++) {
		t->is_fixed &= f->kind != MOCA_FIELD_STRING &&
			       f->shape != MOCA_FIELD_SEQUENCE;
		t->fixed_len += f->size *
				(f->shape == MOCA_FIELD_ARRAY ? f->count : 1);
	}
}

int moca_type_parse(struct moca_type **out, const struct moca_type_text *t)
{
	size_t text, labels = MOCA_FIELDS_MAX;
	struct moca_field_label *l;
	struct moca_field *f;
	struct moca_type *p;
	const char *s;
	char *copy;

	if (t->id < MOCA_REC_FIRST || t->id > MOCA_REC_LAST ||
	    !is_ident(t->facility) || !is_ident(t->name) ||
	    strlen(t->fields) > MOCA_FIELDS_TEXT_MAX)
		return -EINVAL;
	for (s = t->fields; *s; s++)
		labels += *s == ',';
	text = moca_type_text_len(t) + strlen(t->fields) + 1;
	p = calloc(1, sizeof(*p) + MOCA_FIELDS_MAX * sizeof(*f) +
			      labels * sizeof(*l) + text);
	if (!p)
		return -ENOMEM;
	f = (struct moca_field *)(p + 1);
	l = (struct moca_field_label *)(f + MOCA_FIELDS_MAX);
	copy = (char *)(l + labels);
	p->type.id = t->id;
	p->type.fields = f;
	p->type.facility = copy;
	copy = stpcpy(copy, t->facility) + 1;
	p->type.name = copy;
	copy = stpcpy(copy, t->name) + 1;
	p->fields = copy;
	copy = stpcpy(copy, t->fields) + 1;
	strcpy(copy, t->fields);
	if (parse_fields(f, &p->type.field_count, copy, l)) {
		free(p);
		return -EINVAL;
	}
	set_length(p);
	*out = p;
	return 0;
}

/* --- all of a trace --------------------------------------------------- */

void moca_types_free(struct moca_types *t)
{
	uint32_t id;

	for (id = 0; t->by_id && id <= MOCA_REC_LAST; id++)
		free(t->by_id[id]);
	free(t->by_id);
	free(t->list);
	*t = (struct moca_types){ 0 };
}

const struct moca_type *moca_types_find(const struct moca_types *t,
					uint32_t id)
{
	return t->by_id && id <= MOCA_REC_LAST ? t->by_id[id] : NULL;
}

int moca_types_add(struct moca_types *t, const struct moca_type_text *text)
{
	size_t len = moca_type_text_len(text);
	struct moca_type *p, *old;
	int ret;

	if (!t->by_id)
		t->by_id = calloc(MOCA_REC_LAST + 1, sizeof(*t->by_id));
	if (!t->by_id)
		return -ENOMEM;
	old = text->id <= MOCA_REC_LAST ? t->by_id[text->id] : NULL;
	if (old)
		return !strcmp(old->type.facility, text->facility) &&
				       !strcmp(old->type.name, text->name) &&
				       !strcmp(old->fields, text->fields) ?
			       0 :
			       -EINVAL;
	if (len > MOCA_TYPES_TEXT_MAX - t->text_bytes)
		return -EINVAL;
	ret = moca_type_parse(&p, text);
	if (ret)
		return ret;
	t->by_id[text->id] = p;
	t->text_bytes += len;
	t->count++;
	return 0;
}

void moca_types_remove(struct moca_types *t, uint32_t id)
{
	struct moca_type *p = t->by_id[id];

	t->text_bytes -= strlen(p->type.facility) + strlen(p->type.name) +
			 strlen(p->fields) + 3;
	t->count--;
	t->by_id[id] = NULL;
	free(p);
}

int moca_types_finish(struct moca_types *t)
{
	size_t n = 0;
	uint32_t id;

	t->list = calloc(t->count + 1, sizeof(*t->list));
	if (!t->list)
		return -ENOMEM;
	for (id = 0; t->by_id && id <= MOCA_REC_LAST; id++)
		if (t->by_id[id])
			t->list[n++] = &t->by_id[id]->type;
	return 0;
}

int moca_decoder_types(struct moca_decoder *d, const struct moca_file *f,
		       const struct moca_header *h, uint64_t pos,
		       int (*each)(void *arg, const struct moca_type_text *t),
		       void *arg)
{
	struct moca_type_text t;
	const uint8_t *p, *end;
	int ret, bad = 0;
	uint32_t i;

	ret = moca_decoder_bytes(d, f, h, pos, MOCA_S_TYPES,
				 MOCA_TYPES_RAW_MAX);
	if (ret)
		return ret;
	p = d->changes.data;
	end = p + d->changes.len;
	for (i = 0; i < h->records; i++) {
		ret = moca_type_decode(&t, &p, end);
		if (!ret)
			ret = each(arg, &t);
		if (ret == -EBADMSG)
			bad = 1;
		else if (ret)
			return ret;
	}
	return bad || p != end ? -EBADMSG : 0;
}
