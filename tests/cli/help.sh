#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside: others
# Help, version, unknown words, and a stdout that cannot be written.
. "$(dirname "$0")/lib.sh.inc"

run help 0 "$MOCA" help && has help "$tmp/out" '^usage: moca' record rate trace info objects summary diff dump query export work check doctor
run --help 0 "$MOCA" --help && has --help "$tmp/out" '^usage: moca'
run --version 0 "$MOCA" --version && has --version "$tmp/out" '^moca [0-9]+\.[0-9]+' '^writes and reads: traces 1, baselines [0-9]+, profiles of jobs [0-9]+$' 'libmoca\.so\.0' 'moca report: (not )?built in' \
	'^records: page accesses .*--exact' '^what programs load: beside it$' '^a live page .*: (by|no,) '
head -1 "$tmp/out" | grep -qxE 'moca [0-9]+\.[0-9]+\.[0-9]+' && ok "--version: first line" || not_ok "--version: first line" "$(head -1 "$tmp/out")"
run "no command" 2 "$MOCA" && has "no command" "$tmp/err" '^usage: moca'
for c in record rate trace cc info objects summary diff dump query export import work check doctor; do
	run "$c --help" 0 "$MOCA" $c --help && has "$c --help" "$tmp/out" "^usage: moca $c"
	run "help $c" 0 "$MOCA" help $c && has "help $c" "$tmp/out" "^usage: moca $c"
done
run "help nonsense" 2 "$MOCA" help nonsense && ok "help nonsense"
run "mistyped command" 2 "$MOCA" recrod &&
	has "mistyped command" "$tmp/err" "did you mean 'moca record'"
run "unknown command" 2 "$MOCA" frobnicate && has "unknown command" "$tmp/err" "moca help"
run "unknown option" 2 "$MOCA" --frobnicate && has "unknown option" "$tmp/err" frobnicate
for c in rate work info dump export query check doctor; do
	run "$c, unknown option" 2 "$MOCA" $c --frobnicate x &&
		has "$c, unknown option" "$tmp/err" "frobnicate"
	run "$c, unknown letter" 2 "$MOCA" $c -z x && has "$c, unknown letter" "$tmp/err" "'-z'"
done
for c in info dump export check; do
	run "$c, no trace given" 2 "$MOCA" $c && has "$c, no trace given" "$tmp/err" 'which trace'
	run "$c, two traces" 2 "$MOCA" $c a b && has "$c, two traces" "$tmp/err" "'b' is too much"
done

"$MAKE_TRACE" "$tmp/trace" || not_ok "make-trace" "it failed"
full() {
	"$@" >/dev/full 2>"$tmp/err"
	local code=$?
	if [ $code = 0 ]; then
		not_ok "full disk: ${*:2:1}" "exit code 0"
	else
		has "full disk: ${*:2:1}" "$tmp/err" 'cannot write the output'
	fi
}
full "$MOCA" help
full "$MOCA" info "$tmp/trace"
full "$MOCA" dump "$tmp/trace"
full "$MOCA" summary "$tmp/trace"
full "$MOCA" diff "$tmp/trace" "$tmp/trace"
full "$MOCA" check "$tmp/trace"
full "$MOCA" doctor
finish
