#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# moca record --via kernel: the same trace by way of the module. What the
# program of coverage touched is compared with its trace on the host.
. /tests/lib.sh.inc
home record

# A number of the certificate.
certificate() {
	sed -n "s/^certificate\.$2 //p" "$1/metadata"
}
# whole NAME DIR: sound, all touched pages seen, nothing lost.
whole() {
	expect "$1: moca check" 0 $MOCA check "$2" || return
	seen=$(certificate "$2" pages_seen) all=$(certificate "$2" pages_touched)
	lost=$(certificate "$2" lost)
	if [ "$seen" -gt 0 ] && [ "$seen" = "$all" ] && [ "$lost" = 0 ]; then
		ok "$1"
	else
		not_ok "$1" "$seen of $all pages seen, $lost lost"
		$MOCA dump --accesses "$2" | grep -F '?' | head -n 20
		cp -r "$2" "$OUT/"
	fi
}
record() {
	$MOCA record -q --via kernel "$@"
}

if expect "coverage: recording" 0 record --interval 50ms --budget none \
	-o "$OUT/trace" -- /tests/workload "$OUT/truth" 500 200 faults; then
	whole coverage "$OUT/trace"
	$MOCA objects --all "$OUT/trace" >said
	grep -q '^  bss  *static ' said && grep -q '^  anonymous() .* heap ' said && ok objects ||
		not_ok objects "$(head -n 12 said | tr '\n' '|')"
	grep -q 'Not understood' said && not_ok "objects: understood" "$(grep Not said)"
	$MOCA dump --changes "$OUT/trace" | grep -q 'mmap .* \[vdso\]' && ok "kernel's mappings" ||
		not_ok "kernel's mappings" "no [vdso]"
fi
expect "exit code" 3 record -o t3 -- sh -c 'exit 3' && whole "exit code" t3
expect signal 143 record -o t4 -- sh -c 'kill -TERM $$' && whole signal t4
expect "cannot be executed" 127 record -o t5 -- /none && ok "cannot be executed"
expect forks 0 record --interval 20ms --budget none -o t6 -- \
	sh -c 'i=0; while [ $i -lt 40 ]; do i=$((i + 1)); (ls / | md5sum) >/dev/null & done; wait' &&
	whole forks t6
n=$($MOCA check t6 | sed -n 's/.*; \([0-9]*\) tasks.*/\1/p')
[ "${n:-0}" -ge 121 ] && ok "forks: all are there" || not_ok "forks: all are there" "$n tasks"
expect "by default" 0 $MOCA record -o t7 -- true &&
	grep -q 'by the kernel module' said && ok "by default" ||
	not_ok "by default" "not by the module"
