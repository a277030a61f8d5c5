#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record-faults FIRST SPREAD: moca record --via kernel, of whose own calls the
# n-th fails, as tests/faults/run has it: the program goes on and is right, or is
# not recorded, and moca says why; the module and its files are free again.
MOCA=/tests/moca
export HOME=/tmp/faults TMPDIR=/tmp/faults/tmp
mkdir -p $TMPDIR && cd $HOME || exit 1
first=$1 spread=$2
want=$(/tests/program)

# fail CALL N: why it ended wrongly, or nothing.
fail() {
	rm -rf t count
	FAIL_CALL=$1 FAIL_AT=$2 FAIL_COUNT=$HOME/count LD_PRELOAD=/tests/fail.so \
		timeout -s KILL 100 $MOCA record -q --via kernel -o t -- \
		/tests/program >out 2>said
	code=$?
	left=$(ls -A $TMPDIR /dev/shm | grep -v -e registry -e : -e '^$' -e '^moca-0$')
	if [ $code -ge 128 ]; then
		echo "exit code $code: $(dmesg | tail -n 2)"
	elif pidof program >/dev/null; then
		echo "the program runs on"
	elif [ "$(cat /sys/module/moca/refcnt)" != 0 ]; then
		echo "the module is in use"
	elif [ -n "$left" ]; then
		echo "left behind:" $left
	elif [ -s out ] && [ "$(cat out)" != "$want" ]; then
		echo "the program printed $(cat out)"
	elif [ $code != 7 ] && { [ $code = 0 ] || ! grep -q 'moca: ' said; }; then
		echo "exit code $code, and not a word why"
	elif [ $code = 7 ] && [ ! -s out ]; then
		echo "exit code 7 without the program"
	fi
}

# All n up to first, and of the others as many as spread.
for call in malloc mmap write open ftruncate; do
	why=$(fail $call 0)
	n=$(hexdump -v -n 4 -e '1/4 "%u"' count)
	[ "${n:-0}" -gt 0 ] || why="without a failure: $n calls"
	step=$(((n - first) / spread))
	at=0 tried=0 bad=
	while [ -z "$why" ] && [ $at -lt $n ]; do
		at=$((at + (at < first || step < 1 ? 1 : step)))
		one=$(fail $call $at)
		[ -z "$one" ] || bad="$bad $at: $one;"
		tried=$((tried + 1))
	done
	if [ -n "$why$bad" ]; then
		echo "not ok $call: $why$bad $(tail -n 2 said | tr '\n' ' ')"
	else
		echo "ok $call ($tried of $n)"
	fi
done
