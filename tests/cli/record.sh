#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside: others
# Options of moca record: which programs, which stacks, what is said.
. "$(dirname "$0")/lib.sh.inc"

# Each file of a trace, away or with a bit flipped in its header: all commands say so.
damaged() {
	local reader
	"$MOCA" check "$tmp/harm" >"$tmp/out" && not_ok "damage: $1" "moca check: sound" && return
	for reader in info summary objects dump report export query diff; do
		case $reader in
		report) set -- "$1" -q -o "$tmp/harm.html" "$tmp/harm" ;;
		export) set -- "$1" --to csv --table tasks -o - "$tmp/harm" ;;
		query) set -- "$1" "$tmp/harm" "SELECT count(*) FROM tasks" ;;
		diff) set -- "$1" "$tmp/whole" "$tmp/harm" ;;
		*) set -- "$1" "$tmp/harm" ;;
		esac
		run "damage: $1: $reader" 1 "$MOCA" "$reader" "${@:2}" || return
		grep -q "parts of '.*/harm' are missing, or are damaged and were left out: 'moca check" "$tmp/err" ||
			{ not_ok "damage: $1" "$reader does not say it"; return; }
		grep -Eq '^(Complete|Exact:)|No sample was lost' "$tmp/out" &&
			{ not_ok "damage: $1" "$reader calls it complete"; return; }
	done
	ok "damage: $1"
}
run "damage" 0 "$MOCA" record -q -o "$tmp/whole" -- true
for file in "$tmp"/whole/*; do
	name=${file##*/}
	[ "$name" = metadata ] && continue
	cp -r "$tmp/whole" "$tmp/harm"
	rm "$tmp/harm/$name"
	damaged "without $name"
	cp "$file" "$tmp/harm/$name"
	printf '\377' | dd of="$tmp/harm/$name" bs=1 seek=20 conv=notrunc status=none
	damaged "$name, a byte"
	rm -r "$tmp/harm"
done

# Names of the programs whose memory was left alone, in order.
left_out() {
	"$MOCA" dump --changes "$1" | awk '/ exec /  { name = $6 }
		/ gap left out/ { sub(".*/", "", name); print name }' | xargs
}
chosen() {
	local name=$1 want=$2 got
	shift 2
	run "$name" 0 "$MOCA" record -q -o "$tmp/$name" "$@" -- \
		sh -c 'sort /etc/passwd | tail -n 1; exit 0' || return
	got=$(left_out "$tmp/$name")
	[ "$got" = "$want" ] && ok "$name" || not_ok "$name" "left out: '$got', not '$want'"
}
shell=$(basename "$(readlink -f "$(command -v sh)")")
chosen all ''
chosen only-children "$shell" --only-children
chosen include "$shell tail" --include sort
chosen exclude "sort" --exclude sort
chosen include-two "$shell" --include sort --include tail

# A program is named as it was called, not by the file behind a link.
ln -s "$(readlink -f "$(type -P true)")" "$tmp/called"
for way in "" --exact; do
	run "called $way" 0 "$MOCA" record -q $way -o "$tmp/name$way" -- "$tmp/called" &&
		run "called $way" 0 "$MOCA" info "$tmp/name$way" && has "called $way" "$tmp/out" '^  0 +[0-9]+ +called '
done

# Writes to the main thread's stack, again in each interval of a second: without, the
# few of its start.
stack_writes() {
	run "$1" 0 "$MOCA" record -q -o "$tmp/$1" --interval 10ms --budget none "${@:2}" \
		-- "$MOCA" work -q --compute 10us 1 R 4000 || return
	"$MOCA" dump --accesses "$tmp/$1" | grep -c '\[stack\]'
}
without=$(stack_writes plain)
with=$(stack_writes stack --stack)
[ "${with:-0}" -gt $((without * 3)) ] && ok "--stack" ||
	not_ok "--stack" "$with records of the stack, $without without it"

# The records make sense together.
for t in all stack; do
	run "meaning: $t" 0 "$MOCA" check "$tmp/$t" && ok "meaning: $t"
done

# What is printed, and what is not.
run quiet 0 "$MOCA" record -q -o "$tmp/q" -- true &&
	{ [ -s "$tmp/err" ] && not_ok quiet "$(cat "$tmp/err")" || ok quiet; }
run summary 0 "$MOCA" record -o "$tmp/s" -- true &&
	has summary "$tmp/err" 'touched pages seen' 'lost' ' 1 task, [0-9,]+ intervals?( \([0-9]+ with accesses\))?, ' 'estimated slowdown|recording took (at least )?[0-9.]+ [num]?s of ' 'next: moca info'
has "answer" "$tmp/err" 'nothing can be said|no finding: none of|nothing in this trace|takes longer' "next: moca summary $tmp/s .*moca view $tmp/s"
[ "$(sed '1,/next: moca info/d' "$tmp/err" | wc -l)" -le 4 ] && ok "answer, lines" || not_ok "answer, lines" "$(cat "$tmp/err")"
grep -Eq 'nothing can be said|no finding: none' "$tmp/err" && grep -q 'all findings' "$tmp/err" &&
	not_ok "answer, no findings" "$(cat "$tmp/err")" || ok "answer, no findings"
run "answer, by itself" 0 "$MOCA" summary --first "$tmp/s" && { [ -s "$tmp/out" ] && ok "answer, by itself" ||
	not_ok "answer, by itself" "nothing is said"; }
run "no answer" 0 "$MOCA" record --no-summary -o "$tmp/ns" -- true && { grep -q 'moca summary' "$tmp/err" &&
	not_ok "no answer" "$(cat "$tmp/err")" || ok "no answer"; }
# Why nothing ran comes first, and there is nothing to look at.
printf '#!/no/such/interpreter\n' >"$tmp/script" && chmod +x "$tmp/script"
run "no interpreter" 127 "$MOCA" record -o "$tmp/ni" -- "$tmp/script" && {
	head -n 1 "$tmp/err" | grep -q 'error: cannot execute .*/script: No such file' &&
		! grep -q 'next: ' "$tmp/err" && ok "no interpreter" || not_ok "no interpreter" "$(cat "$tmp/err")"; }
# The program ends once there is one.
run "status line" 0 script -qec "$MOCA record -o $tmp/tty -- sh -c 'for i in \$(seq 3000); do grep -q overhead $tmp/out && break; sleep 0.1; done'" /dev/null &&
	has "status line" "$tmp/out" 'faults/s, overhead'
run "exit code told" 3 "$MOCA" record -q -o "$tmp/e3" -- sh -c 'exit 3' &&
	run "exit code told" 0 "$MOCA" info "$tmp/e3" && has "exit code told" "$tmp/out" 'exit code 3'
cd "$tmp" && run "default directory" 0 "$MOCA" record -q -- true &&
	{ ls -d moca-true-20* >"$tmp/out" && has "default directory" "$tmp/out" 'moca-true-20'; }
[ "$(stat -c %a "$tmp"/moca-true-20*)" = 700 ] && [ "$(stat -c %a "$tmp"/moca-true-20*/metadata)" = 600 ] &&
	ok "private" || not_ok "private" "$(stat -c '%a %n' "$tmp"/moca-true-20*/*)"

# A limit of the size of files fails as a full disk does: no other interval is the answer.
(ulimit -f 32; exec "$MOCA" record -o "$tmp/full" -- python3 -c 'b = b"x" * (100 << 20)') >"$tmp/out" 2>"$tmp/err"
rc=$?
[ $rc = 125 ] && ok "failed" || not_ok "failed" "exit code $rc: $(cat "$tmp/err")"
has "failed: told" "$tmp/err" 'cannot write the trace in .*File too large' 'nothing can be certified \(' \
	'to record all of it: give it more room \(ulimit -f\)' 'next: moca summary .* \(what it did until the recording failed\)'
run "failed: summary" 0 "$MOCA" summary --first "$tmp/full" && { has "failed: summary" "$tmp/out" \
	'^the recording failed [0-9].* after its begin \(File too large\)' '^Record again with a higher limit on files'
	grep -q -- --interval "$tmp/out" && not_ok "failed: advice" "$(cat "$tmp/out")" || ok "failed: advice"; }
run "failed: info" 0 "$MOCA" info "$tmp/full" && has "failed: info" "$tmp/out" 'Not finished: the recording failed .* after its begin \(File too large\)'

# Which way; with the module: tests/vm/record-choice.sh.
run "bad via" 2 "$MOCA" record --via magic -- true && has "bad via" "$tmp/err" 'auto, user, native or kernel'
for option in "-p $$" --stacks --no-zap --sample=1/8 --exact; do
	set -- true
	[ "$option" = "-p $$" ] && set --
	run "native, $option" 2 "$MOCA" record --via native $option ${1:+-- "$1"} &&
		has "native, $option" "$tmp/err" 'native does not go with|does not go with --via native'
done
# Here or not: it is said, and what to do.
"$MOCA" doctor >"$tmp/doctor"
if grep -q '^ok .*protect memory where it is' "$tmp/doctor"; then
	run native 0 "$MOCA" record --via native -o "$tmp/vn" -- true && has native "$tmp/err" 'on native memory'
	run "native, check" 0 "$MOCA" check "$tmp/vn" && ok "native, check"
else
	run native 125 "$MOCA" record --via native -o "$tmp/vn" -- true &&
		has native "$tmp/err" 'error: --via native: ' 'record with --via user'
	[ -e "$tmp/vn" ] && not_ok "native, nothing is left" "$tmp/vn" || ok "native, nothing is left"
fi

# The module of an earlier moca, and of a later one.
for abi in 1 99; do
	run "version $abi, auto" 0 env OTHER_ABI=$abi LD_PRELOAD="$BUILD/tests/cli/other-module.so" \
		"$MOCA" record -o "$tmp/abi$abi" -- true &&
		has "version $abi, auto" "$tmp/err" "not used: .* speaks version $abi, this moca version 2; .*modprobe moca" \
			'touched pages seen'
	run "version $abi" 125 env OTHER_ABI=$abi LD_PRELOAD="$BUILD/tests/cli/other-module.so" \
		"$MOCA" record --heat 10ms -o "$tmp/abi" -- true &&
		has "version $abi" "$tmp/err" "^moca: error: .* speaks version $abi, this moca version 2; .*modprobe moca"
done
run "via, exact" 2 "$MOCA" record --via kernel --exact -- true &&
	has "via, exact" "$tmp/err" 'does not go with --via kernel'
run "via user" 0 "$MOCA" record -q --via user -o "$tmp/vu" -- true && run "via user" 0 "$MOCA" info "$tmp/vu" &&
	has "via user" "$tmp/out" '^Collector  *fault'
if [ -e /dev/moca ]; then
	skip "no module" "there is one"
else
	run "no module" 125 "$MOCA" record --via kernel -o "$tmp/vk" -- true &&
		has "no module" "$tmp/err" 'there is no /dev/moca' 'modprobe moca'
	[ -e "$tmp/vk" ] && not_ok "no module: nothing begun" "$tmp/vk is there" || ok "no module: nothing begun"
	run "no module, -p" 125 "$MOCA" record --via kernel -o "$tmp/vk" -p $$ &&
		has "no module, -p" "$tmp/err" 'there is no /dev/moca'
	run "no module, auto" 0 "$MOCA" record -o "$tmp/va" --via auto -- true && {
		grep -qi module "$tmp/err" && not_ok "no module, auto" "$(cat "$tmp/err")" || ok "no module, auto"; }
	"$MOCA" doctor >"$tmp/out"
	has "no module, doctor" "$tmp/out" '^no .*kernel module moca .*not loaded' 'moca record --via kernel .*does not work here'
fi

# What was not begun leaves no folder.
left=
for n in 8 10 12 14 16 18 20 24 28 32; do
	# A program that did run was recorded, even if the recorder failed then.
	(ulimit -n $n; exec "$MOCA" record -q -o "$tmp/limit" -- touch "$tmp/ran") >"$tmp/out" 2>&1
	[ $? = 125 ] && [ -e "$tmp/limit" ] && [ ! -e "$tmp/ran" ] && left="$left $n: $(tail -n 1 "$tmp/out")"
	rm -rf "$tmp/limit" "$tmp/ran"
done
[ -z "$left" ] && ok "not begun: no folder" || not_ok "not begun: no folder" "$left"
(ulimit -n 10; exec "$MOCA" record -q -o "$tmp/few" -- true) 2>"$tmp/err" ||
	has "few descriptors" "$tmp/err" 'cannot start .*Too many open files; raise .*ulimit -n'
run "no command" 2 "$MOCA" record && has "no command" "$tmp/err" 'what shall be recorded'
run "both" 2 "$MOCA" record -p 1 -- true && has "both" "$tmp/err" 'not both'
run "bad budget" 2 "$MOCA" record --budget 0 -- true && has "bad budget" "$tmp/err" 'budget'
run "bad on-error" 2 "$MOCA" record --on-error perhaps -- true && has "bad on-error" "$tmp/err" 'continue or stop'
sh -c 'while :; do sleep .1; done' 'a word' plain &
busy=$!
for ((i = 0; i < 600; i++)); do
	tr '\0' ' ' <"/proc/$busy/cmdline" | grep -q 'a word plain' && break
	sleep .1
done
"$MOCA" record -q -o "$tmp/attached" -p $busy &
record=$!
for ((i = 0; i < 600; i++)); do
	grep -q '^attached_command' "$tmp/attached/metadata" 2>/dev/null && break
	kill -0 $record 2>/dev/null || break
	sleep .1
done
kill -INT $record
wait $record
kill $busy
wait $busy 2>/dev/null
has "attached: its command" "$tmp/attached/metadata" '^command -p '$busy'$' "^attached_command sh -c 'while :; do sleep .1; done' 'a word' plain\$"
"$MOCA" summary "$tmp/attached" >"$tmp/out" 2>&1
has "attached: its command, summary" "$tmp/out" "^Command *-p $busy: sh -c "
run "no such process" 125 "$MOCA" record -q -o "$tmp/p" -p 4194000 &&
	has "no such process" "$tmp/err" 'no such process'
finish
