// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * moca completion bash|zsh|fish: a script that completes moca's command line,
 * made of the commands' option tables. `make` writes the three.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "lib/base/err.h"
#include "lib/cmdline/options.h"

#define VERBS_MOST 16
#define WORD_MOST 48

/* What may stand after an option, or as an operand. */
enum value {
	VALUE_NONE,		/* nothing: a flag */
	VALUE_ANY,		/* a word that nobody can guess */
	VALUE_FOLDER,
	VALUE_FILE,
	VALUE_CHOICE,		/* one of spec->arg, parted by | */
	VALUE_PROGRAM,		/* a program and its arguments */
	VALUE_SQL,		/* a trace, and a statement that is asked of it */
};

/* One way to say something in a shell's language. */
struct shell {
	const char *name;
	void (*begin)(const struct command *list, size_t n);
	/* verb is NULL, or a word that stands behind the command's name. */
	void (*command)(const char *command, const char *verb,
			const struct option_spec *specs, enum value operand);
	/* The words that may stand behind the command's name. */
	void (*verbs)(const char *command, char words[][WORD_MOST], size_t n);
	void (*end)(void);
};

struct context {
	const struct shell *shell;
	const char *command, *verb;
	char verbs[VERBS_MOST][WORD_MOST];
	size_t verb_count;
};

static enum value value_of(const struct option_spec *o)
{
	if (o->kind == OPTION_FLAG)
		return VALUE_NONE;
	if (!o->arg || (o->kind != OPTION_STRING && o->kind != OPTION_LIST))
		return VALUE_ANY;
	if (strchr(o->arg, '|'))
		return VALUE_CHOICE;
	if (!strcmp(o->arg, "DIR") || !strcmp(o->arg, "OUT"))
		return VALUE_FOLDER;
	/* A machine may be described by a file. */
	if (!strcmp(o->arg, "FILE") || !strcmp(o->arg, "MACHINE"))
		return VALUE_FILE;
	return VALUE_ANY;
}

/* What a usage says of operands. */
static enum value operand_of(const char *usage, int mixed)
{
	if (!mixed)
		return VALUE_PROGRAM;
	if (strstr(usage, "DIR SQL"))
		return VALUE_SQL;
	if (strstr(usage, "DIR") || strstr(usage, " A B"))
		return VALUE_FOLDER;
	return strstr(usage, "ARGUMENTS") ? VALUE_FILE : VALUE_ANY;
}

/* Is this option for users? */
static int is_shown(const struct option_spec *o)
{
	return o->help != NULL;
}

#define EACH_OPTION(o, specs) \
	for (o = specs; o->letter || o->name; o++) \
		if (is_shown(o))

/* --- bash --------------------------------------------------------------- */

static void bash_begin(const struct command *list, size_t n)
{
	size_t i;

	printf("# bash completion for moca, made by `moca completion bash`.\n"
	       "_moca_table() {\n"
	       "\toptions=' -h --help ' folders= files= choices= words= "
	       "operand=any verbs=\n"
	       "\tcase $1 in\n\t'')\n\t\tverbs='");
	for (i = 0; i < n; i++)
		printf("%s%s", i ? " " : "", list[i].name);
	printf("' ;;\n");
}

/* " -o --output": the words of an option, with blanks around each. */
static void bash_words(const struct option_spec *o)
{
	if (o->letter)
		printf("-%c ", o->letter);
	if (o->name)
		printf("--%s ", o->name);
}

static void bash_list(const char *variable, const struct option_spec *specs,
		      unsigned int values)
{
	const struct option_spec *o;

	printf("\t\t%s+=' ", variable);
	EACH_OPTION(o, specs) {
		if (1u << value_of(o) & values)
			bash_words(o);
	}
	printf("'\n");
}

static void bash_command(const char *command, const char *verb,
			 const struct option_spec *specs, enum value operand)
{
	static const char *const operands[] = {
		[VALUE_ANY] = "any", [VALUE_FOLDER] = "folder",
		[VALUE_FILE] = "file", [VALUE_PROGRAM] = "program",
		[VALUE_SQL] = "sql",
	};
	const struct option_spec *o;
	const char *c;

	printf("\t'%s%s%s')\n", command, verb ? " " : "", verb ? verb : "");
	bash_list("options", specs, ~0u);
	bash_list("words", specs, 1u << VALUE_ANY);
	bash_list("folders", specs, 1u << VALUE_FOLDER);
	bash_list("files", specs, 1u << VALUE_FILE);
	bash_list("choices", specs, 1u << VALUE_CHOICE);
	EACH_OPTION(o, specs) {
		if (value_of(o) != VALUE_CHOICE)
			continue;
		printf("\t\t[ \"${2-}\" != '--%s' ] || chosen='", o->name);
		for (c = o->arg; *c; c++)
			putchar(*c == '|' ? ' ' : *c);
		printf("'\n");
	}
	printf("\t\toperand=%s ;;\n", operands[operand]);
}

static void bash_verbs(const char *command, char words[][WORD_MOST], size_t n)
{
	size_t i;

	printf("\t'%s verbs')\n\t\tverbs='", command);
	for (i = 0; i < n; i++)
		printf("%s%s", i ? " " : "", words[i]);
	printf("' ;;\n");
}

static void bash_end(void)
{
	printf("%s",
"\tesac\n"
"}\n\n"
"# The trace, or what the trace knows of the statement: one word in quotes.\n"
"_moca_sql() {\n"
"\tlocal i n=0 dir= before=\n"
"\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
"\t\t[[ ${COMP_WORDS[i]} == -* ]] && continue\n"
"\t\t((n++)) || dir=${COMP_WORDS[i]//[\\\\\\'\\\"]/}\n"
"\tdone\n"
"\tif ((n == 0)); then\n"
"\t\tmapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n"
"\t\treturn\n"
"\tfi\n"
"\t[ \"$n\" = 1 ] || before='.schema '\n"
"\t((n == 1)) || { ((n == 2)) && [ \"$prev\" = .schema ]; } || return\n"
"\tmapfile -t COMPREPLY < <(\"${COMP_WORDS[0]/#~\\//$HOME/}\" query \"${dir/#~\\//$HOME/}\" .complete \"$before${cur#[\\'\\\"]}\" 2>/dev/null)\n"
"\tCOMPREPLY=(\"${COMPREPLY[@]#\"$before\"}\")\n"
"\t# Neither names of files, nor at their end.\n"
"\tcompopt +o filenames -o nospace 2>/dev/null\n"
"}\n\n"
"_moca() {\n"
"\tlocal cur prev i command last options folders files choices words\n"
"\tlocal operand verbs chosen= key\n"
"\tCOMPREPLY=()\n"
"\tcur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
"\t# bash takes --output=x for three words.\n"
"\tif [ \"$cur\" = = ]; then\n"
"\t\tcur=\n"
"\telif [ \"$prev\" = = ]; then\n"
"\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}\n"
"\tfi\n"
"\tcommand=${COMP_WORDS[1]}\n"
"\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
"\t\t_moca_table ''\n"
"\t\tCOMPREPLY=($(compgen -W \"$verbs\" -- \"$cur\"))\n"
"\t\treturn\n"
"\tfi\n"
"\tif [ \"$command\" = help ] && [ \"$COMP_CWORD\" = 2 ]; then\n"
"\t\t_moca_table ''\n"
"\t\tCOMPREPLY=($(compgen -W \"$verbs\" -- \"$cur\"))\n"
"\t\treturn\n"
"\tfi\n"
"\tkey=$command\n"
"\t_moca_table \"$command verbs\"\n"
"\tlast=$verbs\n"
"\tif [ \"$COMP_CWORD\" -gt 2 ] && [[ \" $verbs \" == *\" ${COMP_WORDS[2]} \"* ]]; then\n"
"\t\tkey=\"$command ${COMP_WORDS[2]}\"\n"
"\t\tlast=\n"
"\tfi\n"
"\t_moca_table \"$key\" \"$prev\"\n"
"\t# Behind the program's name nothing is ours.\n"
"\tif [ \"$operand\" = program ]; then\n"
"\t\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
"\t\t\tcase ${COMP_WORDS[i]} in\n"
"\t\t\t--) ((i++)); break ;;\n"
"\t\t\t=) ((i++)) ;;\n"
"\t\t\t-*)\n"
"\t\t\t\t[[ \"$words$folders$files$choices\" == *\" ${COMP_WORDS[i]} \"* ]] &&\n"
"\t\t\t\t\t[ \"${COMP_WORDS[i + 1]}\" != = ] && ((i++)) ;;\n"
"\t\t\t*) break ;;\n"
"\t\t\tesac\n"
"\t\tdone\n"
"\t\tif ((i <= COMP_CWORD)) && { [ \"${COMP_WORDS[i - 1]}\" = -- ] || ((i < COMP_CWORD)); }; then\n"
"\t\t\tif declare -F _command_offset >/dev/null; then\n"
"\t\t\t\t_command_offset \"$i\"\n"
"\t\t\telif ((i == COMP_CWORD)); then\n"
"\t\t\t\tCOMPREPLY=($(compgen -c -- \"$cur\"))\n"
"\t\t\telse\n"
"\t\t\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
"\t\t\tfi\n"
"\t\t\treturn\n"
"\t\tfi\n"
"\tfi\n"
"\tcase $prev in\n"
"\t-*)\n"
"\t\tcase \" $folders \" in *\" $prev \"*)\n"
"\t\t\tmapfile -t COMPREPLY < <(compgen -d -- \"$cur\"); return ;; esac\n"
"\t\tcase \" $files \" in *\" $prev \"*)\n"
"\t\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;; esac\n"
"\t\tcase \" $choices \" in *\" $prev \"*)\n"
"\t\t\tCOMPREPLY=($(compgen -W \"$chosen\" -- \"$cur\")); return ;; esac\n"
"\t\tcase \" $words \" in *\" $prev \"*) return ;; esac ;;\n"
"\tesac\n"
"\tcase $cur in\n"
"\t-*)\n"
"\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
"\t\treturn ;;\n"
"\tesac\n"
"\tcase $operand in\n"
"\tprogram) COMPREPLY=($(compgen -W \"$last\" -- \"$cur\") $(compgen -c -- \"$cur\")) ;;\n"
"\tfolder) mapfile -t COMPREPLY < <(compgen -W \"$last\" -- \"$cur\"; compgen -d -- \"$cur\") ;;\n"
"\tfile) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
"\tsql) _moca_sql ;;\n"
"\tesac\n"
"}\n"
"complete -o filenames -F _moca moca\n");
}

/* --- zsh ---------------------------------------------------------------- */

/* Inside '...' and, with mark, inside _arguments' [...] and fields. */
static void zsh_text(const char *s, int mark)
{
	for (; *s; s++) {
		if (*s == '\'')
			printf("'\\''");
		else if (mark && strchr("[]:\\", *s))
			printf("\\%c", *s);
		else
			putchar(*s);
	}
}

static void zsh_begin(const struct command *list, size_t n)
{
	size_t i;

	printf("#compdef moca\n"
	       "# zsh completion for moca, made by `moca completion zsh`.\n"
	       "_moca_commands() {\n\tlocal -a list\n\tlist=(\n");
	for (i = 0; i < n; i++) {
		printf("\t\t'%s:", list[i].name);
		zsh_text(list[i].help, 0);
		printf("'\n");
	}
	printf("\t)\n\t_describe -t commands 'moca command' list\n}\n\n"
	       "_moca_help() { _arguments '1:command:_moca_commands' }\n\n");
}

/* The action of an argument. */
static void zsh_value(const struct option_spec *o)
{
	const char *c;

	printf(":");
	zsh_text(o->arg ? o->arg : "value", 1);
	switch (value_of(o)) {
	case VALUE_FOLDER:
		printf(":_files -/");
		break;
	case VALUE_FILE:
		printf(":_files");
		break;
	case VALUE_CHOICE:
		printf(":(");
		for (c = o->arg; *c; c++)
			putchar(*c == '|' ? ' ' : *c);
		putchar(')');
		break;
	default:
		printf(": ");
	}
}

static void zsh_option(const struct option_spec *o)
{
	int takes = o->kind != OPTION_FLAG;

	printf("\t\t'%s", o->kind == OPTION_LIST ? "*" : "");
	if (o->letter && o->name && o->kind != OPTION_LIST)
		printf("(-%c --%s)'{-%c%s,--%s%s}'", o->letter, o->name,
		       o->letter, takes ? "+" : "", o->name,
		       takes ? "=" : "");
	else if (o->letter && o->name)
		printf("'{-%c%s,--%s%s}'", o->letter, takes ? "+" : "",
		       o->name, takes ? "=" : "");
	else if (o->name)
		printf("--%s%s", o->name, takes ? "=" : "");
	else
		printf("-%c%s", o->letter, takes ? "+" : "");
	putchar('[');
	zsh_text(o->help, 1);
	putchar(']');
	if (takes)
		zsh_value(o);
	printf("' \\\n");
}

static void zsh_command(const char *command, const char *verb,
			const struct option_spec *specs, enum value operand)
{
	const struct option_spec *o;

	printf("_moca_%s%s%s() {\n\t_arguments -s %s\\\n", command,
	       verb ? "_" : "", verb ? verb : "",
	       operand == VALUE_PROGRAM ? "-A '-*' " : "");
	EACH_OPTION(o, specs)
		zsh_option(o);
	printf("\t\t'(-h --help)'{-h,--help}'[show this help]'");
	switch (operand) {
	case VALUE_PROGRAM:
		printf(" \\\n\t\t'(-)1:program:_command_names -e' \\\n"
		       "\t\t'*::arguments:_normal'\n");
		break;
	case VALUE_FOLDER:
		printf(" \\\n\t\t'*:directory:_files -/'\n");
		break;
	case VALUE_FILE:
		printf(" \\\n\t\t'*:file:_files'\n");
		break;
	case VALUE_SQL:
		printf(" \\\n\t\t'1:directory:_files -/' \\\n"
		       "\t\t'2:statement: _moca_sql' \\\n"
		       "\t\t'3:table: _moca_sql .schema'\n");
		break;
	default:
		printf("\n");
	}
	printf("}\n\n");
}

/* Verbs come first, or the command's own arguments. */
static void zsh_verbs(const char *command, char words[][WORD_MOST], size_t n)
{
	size_t i;

	printf("_moca_%s_verbs=(", command);
	for (i = 0; i < n; i++)
		printf("%s%s", i ? " " : "", words[i]);
	printf(")\n\n");
}

static void zsh_end(void)
{
	printf("%s",
"# What the trace knows of the statement: one word in quotes.\n"
"_moca_sql() {\n"
"\tlocal -a list operands\n"
"\tlocal before=${1:+$1 }\n"
"\toperands=(${${words[2,CURRENT-1]}:#-*})\n"
"\tlist=(\"${(@f)$($_moca_called query ${(Q)operands[1]/#\\~\\//$HOME/} .complete \"$before$PREFIX\" 2>/dev/null)}\")\n"
"\tlist=(${list#$before})\n"
"\tcompadd -S '' -- $list\n"
"}\n\n"
"_moca() {\n"
"\tlocal command verbs _moca_called=$words[1]\n"
"\tif (( CURRENT == 2 )); then\n"
"\t\t_moca_commands\n"
"\t\treturn\n"
"\tfi\n"
"\tcommand=$words[2]\n"
"\tshift words\n"
"\t(( CURRENT-- ))\n"
"\tverbs=_moca_${command}_verbs\n"
"\tif (( ${(P)#verbs} )); then\n"
"\t\tif (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
"\t\t\tcompadd -- ${(P)verbs}\n"
"\t\telif (( CURRENT > 2 && ${${(P)verbs}[(Ie)$words[2]]} )); then\n"
"\t\t\tcommand+=_$words[2]\n"
"\t\t\tshift words\n"
"\t\t\t(( CURRENT-- ))\n"
"\t\tfi\n"
"\tfi\n"
"\t(( $+functions[_moca_$command] )) && _moca_$command\n"
"}\n\n"
"if [[ $zsh_eval_context[-1] = loadautofunc ]]; then\n"
"\t_moca \"$@\"\n"
"else\n"
"\tcompdef _moca moca\n"
"fi\n");
}

/* --- fish --------------------------------------------------------------- */

static void fish_text(const char *s)
{
	for (; *s; s++) {
		if (*s == '\'' || *s == '\\')
			putchar('\\');
		putchar(*s);
	}
}

static void fish_begin(const struct command *list, size_t n)
{
	size_t i;

	printf("# fish completion for moca, made by `moca completion fish`.\n"
	       "function __moca_at\n"
	       "\tset -l words (commandline -opc)\n"
	       "\ttest (count $words) -gt (count $argv); or return 1\n"
	       "\tif test (count $argv) -eq 1; and test (count $words) -gt 2\n"
	       "\t\tcontains -- \"$words[2] $words[3]\" $__moca_verbs; and return 1\n"
	       "\tend\n"
	       "\tfor i in (seq (count $argv))\n"
	       "\t\tset -l j (math $i + 1)\n"
	       "\t\ttest \"$words[$j]\" = \"$argv[$i]\"; or return 1\n"
	       "\tend\n"
	       "end\n"
	       "function __moca_first\n"
	       "\ttest (count (commandline -opc)) -eq $argv[1]\n"
	       "end\n"
	       "function __moca_program\n"
	       "\tset -l words (commandline -opc)\n"
	       "\tset -l i (contains -i -- -- $words)\n"
	       "\tand set -e words[1..$i]; or set words\n"
	       "\tset -a words (commandline -ct)\n"
	       "\ttest -n \"$words\"; and complete --do-complete=\"$words\"\n"
	       "end\n"
	       "function __moca_sql\n"
	       "\tset -l words (commandline -opc)\n"
	       "\tset -l called $words[1]\n"
	       "\tset -l operands (string match -v -- '-*' $words[3..])\n"
	       "\tset -l text (commandline -ct | string unescape)\n"
	       "\tset -q text[1]; or set text (commandline -ct | string replace -r '^[\\'\"]' '')\n"
	       "\tset -l n (count $operands)\n"
	       "\tset -l dir (string replace -r '^~/' $HOME/ -- $operands[1])\n"
	       "\tswitch $n\n"
	       "\tcase 0\n"
	       "\t\t__fish_complete_directories\n"
	       "\tcase 1\n"
	       "\t\t$called query $dir .complete \"$text\" 2>/dev/null\n"
	       "\tcase 2\n"
	       "\t\ttest $operands[2] = .schema; or return\n"
	       "\t\t$called query $dir .complete \".schema $text\" 2>/dev/null | string replace '.schema ' ''\n"
	       "\tend\n"
	       "end\n"
	       "set -g __moca_verbs\n"
	       "complete -c moca -f\n");
	for (i = 0; i < n; i++) {
		printf("complete -c moca -n '__moca_first 1' -a '%s' -d '",
		       list[i].name);
		fish_text(list[i].help);
		printf("'\n");
		printf("complete -c moca -n '__moca_at help; and __moca_first 2' "
		       "-a '%s'\n", list[i].name);
	}
}

static void fish_option(const char *at, const struct option_spec *o)
{
	const char *c;

	printf("complete -c moca -n '__moca_at %s'", at);
	if (o->letter)
		printf(" -s %c", o->letter);
	if (o->name)
		printf(" -l %s", o->name);
	switch (value_of(o)) {
	case VALUE_NONE:
		break;
	case VALUE_FOLDER:
		printf(" -x -a '(__fish_complete_directories)'");
		break;
	case VALUE_FILE:
		printf(" -r -F");
		break;
	case VALUE_CHOICE:
		printf(" -x -a '");
		for (c = o->arg; *c; c++)
			putchar(*c == '|' ? ' ' : *c);
		putchar('\'');
		break;
	default:
		printf(" -x");
	}
	printf(" -d '");
	fish_text(o->help);
	printf("'\n");
}

static void fish_command(const char *command, const char *verb,
			 const struct option_spec *specs, enum value operand)
{
	static const char *const actions[] = {
		[VALUE_FOLDER] = "-a '(__fish_complete_directories)'",
		[VALUE_FILE] = "-F",
		[VALUE_PROGRAM] =
			"-a '(__moca_program)'",
		[VALUE_SQL] = "-a '(__moca_sql)'",
		[VALUE_ANY] = NULL,
	};
	const struct option_spec *o;
	char at[2 * WORD_MOST + 2];

	snprintf(at, sizeof(at), "%s%s%s", command, verb ? " " : "",
		 verb ? verb : "");
	EACH_OPTION(o, specs)
		fish_option(at, o);
	printf("complete -c moca -n '__moca_at %s' -s h -l help "
	       "-d 'show this help'\n", at);
	if (actions[operand])
		printf("complete -c moca -n '__moca_at %s' %s\n", at,
		       actions[operand]);
}

static void fish_verbs(const char *command, char words[][WORD_MOST], size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		printf("set -a __moca_verbs '%s %s'\n"
		       "complete -c moca -n '__moca_at %s; and __moca_first 2' "
		       "-a '%s'\n", command, words[i], command, words[i]);
}

static void fish_end(void)
{
}

/* --- the tables --------------------------------------------------------- */

static const struct shell shells[] = {
	{ "bash", bash_begin, bash_command, bash_verbs, bash_end },
	{ "zsh", zsh_begin, zsh_command, zsh_verbs, zsh_end },
	{ "fish", fish_begin, fish_command, fish_verbs, fish_end },
};

/* "moca trace stop|switch NAME": the lower-case words behind the command. */
static void find_verbs(struct context *c, const char *usage)
{
	char head[WORD_MOST];
	const char *s = usage;
	size_t n;

	snprintf(head, sizeof(head), "moca %s ", c->command);
	while ((s = strstr(s, head))) {
		s += strlen(head);
		while (islower((unsigned char)*s) &&
		       c->verb_count < VERBS_MOST) {
			n = strspn(s, "abcdefghijklmnopqrstuvwxyz-");
			if (n >= WORD_MOST)
				break;
			memcpy(c->verbs[c->verb_count], s, n);
			c->verbs[c->verb_count++][n] = 0;
			s += n;
			if (*s != '|')
				break;
			s++;
		}
	}
}

static void take(void *ctx, const struct option_spec *specs, const char *usage,
		 int mixed)
{
	struct context *c = ctx;

	if (!c->verb)
		find_verbs(c, usage);
	c->shell->command(c->command, c->verb, specs,
			  operand_of(usage, mixed));
}

static void complete_command(struct context *c, const struct command *cmd)
{
	char *argv[4] = { (char *)cmd->name, (char *)"--help", NULL, NULL };
	size_t i;

	c->command = cmd->name;
	c->verb = NULL;
	c->verb_count = 0;
	cmd->run(2, argv);
	for (i = 0; i < c->verb_count; i++) {
		c->verb = c->verbs[i];
		argv[1] = c->verbs[i];
		argv[2] = (char *)"--help";
		cmd->run(3, argv);
	}
	if (c->verb_count)
		c->shell->verbs(c->command, c->verbs, c->verb_count);
}

int command_completion(const struct command *list, size_t n, int argc,
		       char **argv)
{
	struct context c = { 0 };
	size_t i;

	for (i = 0; argc == 2 && i < sizeof(shells) / sizeof(*shells); i++)
		if (!strcmp(argv[1], shells[i].name))
			c.shell = &shells[i];
	if (!c.shell) {
		moca_error("usage: moca completion bash|zsh|fish");
		return EXIT_USAGE;
	}
	c.shell->begin(list, n);
	moca_options_take(take, &c);
	/* help has no options, and would print. */
	for (i = 0; i < n; i++)
		if (strcmp(list[i].name, "help"))
			complete_command(&c, &list[i]);
	moca_options_take(NULL, NULL);
	c.shell->end();
	return 0;
}
