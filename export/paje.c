// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/paje.h"

#include "lib/base/utf8.h"

/* Numbers of the events below. */
enum { TYPE, VARIABLE, STATE, CREATE, DESTROY, SET, PUSH, POP };

/* As `paje_begin` numbers them. */
static const char definitions[] =
	"%EventDef PajeDefineContainerType 0\n"
	"% Alias string\n% Type string\n% Name string\n%EndEventDef\n"
	"%EventDef PajeDefineVariableType 1\n"
	"% Alias string\n% Type string\n% Name string\n% Color color\n%EndEventDef\n"
	"%EventDef PajeDefineStateType 2\n"
	"% Alias string\n% Type string\n% Name string\n%EndEventDef\n"
	"%EventDef PajeCreateContainer 3\n"
	"% Time date\n% Alias string\n% Type string\n% Container string\n"
	"% Name string\n%EndEventDef\n"
	"%EventDef PajeDestroyContainer 4\n"
	"% Time date\n% Type string\n% Name string\n%EndEventDef\n"
	"%EventDef PajeSetVariable 5\n"
	"% Time date\n% Type string\n% Container string\n% Value double\n"
	"%EndEventDef\n"
	"%EventDef PajePushState 6\n"
	"% Time date\n% Type string\n% Container string\n% Value string\n"
	"%EndEventDef\n"
	"%EventDef PajePopState 7\n"
	"% Time date\n% Type string\n% Container string\n%EndEventDef\n";

static const struct {
	const char *alias, *parent, *name;
} kinds[PAJE_KINDS] = {
	[PAJE_TRACE] = { "R", "0", "trace" },
	[PAJE_PROCESS] = { "P", "R", "process" },
	[PAJE_THREAD] = { "T", "P", "thread" },
	[PAJE_USE] = { "U", "T", "use" },
	[PAJE_HEAP] = { "H", "P", "heap" },
};

/* Strings have no escapes: what would end one, or a line, is replaced. */
static void put_string(struct out *o, const char *name)
{
	const unsigned char *s = (const unsigned char *)name;

	out_string(o, " \"");
	while (*s) {
		int n = moca_utf8_length(s);

		if (*s == '"')
			out_byte(o, '\'');
		else if (!n || moca_utf8_is_control(s))
			out_byte(o, '?');
		else
			out_bytes(o, s, (size_t)n);
		s += n ? n : 1;
	}
	out_byte(o, '"');
}

static void put_type(struct out *o, int event, const char *alias,
		     const char *parent, const char *name)
{
	out_u64(o, (uint64_t)event);
	out_byte(o, ' ');
	out_string(o, alias);
	out_byte(o, ' ');
	out_string(o, parent);
	put_string(o, name);
	if (event == VARIABLE)
		out_string(o, " \"0.3 0.5 0.8\"");
	out_byte(o, '\n');
}

/* The alias of the n-th variable: "U0". */
static void put_variable(struct out *o, enum paje_kind kind, size_t n)
{
	out_byte(o, ' ');
	out_string(o, kinds[kind].alias);
	out_u64(o, n);
}

void paje_begin(struct out *o, const char *const *uses, size_t count,
		const char *heap, const char *states)
{
	out_string(o, definitions);
	for (int i = 0; i < PAJE_KINDS; i++)
		put_type(o, TYPE, kinds[i].alias, kinds[i].parent,
			 kinds[i].name);
	for (size_t i = 0; i < count; i++) {
		char alias[] = { 'U', (char)('0' + i), 0 };

		put_type(o, VARIABLE, alias, kinds[PAJE_USE].alias, uses[i]);
	}
	put_type(o, VARIABLE, "H0", kinds[PAJE_HEAP].alias, heap);
	put_type(o, STATE, "S", kinds[PAJE_TRACE].alias, states);
}

/* "EVENT SECONDS" */
static void put_event(struct out *o, int event, uint64_t ns)
{
	char digits[] = "000000000";
	uint64_t rest = ns % 1000000000u;

	for (int i = 8; i >= 0; i--, rest /= 10)
		digits[i] = (char)('0' + rest % 10);
	out_u64(o, (uint64_t)event);
	out_byte(o, ' ');
	out_u64(o, ns / 1000000000u);
	out_byte(o, '.');
	out_string(o, digits);
}

static void put_id(struct out *o, uint32_t id)
{
	out_string(o, " c");
	out_u64(o, id);
}

void paje_container(struct out *o, uint64_t ns, uint32_t id, enum paje_kind kind,
		    uint32_t parent, const char *name)
{
	put_event(o, CREATE, ns);
	put_id(o, id);
	out_byte(o, ' ');
	out_string(o, kinds[kind].alias);
	if (parent == PAJE_NOWHERE)
		out_string(o, " 0");
	else
		put_id(o, parent);
	put_string(o, name);
	out_byte(o, '\n');
}

void paje_container_end(struct out *o, uint64_t ns, uint32_t id,
			enum paje_kind kind)
{
	put_event(o, DESTROY, ns);
	out_byte(o, ' ');
	out_string(o, kinds[kind].alias);
	put_id(o, id);
	out_byte(o, '\n');
}

void paje_value(struct out *o, uint64_t ns, uint32_t id, enum paje_kind kind,
		size_t n, int64_t value)
{
	put_event(o, SET, ns);
	put_variable(o, kind, n);
	put_id(o, id);
	out_byte(o, ' ');
	out_i64(o, value);
	out_byte(o, '\n');
}

void paje_state(struct out *o, uint64_t ns, uint32_t id, const char *name)
{
	put_event(o, name ? PUSH : POP, ns);
	out_string(o, " S");
	put_id(o, id);
	if (name)
		put_string(o, name);
	out_byte(o, '\n');
}
