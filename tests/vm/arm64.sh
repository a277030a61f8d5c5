#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# On arm64, beside page accesses by the module (record.sh): events of programs,
# rates, allocations, plans; and that what is for x86-64 alone says so. The traces
# are read on the host, too (arm64.py).
# The programs look for their libraries where they were built.
export LD_LIBRARY_PATH=/tests
. /tests/lib.sh.inc
home arm64

# judge NAME WHY: WHY is empty if all is well.
judge() { say "$1" "$([ -n "$2" ] || echo 1)" "$2"; }

# 4 threads and their handlers, which say how many events they emitted, by level.
if apart events 0 $MOCA trace -q -o "$OUT/events" -- /tests/writers 4 5000 signals pace; then
	said=$(awk '{ for (i = 1; i <= NF; i++) n += $i } END { print n + 0 }' said)
	apart "events: verify" 0 /tests/verify "$OUT/events" &&
		seen=$(awk 'NF == 7 { n += $4 } END { print n + 0 }' said) &&
		judge events "$([ "$said" = "$seen" ] && [ "$said" -ge 20000 ] ||
			echo "$said emitted, $seen in the trace")"
fi
apart "events: moca check" 0 $MOCA check "$OUT/events" && ok "events: moca check"

# 50,000 first touches, of which rates tell at least these.
apart rates 0 $MOCA rate -q --via proc -o "$OUT/rates" -- /tests/load touch 50000 &&
	apart "rates: dump" 0 $MOCA dump --rates "$OUT/rates" &&
	judge rates "$(sed -n 's/.* minor=\([0-9]*\).*/\1/p' said | awk '{ n += $1 }
		END { if (n < 50000) print n + 0, "faults of 50000" }')"

apart objects 0 $MOCA record -q --via kernel --interval 20ms --budget none \
	-o "$OUT/objects" -- /tests/churn &&
	apart "objects: list" 0 $MOCA objects --all "$OUT/objects" &&
	judge objects "$(grep -q 'churn.c:[0-9]' said || head -n 12 said | tr '\n' '|')"
apart "objects: moca check" 0 $MOCA check "$OUT/objects" && ok "objects: moca check"

refused() {
	apart "$1" "$2" $MOCA "$3" ${4:+"$4"} ${5:+"$5"} -- true &&
		judge "$1" "$(grep -q 'x86-64 alone' err || cat err)"
}
refused "refused: exact" 125 record --exact
refused "refused: native" 125 record --via native
refused "refused: cc" 2 cc
apart doctor 0 $MOCA doctor
judge doctor "$(grep -q 'record --exact .*does not work here' said &&
	grep -q 'via kernel .*works here' said || tail -n 30 said | tr '\n' '|')"
