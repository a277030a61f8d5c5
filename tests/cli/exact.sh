#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside: others
# Traces of exact mode, in all commands that read traces.
. "$(dirname "$0")/lib.sh.inc"

for kind in sliced pages balanced gaps wrong empty; do
	"$BUILD/tests/make-exact" "$tmp/$kind" $kind || { not_ok make-exact failed; finish; }
done

# say NAME CODE PATTERN... -- COMMAND: what it prints, and says.
say() {
	local name=$1 code=$2 patterns=()
	shift 2
	while [ "$1" != -- ]; do patterns+=("$1"); shift; done
	shift
	run "$name" "$code" "$@" || return
	cat "$tmp/err" >>"$tmp/out"
	has "$name" "$tmp/out" "${patterns[@]}"
}
# hasnt NAME PATTERN: of what was printed last.
hasnt() {
	if grep -Eq -e "$2" "$tmp/out"; then
		not_ok "$1" "$(grep -Em 1 -e "$2" "$tmp/out")"
	else
		ok "$1"
	fi
}

say "exact: info" 0 '^Exact: 26,000,040 loads and 10,000,062 stores, all' 'exact, granularity 64 bytes, slices of 100 ms' \
	'bytes per row of counts' 'mapping +pages +loads +stores$' '^  1 +101 +prog +3 +13,000,020 +5,000,020' \
	'^  \[anonymous\] +5 +26,000,040 +10,000,040 ' -- "$MOCA" info "$tmp/sliced"
hasnt "exact: info: nothing of records" 'records|sample|Working set|in kernel'
say "exact: info: no slices" 0 'granularity 4.0 KiB, no slices' '^Exact: 410,100,160 loads and 2,097,168' -- "$MOCA" info "$tmp/pages"
say "exact: info: gaps" 0 '^Counted, but not all: .*; 3 times something' '^  - unknown instruction: 3 times' -- "$MOCA" info "$tmp/gaps"
say "exact: info: nothing counted" 0 '^Exact: 0 loads|^Exact: ' -- "$MOCA" info "$tmp/empty"
cat >"$tmp/see.py" <<'END'
import json, sys
t = json.load(open(sys.argv[1]))
c = t["certificate"]
assert (c["loads"], c["stores"], c["gaps"]) == (410100160, 2097168, 3), c
e = t["exact"]
assert (e["granularity"], e["slice_ns"], e["memory"], e["regions"]) == (4096, 0, 123456, None), e
assert e["gaps"]["unknown_instruction"] == 3 and sum(e["gaps"].values()) == 3, e
assert [x["loads"] for x in t["tasks"]] == [160, 205100000, 205000000]
assert t["tasks"][0]["stores"] == 2097168 and t["total"]["pages"] == 4097
END
run "exact: info --json" 0 "$MOCA" info --json "$tmp/gaps"
if python3 "$tmp/see.py" "$tmp/out" 2>"$tmp/err"; then ok "exact: info --json"; else not_ok "exact: info --json" "$(tail -n 1 "$tmp/err")"; fi

run "exact: record: forks" 0 "$MOCA" record --exact -q --no-summary -o "$tmp/forks" -- sh -c '(true); (true)'
say "exact: objects: stacks begin before they are used" 0 '^[1-9][0-9]*,0$' -- "$MOCA" query --csv "$tmp/forks" \
	"SELECT count(*), sum(begin_ns > first_ns) FROM objects WHERE kind = 'stack'"
say "exact: objects: nothing of a process begins before it" 0 '^[1-9][0-9]*,0$' -- "$MOCA" query --csv "$tmp/forks" \
	"SELECT count(*), sum(i.begin_ns < t.b) FROM instances i JOIN objects o USING (object_id)
		JOIN (SELECT pid, min(begin_ns) b FROM tasks GROUP BY pid) t ON t.pid = i.pid
		WHERE o.kind IN ('static', 'tls', 'stack')"

say "exact: check" 0 'sound and complete; 3 tasks, 4,140 rows of counts \(26,000,040 loads, 10,000,062 stores\)' -- "$MOCA" check "$tmp/sliced"
say "exact: check: gaps" 0 '^incomplete: 3 times something was not counted' 'unknown instruction: 3' 'sound, but' -- "$MOCA" check "$tmp/gaps"
say "exact: check: wrong sum" 1 'counted 410,100,161 loads, the files hold 410,100,160' 'DAMAGED' -- "$MOCA" check "$tmp/wrong"
cp -r "$tmp/pages" "$tmp/granule"
sed -i 's/^exact.granularity .*/exact.granularity 64/' "$tmp/granule/metadata"
say "exact: check: granularity" 1 'granules have 4096 bytes, not 64' -- "$MOCA" check "$tmp/granule"
cp -r "$tmp/pages" "$tmp/cut"
truncate -s -9 "$tmp/cut/task-1"
say "exact: check: cut" 1 '^damaged:' 'DAMAGED' -- "$MOCA" check "$tmp/cut"

say "exact: dump" 0 ' 1 +100 +101 counts 0x7f0002000000 loads=100000 stores=100000 slice=0 until=0\.100019999 first=0\.000020001,W ' \
	'slice=19 until=2\.0' 'task-start' -- "$MOCA" dump "$tmp/sliced"
if [ "$(grep -c ' counts ' "$tmp/out")" = 4140 ]; then ok "exact: dump: all rows"; else not_ok "exact: dump: all rows" "$(grep -c ' counts ' "$tmp/out")"; fi
say "exact: dump: one line, one task, a time" 0 'loads=100000' -- "$MOCA" dump --counts --task 2 --address 7f0002000000-7f0002000008 --from 500ms --to 700ms "$tmp/sliced"
if [ "$(grep -c counts "$tmp/out")" = 3 ]; then ok "exact: dump: filters"; else not_ok "exact: dump: filters" "$(cat "$tmp/out")"; fi
run "exact: dump --csv" 0 "$MOCA" dump --counts --csv "$tmp/sliced"
if python3 - "$tmp/out" 2>"$tmp/err" <<'END'
import csv, sys
r = list(csv.DictReader(open(sys.argv[1])))
assert len(r) == 4140, len(r)
assert sum(int(x["loads"]) for x in r) == 26000040 and sum(int(x["stores"]) for x in r) == 10000062
assert {x["kind"] for x in r} == {"counts"} and {x["length"] for x in r} == {"64"}
assert {x["slice"] for x in r} == {str(i) for i in range(20)}
assert sum(x["first_ns"] != "" for x in r) == 207 and {x["first_type"] for x in r} == {"", "R", "W"}
END
then ok "exact: dump --csv"; else not_ok "exact: dump --csv" "$(tail -n 1 "$tmp/err")"; fi
say "exact: dump: CSV of all has no counts" 0 '^kind,time_ns,task' -- "$MOCA" dump --csv "$tmp/sliced"
hasnt "exact: dump: CSV of all has no counts" '^counts'
say "exact: dump: two headings" 2 "ask for it alone" -- "$MOCA" dump --csv --counts --changes "$tmp/sliced"

say "exact: export" 2 'no event of this format can be.*dump --counts --csv' -- "$MOCA" export --to ctf -o "$tmp/ctf" "$tmp/sliced"
if [ -e "$tmp/ctf" ]; then not_ok "exact: export: nothing is left" "it is"; else ok "exact: export: nothing is left"; fi
say "exact: export of events" 0 '0 accesses' -- "$MOCA" export --to ctf --events-only -o "$tmp/ctf" "$tmp/sliced"

say "exact: objects" 0 'of 36,000,102 loads and stores went' ' loads +stores threads' \
	'^  heap object +heap +16.0 MiB .* 22,000,000 +6,000,000 +2 shared write' -- "$MOCA" objects "$tmp/sliced"
say "exact: objects by thread" 0 'thread +loads +stores' '#1 prog +13,000,020 +5,000,020 ' -- "$MOCA" objects "$tmp/sliced" 'heap object' --by thread
say "exact: objects by line" 2 "not of instructions" -- "$MOCA" objects "$tmp/sliced" 'heap object' --by line
for kind in sliced pages balanced; do
	run "exact: objects --json: $kind" 0 "$MOCA" objects --json "$tmp/$kind"
	if python3 - "$tmp/out" "$tmp/$kind/metadata" 2>"$tmp/err" <<'END'
import json, sys
t = json.load(open(sys.argv[1]))
m = dict(x.rstrip("\n").split(" ", 1) for x in open(sys.argv[2]) if " " in x)
for k in ("loads", "stores"):
    want = int(m["certificate." + k])
    assert sum(o[k] for o in t["objects"]) == want, k
    assert t["totals"][k] + t["totals"]["own_" + k] == want, k
assert t["totals"]["exact"] is True
assert all(o["accesses"] == o["loads"] + o["stores"] and o["reads"] == o["loads"] for o in t["objects"])
END
	then ok "exact: objects --json: $kind: sums are the certificate's"; else not_ok "exact: objects --json: $kind" "$(tail -n 1 "$tmp/err")"; fi
done

# Two findings: parts of two threads meet in a line; a line is shared.
say "exact: summary" 0 'Exact +loads and stores' 'parts of different threads meet in cache lines of heap object \(false sharing\)' \
	'byte 6400 \(0x7f0000001900\): in 20 of 20 slices; several threads write it' 'by thread: thread #[12] \(prog\) [0-9.]+ % \([0-9]+ stores\), thread #[12] \(prog\)' 'used by one of the two' \
	'Confidence high' 'true or false' 'whether they use the same bytes was not recorded' 'Confidence low' -- \
	env COLUMNS=300 "$MOCA" summary --topology 2x1 "$tmp/sliced"
hasnt "exact: summary: nothing of intervals" 'interval|Working set'
say "exact: summary: first touch" 0 'placed by the thread that prepares it' '4096 pages, 410100000 loads and 2097152 stores' 'Remote +49.7 % by first touch' \
	'no time slices' 'granules of 4096 bytes' -- env COLUMNS=300 "$MOCA" summary --topology 2x1 "$tmp/pages"
say "exact: summary: well placed" 0 'None: no rule' 'Remote +0.1 %' -- "$MOCA" summary --topology 2x1 "$tmp/balanced"
say "exact: summary: gaps" 0 '3 times something was not counted' -- env COLUMNS=300 "$MOCA" summary "$tmp/gaps"
say "exact: summary: nothing counted" 0 'no accesses to data|Nothing was counted' -- "$MOCA" summary "$tmp/empty"
say "exact: diff" 0 'accesses +412,197,328 -> +412,199,888' 'remote +49.7 % -> +0.1 %' -- "$MOCA" diff --topology 2x1 "$tmp/pages" "$tmp/balanced"
"$MAKE_TRACE" "$tmp/records" complete
say "exact: diff with records" 2 "one cannot be compared with the other" -- "$MOCA" diff "$tmp/records" "$tmp/pages"
run "exact: summary --json" 0 "$MOCA" summary --json --topology 2x1 "$tmp/sliced"
if python3 - "$tmp/out" 2>"$tmp/err" <<'END'
import json, sys
t = json.load(open(sys.argv[1]))
assert [f["id"] for f in t["findings"]] == ["shared-lines"] * 2, t["findings"]
assert sorted(f["confidence"] for f in t["findings"]) == ["high", "low"]
assert t["totals"]["accesses"] == 36000102 and t["totals"]["intervals"] == 20
x = t["exact"]
assert x["granularity"] == 64 and x["slices"] == 20 and not x["left_out"], x
assert len(x["lines"]) >= 2 and x["lines"][0]["contended"] == 4000000, x["lines"][:2]
assert x["lines"][0]["threads"] and x["lines"][0]["loads"] == 4000000
assert [y["id"] for y in x["threads"]] == [0, 1, 2] and x["threads"][1]["loads"] == 13000020
assert sum(y["loads"] + y["stores"] for y in x["threads"]) == 36000102
o = [y for y in x["objects"] if y["lines_contended"]]
assert len(o) == 2 and sum(y["contended"] for y in o) == 6000040, o
END
then ok "exact: summary --json"; else not_ok "exact: summary --json" "$(tail -n 1 "$tmp/err")"; fi
finish
