#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
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
count everything 81
count accesses 68 --accesses
count events 13 --events
count "one task" 55 --task 0 --accesses --events
count "one task's accesses" 8 --task 1 --accesses
count "one interval" 17 --accesses --from 50ms --to 100ms
count "from" 34 --accesses --from 100ms
count "addresses" 8 --accesses --address 10001000-10003000
count "addresses and task" 4 --accesses --address 0x10000000-0x10001000 --task 1
count "events of addresses" 2 --events --address 7f0000000000-7f0000001000 --task 0
"$MOCA" dump "$tmp/t" --accesses >"$tmp/out"
has "dump: access" "$tmp/out" \
	'^ +0\.001000000 +0 +100 +100 +1 W U 0x000010001008 0x000000401008 0x0110001000 +0 \[heap\]$' \
	'^ +0\.020000000 +1 +100 +101 +0 R K 0x000010000001 ' \
	'^ +0\.032000000 +2 +200 +200 +1 \? U .*\[unknown\]$' \
	'^ +0\.011000000 .* X U 0x7f0000003000 .* - +- /lib/demo.so$'
"$MOCA" dump "$tmp/t" --events >"$tmp/out"
has "dump: event" "$tmp/out" \
	'task-start flags=- demo$' 'task-start parent=0 flags=thread worker$' \
	'mmap 0x10000000-0x10010000 rw- offset=0x0 flags=certified\+zapped \[heap\]$' \
	'task-end exit code 3$' 'task-end killed by signal 9' 'gap 0x7f1000000000-0x7f1000004000 a shared'

cat >"$tmp/see.py" <<'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="", errors="surrogateescape")))
assert len(rows) == 81 and None not in rows[0] and all(None not in r.values() for r in rows)
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
for bad in "--address 5" "--address 5-4" "--task x" "--task 7" "--from 1x" "--from 2s --to 1s" "--to"; do
	# shellcheck disable=SC2086 # the words are options
	run "dump: bad $bad" 2 "$MOCA" dump "$tmp/t" $bad && ok "dump: bad $bad"
done
finish
