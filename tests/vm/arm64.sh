#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# On arm64, beside page accesses by the module (record.sh): events of programs,
# rates, allocations, plans; and that what is for x86-64 alone says so. The traces
# are read on the host, too (arm64.py).
MOCA=/tests/moca
# The programs look for their libraries where they were built.
export HOME=/tmp/arm64 LD_LIBRARY_PATH=/tests
mkdir -p $HOME && cd $HOME || exit 1

ok() { echo "ok $1"; }
not_ok() { echo "not ok $1: $2"; }
# judge NAME WHY: WHY is empty if all is well.
judge() { if [ -z "$2" ]; then ok "$1"; else not_ok "$1" "$2"; fi; }
# run NAME CODE COMMAND...: what it writes goes to out and err.
run() {
	name=$1 want=$2
	shift 2
	"$@" >out 2>err
	code=$?
	[ $code = "$want" ] && return 0
	not_ok "$name" "exit code $code, not $want: $(tail -n 3 err | tr '\n' ' ')"
	return 1
}

# 4 threads and their handlers, which say how many events they emitted, by level.
if run events 0 $MOCA trace -q -o "$OUT/events" -- /tests/writers 4 5000 signals pace; then
	said=$(awk '{ for (i = 1; i <= NF; i++) n += $i } END { print n + 0 }' out)
	run "events: verify" 0 /tests/verify "$OUT/events" &&
		seen=$(awk 'NF == 7 { n += $4 } END { print n + 0 }' out) &&
		judge events "$([ "$said" = "$seen" ] && [ "$said" -ge 20000 ] ||
			echo "$said emitted, $seen in the trace")"
fi
run "events: moca check" 0 $MOCA check "$OUT/events" && ok "events: moca check"

# 50,000 first touches, of which rates tell at least these.
run rates 0 $MOCA rate -q --via proc -o "$OUT/rates" -- /tests/load touch 50000 &&
	run "rates: dump" 0 $MOCA dump --rates "$OUT/rates" &&
	judge rates "$(sed -n 's/.* minor=\([0-9]*\).*/\1/p' out | awk '{ n += $1 }
		END { if (n < 50000) print n + 0, "faults of 50000" }')"

run objects 0 $MOCA record -q --via kernel --interval 20ms --budget none \
	-o "$OUT/objects" -- /tests/churn &&
	run "objects: list" 0 $MOCA objects --all "$OUT/objects" &&
	judge objects "$(grep -q 'churn.c:[0-9]' out || head -n 12 out | tr '\n' '|')"
run "objects: moca check" 0 $MOCA check "$OUT/objects" && ok "objects: moca check"

refused() {
	run "$1" "$2" $MOCA "$3" ${4:+"$4"} ${5:+"$5"} -- true &&
		judge "$1" "$(grep -q 'x86-64 alone' err || cat err)"
}
refused "refused: exact" 125 record --exact
refused "refused: from user space" 125 record --via user
refused "refused: native" 125 record --via native
refused "refused: cc" 2 cc
run doctor 0 $MOCA doctor
judge doctor "$(grep -q 'record --exact .*does not work here' out &&
	grep -q 'via kernel .*works here' out || tail -n 30 out | tr '\n' '|')"
