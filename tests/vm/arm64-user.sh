#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# On arm64, page accesses from user space (ptrace), without the module: what programs
# print is what they print without a recorder, and no record of a touched page lacks.
# usage: arm64-user.sh [memory|tasks|corpus]: these of tests/programs; else the rest.
MOCA=/tests/moca
# The programs look for their libraries where they were built.
export HOME=/tmp/arm64 LD_LIBRARY_PATH=/tests
mkdir -p $HOME && cd $HOME || exit 1

ok() { echo "ok $1"; }
not_ok() { echo "not ok $1: $2"; }
# A number of the certificate.
certificate() {
	sed -n "s/^certificate\.$2 //p" "$1/metadata"
}
# sound NAME DIR: nothing lost, and the trace says nothing that cannot be.
sound() {
	$MOCA check "$2" >said 2>&1 ||
		{ not_ok "$1" "moca check: $(tail -n 3 said | tr '\n' ' ')"; return 1; }
	seen=$(certificate "$2" pages_seen) lost=$(certificate "$2" lost)
	[ "${seen:-0}" -gt 0 ] && [ "$lost" = 0 ] && return 0
	not_ok "$1" "${seen:-no} pages seen, ${lost:-?} lost"
	return 1
}
# same NAME PROGRAM...: the same output and exit code, recorded and not.
same() {
	name=$1
	shift
	"$@" >plain 2>errors
	want=$?
	rm -rf t
	$MOCA record -q --via user --interval 20ms --budget none -o t -- "$@" \
		>recorded 2>errors
	code=$?
	if [ $code != $want ]; then
		not_ok "$name" "exit code $code, not $want: $(tail -n 3 errors | tr '\n' ' ')"
	elif ! cmp -s plain recorded; then
		not_ok "$name" "it prints $(head -n 3 recorded | tr "\n" " "), not $(head -n 3 plain | tr '\n' ' ')"
	else
		sound "$name" t && ok "$name"
	fi
}

# cases PROGRAM CASE...: of one of tests/programs, which is right by itself.
cases() {
	program=$1
	shift
	for case in "$@"; do
		same "$program $case" "/tests/$program" "$case"
		case $want$case in
		0* | *by-*) ;;
		*) not_ok "$program $case" "plainly, too, it ends with exit code $want" ;;
		esac
	done
}

case $1 in
memory)
	cases memory fixed-overlay mremap-grow mremap-move dontneed free wipeonfork \
		unmap-parts jit brk data-bss sysv-shm errors taken
	cases forks both-ways remap heap threads futex exec-child numbers no-descriptor
	exit
	;;
tasks)
	cases threads together ping-pong robust timer-threads names
	cases signals itimer alarm no-eintr sigchld by-segv by-thread
	cases processes orphan vfork posix-spawn clone-vm exec-chain exec-thread
	exit
	;;
corpus)
	cases corpus-first faults faults-behind-call aborts undefined breaks beyond-file \
		raises blocked blocked-undefined blocked-beyond-file ignored overflows \
		overflows-late in-thread beside-thread filtered catches
	cases corpus-clone clone3 untraced untraced3 small-stacks two-in-one
	exit
	;;
esac

same "exit code" sh -c 'exit 3'
same signal sh -c 'trap "echo got; exit 4" TERM; kill -TERM $$; :'
same pipes sh -c 'i=0; while [ $i -lt 5 ]; do i=$((i + 1)); ls / | md5sum; done'
if $MOCA record -q --via user --interval 50ms --budget none -o "$OUT/trace" -- \
	/tests/workload "$OUT/truth" 500 200 2>errors; then
	sound coverage "$OUT/trace" && ok coverage
else
	not_ok coverage "$(tail -n 3 errors | tr '\n' ' ')"
fi
if $MOCA record -q --via user --budget none -o objects -- /tests/churn >said 2>errors &&
	$MOCA objects --all objects >said && grep -q 'churn.c:[0-9]' said; then
	ok objects
else
	not_ok objects "$(tail -n 3 errors said | tr '\n' '|')"
fi
if $MOCA record -q --via user --stacks -o stacks -- /tests/churn >said 2>errors &&
	$MOCA check stacks >said 2>&1; then
	ok stacks
else
	not_ok stacks "$(tail -n 3 errors said | tr '\n' '|')"
fi
sleep 30 &
$MOCA record -q --via user -p $! -o attached 2>errors
[ $? = 125 ] && grep -q 'x86-64 alone' errors && ok "refused: attaching" ||
	not_ok "refused: attaching" "$(cat errors)"
kill $!
exit 0
