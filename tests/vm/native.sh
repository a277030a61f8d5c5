#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# moca record --via native: page accesses of memory that stays where it is. What
# programs say that they touched is compared with their traces on the host.
LIFE=/tests/native-life
. /tests/lib.sh.inc
home native

key() {
	sed -n "s/^$2 //p" "$1/metadata"
}
# whole NAME DIR [UNMAPPED]: sound, all touched pages seen, nothing lost.
whole() {
	expect "$1: moca check" 0 $MOCA check "$2" || return
	seen=$(key "$2" certificate.pages_seen)
	all=$(key "$2" certificate.pages_touched)
	lost=$(key "$2" certificate.lost)
	grep -q 'to no mapping' said && n=$(sed -n 's/^unverified: \([0-9]*\) .*no mapping.*/\1/p' said) || n=0
	# Before its first exec the task is the recorder's own copy; what was mapped since
	# the last look is not told of a program that executes another.
	[ "${n:-0}" -le ${3:-16} ] || not_ok "$1: mappings" "$n accesses are to none"
	if [ "$seen" -gt 0 ] && [ "$seen" = "$all" ] && [ "$lost" = 0 ]; then
		ok "$1"
	else
		not_ok "$1" "$seen of $all pages seen, $lost lost"
	fi
}
record() {
	$MOCA record -q --via native --budget none --interval 20ms "$@"
}
# A line of `moca dump --changes` of the trace that begins with the text.
gap() {
	$MOCA dump --changes "$2" | grep -q " gap .*$3" && ok "$1" ||
		not_ok "$1" "no gap '$3'"
}

$MOCA doctor | grep -q '^ok .*protect memory where it is' && ok doctor ||
	not_ok doctor "$($MOCA doctor | grep 'where it is')"

if expect "coverage: recording" 0 $MOCA record -q --via native --interval 50ms \
	--budget none -o "$OUT/trace" -- /tests/workload "$OUT/truth" 500 200; then
	whole coverage "$OUT/trace"
fi
for what in touch fork threads exec vfork; do
	expect $what 0 record -o "$OUT/$what" -- $LIFE $what "$OUT/$what.truth" &&
		whole $what "$OUT/$what" $(case $what in exec | vfork) echo 300 ;; esac)
done
expect "exit code" 3 record -o t3 -- sh -c 'exit 3' && whole "exit code" t3
expect signal 143 record -o t4 -- sh -c 'kill -TERM $$' && whole signal t4
expect "cannot be executed" 127 record -o t5 -- /none && ok "cannot be executed"
expect "shell" 0 record -o t6 -- \
	sh -c 'i=0; while [ $i -lt 10 ]; do i=$((i + 1)); (ls / | md5sum) >/dev/null & done; wait' &&
	whole shell t6
n=$($MOCA check t6 | sed -n 's/.*; \([0-9]*\) tasks.*/\1/p')
[ "${n:-0}" -ge 31 ] && ok "shell: all are there" || not_ok "shell: all are there" "$n tasks"

# Without rights: faults in user mode are seen.
echo 2 >/proc/sys/kernel/perf_event_paranoid
mkdir -p /tmp/nobody && chown 65534:65534 /tmp/nobody && chmod 755 /tmp/native
echo 'nobody:x:65534:65534::/tmp/nobody:/bin/sh' >/etc/passwd
chmod 755 / /tests && chmod 1777 /tmp
nobody() {
	su -s /bin/sh nobody -c "$*"
}
expect "another user" 0 nobody $MOCA record -q --via native --budget none --interval 20ms \
	-o /tmp/nobody/t -- $LIFE threads /tmp/nobody/truth &&
	expect "another user: moca check" 0 $MOCA check /tmp/nobody/t && {
	n=$($MOCA dump --accesses /tmp/nobody/t | grep -c ' W U ')
	[ "$n" -ge 384 ] && ok "another user" || not_ok "another user" "$n writes in user mode, of 384"
}

# What the program computes.
for what in churn uffd gup; do
	$LIFE $what >plain 2>&1
	if expect $what 0 record -o $what -- $LIFE $what; then
		cmp -s plain said && ok "$what: the same" ||
			not_ok "$what: the same" "$(cat said), plain $(cat plain)"
		expect "$what: moca check" 0 $MOCA check $what
	fi
done
gap "uffd: told" uffd "it uses userfaultfd itself"
gap "gup: told" gup "without a fault"
# Of each interval, the pages that process_vm_readv read: not sampled, looked at.
n=$(key gup native.unseen)
[ "${n:-0}" -ge 96 ] && ok "gup: the witness" || not_ok "gup: the witness" "$n unseen"

# The recorder is killed: the program goes on, and computes the same.
engine() {
	for p in /proc/[0-9]*; do
		read -r comm 2>/dev/null <$p/comm && [ "$comm" = moca-engine ] && echo ${p#/proc/}
	done
}
# It works until there is a file `go`, which is made when the recorder is dead.
touch go && $LIFE work $PWD/work.plain $PWD/go
for i in 1 2 3; do
	rm -f work.out go
	record -o kill$i -- $LIFE work $PWD/work.out $PWD/go >said 2>&1 &
	front=$!
	until pidof native-life >/dev/null || ! kill -0 $front 2>/dev/null; do :; done
	j=0
	while [ $j -lt $((i * i * 8)) ]; do j=$((j + 1)); cat /proc/self/maps >/dev/null; done
	pid=$(engine)
	[ -n "$pid" ] && kill -9 $pid || not_ok "killed recorder $i" "there is none: $(cat said)"
	while grep -q '^State:.[^ZX]' /proc/${pid:-none}/status 2>/dev/null; do :; done
	alive=$(pidof native-life)
	touch go
	wait $front
	while pidof native-life >/dev/null; do usleep 10000; done
	if [ -z "$alive" ]; then
		not_ok "killed recorder $i" "the program ended with it: $(cat said)"
	elif [ -z "$pid" ]; then
		:
	elif cmp -s work.plain work.out; then
		ok "killed recorder $i"
	else
		not_ok "killed recorder $i" "$(cat work.out 2>&1), plain $(cat work.plain); $(cat said)"
	fi
done
