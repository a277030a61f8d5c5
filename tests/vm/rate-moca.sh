#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# moca rate --via kernel and --via proc say the same; what the module cannot do
# is refused; auto takes it when it can.
load=/tests/load
. /tests/lib.sh.inc
# The sums of a CSV file: samples, minor, CPU in ms.
sums() {
	awk -F, 'NR > 1 { n++; minor += $6; cpu += $8 }
		END { printf "%d %d %d", n, minor, cpu / 1000000 }' "$1"
}
run() { # via, load...
	via=$1
	shift
	$MOCA rate -q --via $via --no-children --csv $via.csv -- $load "$@" \
		>$via.out 2>$via.err
	say "$via: $*" "$([ $? = 0 ] && echo 1)" "$(cat $via.err)"
}
alike() { # what, one, other, percent, absolute
	say "$1" "$(awk -v a="$2" -v b="$3" -v p="$4" -v d="$5" 'BEGIN {
		x = a > b ? a - b : b - a
		if (x <= d || x * 100 <= p * a) print 1 }')" \
		"$2, but $3 by getrusage"
}
# Two runs do not use the same time: each is compared with what it says itself.
for how in "touch 20000" "spin 1500"; do
	for via in kernel proc; do
		run $via $how
		set -- $(sums $via.csv) $(cat $via.out)
		say "$via: $how: samples" "$([ "$1" -ge 2 ] && echo 1)" "$1"
		alike "$via: $how: minor faults" "$2" "$4" 0 90
		alike "$via: $how: CPU time" "$3" $(($6 / 1000)) 8 60
	done
	say "$how: nobody is left" "$([ -z "$(cat /proc/mp3/status)" ] &&
		echo 1)" "$(cat /proc/mp3/status)"
done
$MOCA rate -q --via kernel --no-children -o trace -- $load touch 20000 \
	>/dev/null 2>why
by() { # trace: who counted
	$MOCA dump --rates "$1" | sed -n 's/.*source="\(.*\)".*/\1/p'
}
say "a trace" "$([ "$(by trace)" = kernel ] && echo 1)" "$(cat why; by trace)"

refused() { # what, pattern, options...
	what=$1 pattern=$2
	shift 2
	$MOCA rate "$@" >out 2>&1
	say "refused: $what" "$(grep -c -- "$pattern" out)" "$(cat out)"
}
refused children "give --no-children" --via kernel true
refused per-task "not --per-task" --via kernel --no-children --per-task true
refused "another rate" "samples at 20 Hz" --via kernel --no-children -F 50 true
sleep 100 & pid=$!
echo "R $pid" > /proc/mp3/status
refused "not alone" "1 processes are registered" --via kernel --no-children true
$MOCA rate -q --no-children -o auto-1 -- $load touch 100
say "auto: not alone" "$([ "$(by auto-1)" = proc ] && echo 1)" "$(by auto-1)"
echo "U $pid" > /proc/mp3/status
$MOCA rate -q --no-children -o auto-2 -- $load touch 100
say "auto: alone" "$([ "$(by auto-2)" = kernel ] && echo 1)" "$(by auto-2)"
$MOCA rate -q --via kernel --no-children -p $pid >out 2>&1 & rate=$!
sleep 1
say "a running process" "$(grep -cx $pid /proc/mp3/status)" "not registered"
sleep 100 & other=$!
echo "R $other" > /proc/mp3/status
wait $rate
say "another one comes" "$(grep -c 'more processes' out)" "$(cat out)"
say "ours was taken back" "$([ "$(cat /proc/mp3/status)" = $other ] && echo 1)" \
	"$(cat /proc/mp3/status)"
kill $pid $other
wait
# It is dropped by itself, but not at once.
echo "U $other" > /proc/mp3/status
# A worker registers by itself, and finds it done.
$MOCA rate --via kernel --no-children -- $MOCA work 20 R 20000 >out 2>&1
say "moca work under it" "$([ $? = 0 ] && ! grep -q warning out && echo 1)" \
	"$(cat out)"
$MOCA work -q 20 R 20000 2>out
say "moca work alone" "$([ $? = 0 ] && ! [ -s out ] && echo 1)" "$(cat out)"
