#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# moca record --via kernel: whoever is killed, full, stopped or attached to, the
# program does what it always does, and what was written can be read.
BUSY=/tests/busy
. /tests/lib.sh.inc
home record-ends

record() {
	exec $MOCA record -q --via kernel --interval 20ms --budget none "$@"
}
number() {
	sed -n "s/^$2 //p" "$1/metadata"
}
# The process that has the device: the recorder itself.
engine() {
	ls -l /proc/[0-9]*/fd 2>/dev/null |
		sed -n 's|^/proc/\([0-9]*\)/fd:|\1|; /^[0-9]*$/h; / \/dev\/moca$/{g;p}'
}
alive() { pidof busy >/dev/null; }
# until_true COMMAND...: on a busy host a guest may take long to come to it.
until_true() {
	n=0
	until "$@"; do
		n=$((n + 1))
		[ $n -lt 1200 ] || return 1
		usleep 50000
	done
}
gone() { ! pidof $1 >/dev/null; }
settle() { until_true gone busy; }
# Somebody has it: the recording has begun, or is about to.
runs() { [ -n "$(engine)" ] && alive; }
begun() { until_true runs; }
# $BUSY ROUNDS stop ends when there is that file; what it computed is in out.
stop() { : >stop; }
right() {
	rounds=$(sed -n 's/ rounds: busy .*//p' out)
	[ -n "$rounds" ] &&
		[ "$(sed -n 's/.* rounds: //p' out)" = "$($BUSY $rounds -)" ]
}

plain=$($BUSY 5)
[ -n "$plain" ] || not_ok busy "it fails by itself"

# SIGKILL to the collector: the program goes on, and nobody looks after it.
why=
for delay in 0 300000; do
	rm -rf k stop
	(record -o k -- $BUSY 5 stop) >out 2>err &
	front=$!
	begun
	usleep $delay
	victim=$(engine)
	[ -n "$victim" ] || why="no collector after $delay us"
	alive || why="no program after $delay us"
	kill -9 $victim
	wait $front
	code=$?
	[ $code = 125 ] || why="moca ended with $code"
	stop
	settle || why="the program does not end"
	right || why="wrong output: $(cat out err)"
	grep -q 'goes on, unrecorded' err || why="it said: $(cat err)"
	$MOCA check k >said 2>&1
	# Or, if the kill met it while it wrote, a half chunk behind the whole.
	grep -qE 'TRUNCATED|bytes after the last whole chunk' said || why="check said: $(cat said)"
	[ -z "$why" ] || break
done
[ -z "$why" ] && ok "collector killed" || not_ok "collector killed" "$why"

# SIGKILL to what the user started: the recording goes on to its end.
rm -rf k
(record -o k -- $BUSY 5) >out 2>err &
front=$!
begun
kill -9 $front
wait $front
settle
until_true gone moca
if [ "$(cat out)" != "$plain" ]; then
	not_ok "front killed" "wrong output: $(cat out err)"
elif apart "front killed" 0 $MOCA check k; then
	ok "front killed"
fi

# A disk that is full.
mkdir -p small
mount -t tmpfs -o size=64k tmpfs small
if apart "no space" 125 $MOCA record --via kernel --interval 20ms --budget none \
	--no-rates --no-allocs -o small/t -- $BUSY 5; then
	[ "$(cat said)" = "$plain" ] || not_ok "no space" "wrong output"
	grep -q 'No space left.*the program goes on' err && ok "no space" ||
		not_ok "no space" "it said: $(cat err)"
	$MOCA check small/t >said 2>&1
	grep -q 'TRUNCATED' said && ok "no space: readable" ||
		not_ok "no space: readable" "$(cat said)"
fi
rm -rf small/t stop
if apart "no space, stop" 125 $MOCA record --via kernel --interval 20ms --budget none \
	--no-rates --no-allocs --on-error stop -o small/t -- $BUSY 5 stop; then
	grep -q rounds said && not_ok "no space, stop" "the program ended by itself: $(cat err)" ||
		ok "no space, stop"
fi
for what in stop continue; do
	rm -rf small/t stop
	$BUSY 5 stop >out &
	busy=$!
	until_true test -s out
	if apart "no space, -p, $what" 125 $MOCA record --via kernel --interval 20ms \
		--budget none --no-rates --on-error $what -o small/t -p $busy; then
		alive && still=1 || still=0
		stop
		wait $busy
		code=$?
		if [ $still$code != 10 ] || ! right; then
			not_ok "no space, -p, $what" "the program: $code, $(cat out)"
		elif ! grep -q 'No space left.*only attached to, goes on' err; then
			not_ok "no space, -p, $what" "it said: $(cat err)"
		else
			ok "no space, -p, $what"
		fi
	fi
	kill $busy 2>/dev/null
done
umount small

if apart "max-size" 0 $MOCA record --via kernel --interval 20ms --budget none \
	--no-rates --no-allocs --max-size 100k -o m -- $BUSY 5; then
	[ "$(cat said)" = "$plain" ] || not_ok max-size "wrong output"
	apart max-size 0 $MOCA check m && ok max-size
fi

# Attached to, twice: the second one may not.
rm -f stop
$BUSY 5 stop >out &
busy=$!
(record -o a -p $busy) >said 2>err &
front=$!
begun
some_written() { [ $(cat a/task-* 2>/dev/null | wc -c) -ge 20000 ]; }
until_true some_written
apart "two recordings" 125 $MOCA record -q --via kernel -o a2 -p $busy &&
	{ grep -q 'other recording' err && ok "two recordings" ||
		not_ok "two recordings" "$(cat err)"; }
kill -INT $front
wait $front
code=$?
alive && still=1 || still=0
stop
wait $busy
if [ $code != 0 ]; then
	not_ok attach "exit code $code: $(cat err)"
elif ! right; then
	not_ok attach "wrong output"
elif apart attach 0 $MOCA check a; then
	seen=$(number a certificate.pages_seen)
	lost=$(number a certificate.lost)
	[ "$seen" -gt 1000 ] && [ "$lost" = 0 ] && ok attach ||
		not_ok attach "$seen pages seen, $lost lost"
	[ $still = 1 ] && ok "attach: it goes on" || not_ok "attach: it goes on" "it has ended"
fi
apart "no such process" 125 $MOCA record -q --via kernel -o n -p 4194000 &&
	{ grep -q 'no such process' err && ok "no such process" ||
		not_ok "no such process" "$(cat err)"; }

# Stopped as by ^Z, with moca, and continued.
rm -rf k
(record -o k -- sh -c 'kill -STOP $$; exit 5') >out 2>err &
front=$!
until_true grep -q '^State:.T' /proc/$front/status && ok "stopped" || not_ok "stopped" "moca goes on"
for p in /proc/[0-9]*; do
	grep -q '^State:.T' "$p/status" 2>/dev/null && kill -CONT "$(basename "$p")"
done
wait $front
code=$?
[ $code = 5 ] && ok continued || not_ok continued "exit code $code: $(cat err)"

[ -z "$(engine)" ] && ok "nobody is left" || not_ok "nobody is left" "$(engine)"
