#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside: others
# moca try: what is run, how, and what is said of it; no case depends on a time.
. "$(dirname "$0")/lib.sh.inc"
export LC_ALL=C

# A program of our own, which says what it got.
cat >"$tmp/prog" <<'END'
#!/bin/bash
echo "run" >>"$COUNT"
case ${1-} in
tells) echo "tunables ${GLIBC_TUNABLES-}" ;;
exits) [ -z "${GLIBC_TUNABLES-}" ] || exit 3 ;;
varies) date +%N%s; echo "$RANDOM$RANDOM" ;;
reads) cat; pwd; echo "$OWN" ;;
fails) exit 7 ;;
behind) sleep 2 & ;;
pids) echo "$$ took 0x$(printf %x $((RANDOM * RANDOM))), $RANDOM.$RANDOM s${GLIBC_TUNABLES:+${2-}}" ;;
quiet) ;;
once) [ ! -e "$ONCE" ] || { printf 'first\nit is there\n\n' >&2; exit 4; }; touch "$ONCE" ;;
killed) [ ! -e "$ONCE" ] || exit 0; touch "$ONCE"; kill -TERM $$ ;;
hangs)	# at that run
	[ "$(wc -l <"$COUNT")" -lt "$2" ] && exit
	[ -z "${3-}" ] || trap '' TERM
	sleep 1000 &
	echo "$$ $!" >"$COUNT.ready"
	sleep 1000 ;;
esac
END
chmod +x "$tmp/prog"
export COUNT=$tmp/count
head -c 20000 /dev/zero | tr '\0' x >"$tmp/input"
echo tail >>"$tmp/input"
mkdir "$tmp/where"
record() {
	"$MOCA" record -q --no-summary -o "$tmp/$1" -- "${@:2}" </dev/null >/dev/null 2>"$tmp/err" ||
		true
	[ -f "$tmp/$1/launch" ] || { not_ok "record $1" "no file launch: $(head -c 300 "$tmp/err")"; finish; }
}
json() { python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' "$tmp/out" "$1"; }

# How the program was started.
(cd "$tmp/where" && OWN=mine "$MOCA" record -q --no-summary -o "$tmp/reads" -- "$tmp/prog" reads <"$tmp/input" >/dev/null 2>&1)
[ "$(stat -c %a "$tmp/reads/launch")" = 600 ] && ok "launch: mode" || not_ok "launch: mode" "not 0600"
grep -aq mine "$tmp/reads/metadata" && not_ok "launch: private" "the environment is in the metadata" || ok "launch: private"
run "check" 0 "$MOCA" check "$tmp/reads" && ok "check: launch"
: >"$COUNT"
run "as recorded" 0 "$MOCA" try --all -n 3 "$tmp/reads" huge-pages && {
	grep -q one-arena "$tmp/out" && not_ok "only what was asked for" "one-arena is told" || ok "only what was asked for"
	has "as recorded" "$tmp/out" '^Program: .*/prog reads$' "^in $tmp/where, standard input: $tmp/input, [0-9]+ variables" \
		'^3 rounds after a warm-up' 'huge-pages: malloc asks' '^   time +.* -> .*99 % confidence' '^   page faults +[0-9,]+ -> [0-9,]+$'
	# What seems to help is run again; what may help, in 15 new rounds.
	more=0; grep -q '3 rounds did not decide; of 15 new ones' "$tmp/out" && more=33
	case $(($(wc -l <"$COUNT") - more)) in
	9|18) ok "number of runs" ;;
	*) not_ok "number of runs" "$(wc -l <"$COUNT"), not 2 + 1 + 3 * 2, or twice that, and $more" ;;
	esac
}
run "same output" 0 "$MOCA" try --json --all -n 3 "$tmp/reads" huge-pages &&
	{ json 'not d["output_varies"] and [c["other_output"] for c in d["changes"] if c["id"] == "huge-pages"] == [False] and d["rounds"] == 3 and d["directory"].endswith("where")' && ok "same output" || not_ok "same output" "$(head -c 400 "$tmp/out")"; }
run "list" 0 "$MOCA" try --all --list "$tmp/reads" && has "list" "$tmp/out" '^[0-9]+\. keep-memory: ' 'GLIBC_TUNABLES=' '^[0-9]+\. bind-threads$' 'cannot be tried: the program does not use OpenMP'

# What a change breaks is said, and is no gain.
run "another output" 0 "$MOCA" try --json --all -n 3 "$tmp/reads" huge-pages -- "$tmp/prog" tells &&
	{ json '[(c["result"], c["other_output"]) for c in d["changes"] if c["id"] == "huge-pages"] == [("differs", True)]' && ok "another output" || not_ok "another output" "$(head -c 600 "$tmp/out")"; }
run "another exit code" 0 "$MOCA" try --all -n 3 "$tmp/reads" huge-pages -- "$tmp/prog" exits &&
	has "another exit code" "$tmp/out" 'does something else with it: it ends with exit code 3. That is no gain'
run "varying output" 0 "$MOCA" try --all -n 3 "$tmp/reads" huge-pages -- "$tmp/prog" varies &&
	has "varying output" "$tmp/out" 'output differs from run to run without a change'
# Numbers, as of processes and times, do not hide the rest.
run "numbers" 0 "$MOCA" try --all -n 3 "$tmp/reads" huge-pages -- "$tmp/prog" pids &&
	has "numbers" "$tmp/out" '^Its output differs from run to run without a change, in its numbers: the rest of it is compared' && {
	grep -q 'does something else' "$tmp/out" && not_ok "numbers: blamed" "$(cat "$tmp/out")" || ok "numbers: blamed"
}
run "another text" 0 "$MOCA" try --json --all -n 3 "$tmp/reads" huge-pages -- "$tmp/prog" pids ' FAILED' && {
	json 'd["compared"] == {"output": "all-but-numbers", "error_output": "all"} and [(c["result"], c["other_output"]) for c in d["changes"] if c["id"] == "huge-pages"] == [("differs", True)]' && ok "another text" || not_ok "another text" "$(head -c 600 "$tmp/out")"; }
run "no output" 0 "$MOCA" try --all -n 3 "$tmp/reads" huge-pages -- "$tmp/prog" quiet &&
	has "no output" "$tmp/out" '^It writes no output: whether it computes the same'
# Of a program that ends as it likes no change is blamed: without one it does so, too.
cat >"$tmp/flip" <<'END'
#!/bin/bash
n=$(cat "$TURN"); echo $((n + 1)) >"$TURN"; exit $((n % 3 == 1))
END
chmod +x "$tmp/flip"; echo 0 >"$tmp/turn"
TURN=$tmp/turn "$MOCA" record -q --no-summary --no-environment -o "$tmp/flips" -- "$tmp/flip" </dev/null >/dev/null 2>&1
echo 0 >"$tmp/turn"
TURN=$tmp/turn run "ends differently" 0 "$MOCA" try --all -n 3 "$tmp/flips" huge-pages && {
	has "ends differently" "$tmp/out" 'It ends in different ways without a change'
	grep -q 'does something else' "$tmp/out" && not_ok "ends differently: blamed" "$(cat "$tmp/out")" || ok "ends differently: blamed"
}
run "fails" 0 "$MOCA" try --all -n 3 "$tmp/reads" huge-pages -- "$tmp/prog" fails &&
	has "fails" "$tmp/out" 'The program ends with exit code 7, also as it is' 'When it was recorded, it ended with exit code 0'
run "left behind" 0 "$MOCA" try --all -n 3 "$tmp/reads" huge-pages -- "$tmp/prog" behind &&
	has "left behind" "$tmp/out" 'leaves processes behind that hold its output open'
run "nothing gained" 1 "$MOCA" try --all -n 3 --fail-unless '>99%' "$tmp/reads" huge-pages &&
	has "nothing gained" "$tmp/err" 'FAILED >99%: the best change spares'

# A program that cannot be repeated: not one change is measured.
export ONCE=$tmp/once
record once.d "$tmp/prog" once
: >"$COUNT"
run "not again" 1 "$MOCA" try --all -n 3 "$tmp/once.d" huge-pages && {
	has "not again" "$tmp/err" "ended with exit code 0 when it was recorded, and ends with exit code 4 now \\('it is there'\\): it does not do the same again"
	[ "$(wc -l <"$COUNT")" = 1 ] && ok "not again: one run" || not_ok "not again: one run" "$(wc -l <"$COUNT")"
}
# But if somebody had stopped it when it was recorded, it may end now.
export ONCE=$tmp/killed
record killed.d "$tmp/prog" killed
run "was stopped" 0 "$MOCA" try --all -n 3 "$tmp/killed.d" huge-pages &&
	has "was stopped" "$tmp/out" 'When it was recorded, it ended with a signal \(Terminated\)'

# Stopped amid a run: the program ends, with what it started, and that is said.
ready=$COUNT.ready
stop() {	# NAME SIGNAL RUN WHERE [IGNORES]
	: >"$COUNT"; rm -f "$ready"; cp "$tmp/reads/tried" "$tmp/tried"
	env --default-signal=INT "$MOCA" try --all -n 3 "$tmp/reads" huge-pages -- "$tmp/prog" hangs "$3" ${5-} >"$tmp/out" 2>"$tmp/err" &
	for _ in $(seq 6000); do [ -s "$ready" ] && break; sleep 0.05; done
	kill -"$2" $!; wait $!; code=$?
	[ "$code" = $((128 + $(kill -l "$2"))) ] && ok "$1: exit code" || not_ok "$1: exit code" "$code"
	has "$1" "$tmp/err" "stopped by a signal .* in $4, in a run of '.*': the program was ended, and nothing that was measured is kept"
	read -r one two <"$ready"
	[ ! -d "/proc/$one" ] && [ ! -d "/proc/$two" ] && ok "$1: nothing runs on" || { not_ok "$1: nothing runs on" "$(ps -o pid,ppid,stat,args "$one" "$two")"; kill -9 "$one" "$two"; }
	cmp "$tmp/tried" "$tmp/reads/tried" && ok "$1: nothing is kept" || not_ok "$1: nothing is kept" "the file tried is another"
}
stop "stopped" TERM 1 "the warm-up"
stop "interrupted" INT 6 "round 2 of 3"
stop "stopped, and ignored" TERM 4 "round 1 of 3" ignores
# Also while the program waits for its input to be opened.
mkfifo "$tmp/fifo"
env --default-signal=INT "$MOCA" try --all -n 3 --input "$tmp/fifo" "$tmp/reads" huge-pages >"$tmp/out" 2>"$tmp/err" & pid=$!
for _ in $(seq 6000); do one=$(cat "/proc/$pid/task/$pid/children"); [ -z "$one" ] || break; sleep 0.05; done
kill -TERM $pid
for _ in $(seq 6000); do grep -q 'stopped by' "$tmp/err" && break; sleep 0.05; done
has "input" "$tmp/err" 'stopped by a signal .* in the warm-up' || kill -9 $one
wait $pid; code=$?
[ "$code" = 143 ] && ok "input: exit code" || not_ok "input: exit code" "$code"
# On a terminal: where it is, and how long it takes.
run "progress" 0 python3 -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$MOCA" try --all -n 3 "$tmp/reads" huge-pages </dev/null &&
	has "progress" "$tmp/out" 'warm-up: huge-pages' 'round 2 of 3: huge-pages, .+ left'

# What cannot be run.
: >"$COUNT"
(cd "$tmp/where" && mkdir deep && cd deep && "$MOCA" record -q --no-summary -o "$tmp/deep" -- "$tmp/prog" reads <"$tmp/count" >/dev/null 2>&1)
rmdir "$tmp/where/deep"
run "no directory" 1 "$MOCA" try --all -n 3 "$tmp/deep" huge-pages && has "no directory" "$tmp/err" "cannot run '.*prog': cannot change to its directory '$tmp/where/deep': No such file"
mkdir "$tmp/where/deep"; mv "$COUNT" "$COUNT.old"
run "no input" 1 "$MOCA" try --all -n 3 "$tmp/deep" huge-pages && has "no input" "$tmp/err" "cannot open its standard input '$tmp/count': No such file or directory; --input gives another one"
mv "$COUNT.old" "$COUNT"
run "not found" 1 "$MOCA" try --all -n 3 "$tmp/reads" huge-pages -- "$tmp/none" && has "not found" "$tmp/err" "cannot run '.*none': cannot execute it: No such file"
run "few rounds" 2 "$MOCA" try -n 2 "$tmp/reads" && has "few rounds" "$tmp/err" "'-n 2' is not a number of rounds"
run "unknown" 2 "$MOCA" try --all "$tmp/reads" huge-page && has "unknown" "$tmp/err" "did you mean 'huge-pages'"
run "condition" 2 "$MOCA" try --fail-unless soon "$tmp/reads" && has "condition" "$tmp/err" "is not a share of the time"
run "no finding" 0 "$MOCA" try "$tmp/reads" && has "no finding" "$tmp/err" 'no finding of .* can be tried without the program'
cat "$tmp/input" | "$MOCA" record -q --no-summary -o "$tmp/pipe" -- "$tmp/prog" reads >/dev/null 2>&1
: >"$COUNT"
run "pipe" 2 "$MOCA" try --all -n 3 "$tmp/pipe" huge-pages && has "pipe" "$tmp/err" 'standard input was a pipe, which cannot be read again'
[ -s "$COUNT" ] && not_ok "pipe: nothing is run" "it was" || ok "pipe: nothing is run"
run "input" 0 "$MOCA" try --all -n 3 --input "$tmp/input" "$tmp/pipe" huge-pages && ok "input"
record old "$tmp/prog" fails
rm "$tmp/old/launch"
run "no launch" 2 "$MOCA" try --all -n 3 "$tmp/old" huge-pages && has "no launch" "$tmp/err" 'does not say how its program was started' 'behind --'
rm -r "$tmp/old"
"$MAKE_TRACE" "$tmp/other" complete
run "not for it" 0 "$MOCA" try "$tmp/other" huge-pages && has "not for it" "$tmp/err" "'huge-pages' cannot be tried: the program's malloc is none of those"

# A rank of a job, and an environment that was not kept.
OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 "$MOCA" record -q --no-summary -o "$tmp/job" -- "$tmp/prog" fails </dev/null >/dev/null 2>&1
run "rank" 2 "$MOCA" try --all -n 3 "$tmp/job/rank-0" huge-pages && has "rank" "$tmp/err" 'one rank of a job' 'mpirun -n 4'
run "rank's command" 0 "$MOCA" try --all -n 3 "$tmp/job/rank-0" huge-pages -- sh -c 'exit ${OMPI_COMM_WORLD_SIZE-0}' && has "rank's command" "$tmp/out" '^3 rounds'
grep -q '^The program ends with' "$tmp/out" && not_ok "rank: environment" "the launcher's variables are there" || ok "rank: environment"
OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 "$MOCA" record -q --no-summary --no-ranks --no-environment -o "$tmp/alone" -- "$tmp/prog" fails </dev/null >/dev/null 2>&1
[ -f "$tmp/alone/launch" ] && ok "no ranks" || not_ok "no ranks" "no trace in DIR itself"
grep -aq '^env ' "$tmp/alone/launch" && not_ok "no environment" "it is kept" || ok "no environment"

# What was measured, damaged: it is said, and kept.
sed -i s/huge/hugf/ "$tmp/reads/tried"; cp "$tmp/reads/tried" "$tmp/tried"
run "damaged: summary" 0 "$MOCA" summary "$tmp/reads" && has "damaged: summary" "$tmp/err" "what moca try measured of .* is left out: the file 'tried' there is damaged"
if [ -s "$BUILD/report/template.html" ]; then
	run "damaged: report" 0 "$MOCA" report -o "$tmp/page.html" "$tmp/reads" && has "damaged: report" "$tmp/err" "what moca try measured of .* is left out: the file 'tried' there is damaged"
fi
run "damaged: try" 0 "$MOCA" try --all -n 3 "$tmp/reads" huge-pages -- "$tmp/prog" tells && has "damaged: try" "$tmp/err" "is damaged: it is kept as 'tried.damaged'"
cmp "$tmp/tried" "$tmp/reads/tried.damaged" && ok "damaged: kept" || not_ok "damaged: kept" "it is not as it was"
run "damaged: check" 0 "$MOCA" check "$tmp/reads" && ok "damaged: check"
"$MOCA" summary "$tmp/reads" 2>&1 | grep 'is left out' && not_ok "damaged: new" "it is still damaged" || ok "damaged: new"

# A damaged file, or none.
record damaged "$tmp/prog" fails
sed -i 's/fails/tells/' "$tmp/damaged/launch"
run "damaged" 2 "$MOCA" try --all -n 3 "$tmp/damaged" huge-pages && has "damaged" "$tmp/err" 'cannot read how the program'
"$MOCA" check "$tmp/damaged" >"$tmp/out" 2>&1 && not_ok "check: damaged launch" "exit code 0" ||
	has "check: damaged launch" "$tmp/out" '^damaged: the file launch' 'DAMAGED'
rm "$tmp/damaged/launch"
"$MOCA" check "$tmp/damaged" >"$tmp/out" 2>&1 && not_ok "check: no launch" "exit code 0" || has "check: no launch" "$tmp/out" '^damaged: the file launch'
rm -r "$tmp/damaged"
if [ "$(id -u)" = 0 ]; then
	cp -a "$tmp/reads" "$tmp/theirs"
	chown -R nobody "$tmp/theirs" || { skip "of another user" "this root cannot give files away"; finish; }
	OWN=ours run "command of another user's trace" 0 "$MOCA" try --all -n 3 "$tmp/theirs" huge-pages -- "$tmp/prog" fails &&
		has "command of another user's trace" "$tmp/out" '^in this directory, standard input: /dev/null'
	rm -r "$tmp/reads"; mv "$tmp/theirs" "$tmp/reads"
	run "of another user" 2 "$MOCA" try --all -n 3 "$tmp/reads" huge-pages && has "of another user" "$tmp/err" 'is of another user.* its command is not run'
else
	skip "of another user" "only root can give files away"
fi
finish
