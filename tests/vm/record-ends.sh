#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# moca record --via kernel: whoever is killed, full, stopped or attached to, the
# program does what it always does, and what was written can be read.
MOCA=/tests/moca
BUSY=/tests/busy
export HOME=/tmp
cd /tmp || exit 1

ok() { echo "ok $1"; }
not_ok() { echo "not ok $1: $2"; }
# expect NAME CODE COMMAND...: output in /tmp/said, errors in /tmp/err.
expect() {
	name=$1 want=$2
	shift 2
	"$@" >/tmp/said 2>/tmp/err
	code=$?
	[ $code = "$want" ] && return 0
	not_ok "$name" "exit code $code, not $want: $(tail -n 3 /tmp/said /tmp/err | tr '\n' ' ')"
	return 1
}
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
# Until busy is gone.
settle() {
	n=0
	while alive && [ $n -lt 300 ]; do
		n=$((n + 1))
		usleep 100000
	done
	! alive
}

# Until somebody has it: the recording has begun, or is about to.
begun() {
	n=0
	until [ -n "$(engine)" ] && alive || [ $n -gt 100 ]; do
		n=$((n + 1))
		usleep 50000
	done
}

plain=$($BUSY 20)
long=$($BUSY 60)
[ -n "$plain" ] || not_ok busy "it fails by itself"

# SIGKILL to the collector: the program goes on, and nobody looks after it.
why=
for delay in 0 100000 300000; do
	rm -rf /tmp/k
	(record -o /tmp/k -- $BUSY 60) >/tmp/out 2>/tmp/err &
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
	settle || why="the program does not end"
	[ "$(cat /tmp/out)" = "$long" ] || why="wrong output: $(cat /tmp/out /tmp/err)"
	grep -q 'goes on, unrecorded' /tmp/err || why="it said: $(cat /tmp/err)"
	$MOCA check /tmp/k >/tmp/said 2>&1
	grep -q TRUNCATED /tmp/said || why="check said: $(cat /tmp/said)"
	[ -z "$why" ] || break
done
[ -z "$why" ] && ok "collector killed" || not_ok "collector killed" "$why"

# SIGKILL to what the user started: the recording goes on to its end.
rm -rf /tmp/k
(record -o /tmp/k -- $BUSY 20) >/tmp/out 2>/tmp/err &
front=$!
begun
kill -9 $front
wait $front
settle
n=0
while [ -n "$(engine)" ] && [ $n -lt 100 ]; do
	n=$((n + 1))
	usleep 100000
done
usleep 500000
if [ "$(cat /tmp/out)" != "$plain" ]; then
	not_ok "front killed" "wrong output: $(cat /tmp/out /tmp/err)"
elif expect "front killed" 0 $MOCA check /tmp/k; then
	ok "front killed"
fi

# A disk that is full.
mkdir -p /tmp/small
mount -t tmpfs -o size=160k tmpfs /tmp/small
if expect "no space" 125 $MOCA record --via kernel --interval 20ms --budget none \
	--no-rates --no-allocs -o /tmp/small/t -- $BUSY 20; then
	[ "$(cat /tmp/said)" = "$plain" ] || not_ok "no space" "wrong output"
	grep -q 'No space left.*the program goes on' /tmp/err && ok "no space" ||
		not_ok "no space" "it said: $(cat /tmp/err)"
	$MOCA check /tmp/small/t >/tmp/said 2>&1
	grep -q 'TRUNCATED' /tmp/said && ok "no space: readable" ||
		not_ok "no space: readable" "$(cat /tmp/said)"
fi
rm -rf /tmp/small/t
if expect "no space, stop" 125 $MOCA record --via kernel --interval 20ms --budget none \
	--no-rates --no-allocs --on-error stop -o /tmp/small/t -- $BUSY 20; then
	[ -s /tmp/said ] && not_ok "no space, stop" "the program ended by itself" ||
		ok "no space, stop"
fi
umount /tmp/small

if expect "max-size" 0 $MOCA record --via kernel --interval 20ms --budget none \
	--no-rates --no-allocs --max-size 100k -o /tmp/m -- $BUSY 20; then
	[ "$(cat /tmp/said)" = "$plain" ] || not_ok max-size "wrong output"
	expect max-size 0 $MOCA check /tmp/m && ok max-size
fi

# Attached to, twice: the second one may not.
$BUSY 60 >/tmp/out &
busy=$!
(record -o /tmp/a -p $busy) >/tmp/said 2>/tmp/err &
front=$!
begun
usleep 500000
if alive; then
	expect "two recordings" 125 $MOCA record -q --via kernel -o /tmp/a2 -p $busy &&
		{ grep -q 'other recording' /tmp/err && ok "two recordings" ||
			not_ok "two recordings" "$(cat /tmp/err)"; }
fi
kill -INT $front
wait $front
code=$?
alive && still=1 || still=0
wait $busy
if [ $code != 0 ]; then
	not_ok attach "exit code $code: $(cat /tmp/err)"
elif [ "$(cat /tmp/out)" != "$long" ]; then
	not_ok attach "wrong output"
elif expect attach 0 $MOCA check /tmp/a; then
	seen=$(number /tmp/a certificate.pages_seen)
	lost=$(number /tmp/a certificate.lost)
	[ "$seen" -gt 1000 ] && [ "$lost" = 0 ] && ok attach ||
		not_ok attach "$seen pages seen, $lost lost"
	[ $still = 1 ] && ok "attach: it goes on" || echo "skip attach: it goes on: it had ended"
fi
expect "no such process" 125 $MOCA record -q --via kernel -o /tmp/n -p 4194000 &&
	{ grep -q 'no such process' /tmp/err && ok "no such process" ||
		not_ok "no such process" "$(cat /tmp/err)"; }

# Stopped as by ^Z, with moca, and continued.
rm -rf /tmp/k
(record -o /tmp/k -- sh -c 'kill -STOP $$; exit 5') >/tmp/out 2>/tmp/err &
front=$!
n=0
until grep -q '^State:.T' /proc/$front/status || [ $n -gt 100 ]; do
	n=$((n + 1))
	usleep 50000
done
grep -q '^State:.T' /proc/$front/status && ok "stopped" || not_ok "stopped" "moca goes on"
for p in /proc/[0-9]*; do
	grep -q '^State:.T' "$p/status" 2>/dev/null && kill -CONT "$(basename "$p")"
done
wait $front
code=$?
[ $code = 5 ] && ok continued || not_ok continued "exit code $code: $(cat /tmp/err)"

[ -z "$(engine)" ] && ok "nobody is left" || not_ok "nobody is left" "$(engine)"
