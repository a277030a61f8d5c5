#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside: others
# moca dump: columns, filters, CSV.
. "$(dirname "$0")/lib.sh.inc"

"$MAKE_TRACE" "$tmp/t" && "$MAKE_TRACE" "$tmp/odd" odd-names ||
	{ not_ok make-trace failed; finish; }

# count NAME LINES OPTIONS...: so many records, besides the heading.
count() {
	local name="dump: $1" want=$2 got
	shift 2
	run "$name" 0 "$MOCA" dump "$tmp/t" "$@" || return
	got=$(($(wc -l <"$tmp/out") - 1))
	if [ $got = "$want" ]; then ok "$name"; else not_ok "$name" "$got records, not $want"; fi
}
count everything 82
count accesses 68 --accesses
count changes 14 --changes
count "one task" 55 --task 0 --accesses --changes
count "one task's accesses" 8 --task 1 --accesses
count "one interval" 17 --accesses --from 50ms --to 100ms
count "from" 34 --accesses --from 100ms
count "from later than any clock" 0 --accesses --from 18446744073s
count "addresses" 8 --accesses --address 10001000-10003000
count "addresses and task" 4 --accesses --address 0x10000000-0x10001000 --task 1
count "changes of addresses" 2 --changes --address 7f0000000000-7f0000001000 --task 0
"$MOCA" dump "$tmp/t" --accesses >"$tmp/out"
has "dump: access" "$tmp/out" \
	'^ +0\.001000000 +0 +100 +100 +1 W U 0x000010001008 0x000000401008 0x0110001000 +0 \[heap\]$' \
	'^ +0\.020000000 +1 +100 +101 +0 R K 0x000010000001 ' \
	'^ +0\.032000000 +2 +200 +200 +1 \? U .*\[unknown\]$' \
	'^ +0\.011000000 .* X U 0x7f0000003000 .* - +- /lib/demo.so$'
"$MOCA" dump "$tmp/t" --changes >"$tmp/out"
has "dump: event" "$tmp/out" \
	'task-start flags=- demo$' 'task-start parent=0 flags=thread worker$' \
	'mmap 0x10000000-0x10010000 rw- offset=0x0 flags=certified\+zapped \[heap\]$' \
	'task-end exit code 3$' 'task-end killed by signal 9' 'gap 0x7f1000000000-0x7f1000004000 a shared'

"$MAKE_TRACE" "$tmp/sampled" sampled
"$MOCA" dump "$tmp/sampled" --accesses >"$tmp/out"
has "dump: weights" "$tmp/out" '  N    W mapping$' \
	'^ +0\.001000000 .* 0x000010001008 .* +0 +1 \[heap\]$' \
	'^ +0\.051000000 .* 0x000010001008 .* +0 +0 \[heap\]$' \
	'^ +0\.052000000 .* 0x000010002010 .* +0 +4 \[heap\]$' \
	'^ +0\.061000000 .* X U 0x7f0000003000 .* - +- +1 /lib/demo.so$'
"$MOCA" dump "$tmp/sampled" --csv >"$tmp/out"
has "dump --csv: weights" "$tmp/out" ',name,weight$' '^access,52000000,.*"\[heap\]",4$' '^mmap,.*,$'

cat >"$tmp/see.py" <<'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="", errors="surrogateescape")))
assert len(rows) == 82 and None not in rows[0] and all(None not in r.values() for r in rows)
order = [(int(r["task"]), int(r["time_ns"])) for r in rows]
assert order == sorted(order)
a = [r for r in rows if r["kind"] == "access"]
assert len(a) == 68 and a[1]["address"] == "0x10001008" and a[1]["mode"] == "U"
m = [r for r in rows if r["kind"] == "mmap"]
assert m[0]["length"] == "65536" and m[0]["prot"] == "rw-" and m[0]["name"] == "[heap]"
e = [r for r in rows if r["kind"] == "task-end"]
assert [r["status"] for r in e] == ["768", "0", "9"]
END
for t in t odd; do
	run "dump --csv: $t" 0 "$MOCA" dump --csv "$tmp/$t"
	if python3 "$tmp/see.py" "$tmp/out" 2>"$tmp/err"; then
		ok "dump --csv: $t"
	else
		not_ok "dump --csv: $t" "$(tail -n 1 "$tmp/err")"
	fi
done

"$MAKE_TRACE" "$tmp/m" events && "$MAKE_TRACE" "$tmp/only" only-events ||
	{ not_ok "make-trace: events" failed; finish; }
run "dump: events" 0 "$MOCA" dump --events "$tmp/m"
has "dump: events" "$tmp/out" \
	'^ +0\.011000000 +1 +100 +101 event db:commit transaction=1 table="x\\"\\\\\\n\\x1b" state=idle\(0\) digest=\[0x1,0xfe\]$' \
	' table="" state=busy\(1\) ' ' transaction=3 table=".*\\xff" state=2 ' \
	' transaction=18446744073709551615 table="t" state=-1 ' \
	'^ +0\.100000000 +3 +777 +777 event app:sleep seconds=0\.1 why=\[\]$' \
	' event app:sleep seconds=0\.1 why=\[7,-5\]$'
# lines NAME LINES OPTIONS...: of the trace with events, without the heading.
lines() {
	local name="dump: $1" want=$2 got
	shift 2
	run "$name" 0 "$MOCA" dump "$@" || return
	got=$(($(wc -l <"$tmp/out") - 1))
	if [ $got = "$want" ]; then ok "$name"; else not_ok "$name" "$got records, not $want"; fi
}
lines "all with events" 91 "$tmp/m"
lines "events of a task" 4 --events --task 1 "$tmp/m"
lines "events of a time" 2 --events --from 50ms --to 150ms "$tmp/m"
lines "events and changes" 23 --events --changes "$tmp/m"
lines "no events of addresses" 4 --address 0x10000000-0x10001000 --task 1 --accesses "$tmp/m"
lines "events only" 11 "$tmp/only"
"$MOCA" dump "$tmp/m" >"$tmp/out"
grep ' 1 *100 *101 ' "$tmp/out" >"$tmp/task1"
if sort -s -c -k1,1n "$tmp/task1" 2>"$tmp/err" && grep -q event "$tmp/task1" && grep -q ' R K ' "$tmp/task1"; then
	ok "dump: events in place"
else
	not_ok "dump: events in place" "$(head -n 1 "$tmp/err")"
fi
"$MOCA" dump --changes "$tmp/only" >"$tmp/out"
has "dump: events of streams" "$tmp/out" '777 task-start flags=- sleeper$' '777 gap a full buffer$' '777 task-end$'
cat >"$tmp/see.py" <<'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="", errors="surrogateescape")))
assert len(rows) == 91 and None not in rows[0] and all(None not in r.values() for r in rows)
order = [(int(r["task"]), int(r["time_ns"])) for r in rows]
assert order == sorted(order)
m = [r for r in rows if r["kind"] == "event"]
assert len(m) == 6 and m[0]["pid"] == "100" and m[0]["time_ns"] == "11000000" and m[0]["address"] == ""
assert m[0]["name"] == r'db:commit transaction=1 table="x\"\\\n\x1b" state=idle(0) digest=[0x1,0xfe]', m[0]["name"]
assert m[5]["name"] == "app:sleep seconds=0.1 why=[7,-5]"
END
run "dump --csv: events" 0 "$MOCA" dump --csv "$tmp/m"
if python3 "$tmp/see.py" "$tmp/out" 2>"$tmp/err"; then
	ok "dump --csv: events"
else
	not_ok "dump --csv: events" "$(tail -n 1 "$tmp/err")"
fi
for bad in "--address 5" "--address 5-4" "--task x" "--task 7" "--from 1x" "--from 2s --to 1s" "--to"; do
	# shellcheck disable=SC2086 # the words are options
	run "dump: bad $bad" 2 "$MOCA" dump "$tmp/t" $bad && ok "dump: bad $bad"
done
# What libmoca-alloc tells is no event of the program's.
"$BUILD/tests/make-objects" "$tmp/alloc" || not_ok make-objects failed
run "dump: allocations" 0 "$MOCA" dump --allocations "$tmp/alloc"
has "dump: allocations" "$tmp/out" ' event moca_alloc:alloc addr=0x7f0000000000 size=32768 stack=1 kind=0$' \
	' event moca_alloc:tally stack=2 count=10 bytes=640$'
for option in "" --events --changes; do
	run "dump: no allocations $option" 0 "$MOCA" dump $option "$tmp/alloc"
	if grep -q moca_alloc "$tmp/out"; then
		not_ok "dump: no allocations $option" "$(grep -m 1 moca_alloc "$tmp/out")"
	else
		ok "dump: no allocations $option"
	fi
done
finish
