#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside: others
# moca info: the text and the JSON of a trace whose contents are known.
. "$(dirname "$0")/lib.sh.inc"

"$MAKE_TRACE" "$tmp/lossy" && "$MAKE_TRACE" "$tmp/complete" complete &&
	"$MAKE_TRACE" "$tmp/truncated" truncated && "$MAKE_TRACE" "$tmp/nodes" nodes &&
	"$MAKE_TRACE" "$tmp/odd" odd-names || { not_ok make-trace failed; finish; }

run info 0 env TZ=UTC "$MOCA" info "$tmp/lossy"
has "info: head" "$tmp/out" '^Program +demo demo' '^Recorded +2025-01-02 03:04:05 on testhost' '^Ran for +200 ms, exit code 3' 'interval 50 ms, slowdown budget 10 %'
has "info: loss" "$tmp/out" 'of 15 pages that were touched, 14 have a record' 'Lost: 3 samples, in 1 of 13'
has "info: unseen" "$tmp/out" 'system calls were not seen' 'device: 16.0 KiB'
has "info: mapping" "$tmp/out" '^  \[heap\] +9 +8 +32 +0 +20.00 % +100 demo' '^  /lib/demo.so +4 +16 +0'
has "info: task" "$tmp/out" '^  0 +100 +demo +12 +16 +32' '^  1 +101 +worker +2 +8 +0 +0 +100 %' '^  2 +200 +renamed +2 +4 +4 +4'
has "info: working set" "$tmp/out" '████' 'most 15 pages .* in an interval, half of the time 15 .*or fewer, 4 intervals$'
has "info: resolution" "$tmp/out" '^Resolution +4 intervals of 50 ms to 50 ms, median 50 ms: they tell who touched a page first; .* 10 are needed'
has "info: slowdown" "$tmp/out" '1\.25 times'
has "info: machine not recorded" "$tmp/out" '^Machine +not recorded'
# As the last line of moca record: tests/unit/test-control.c.
told() {
	cp -r "$tmp/lossy" "$tmp/told"
	sed -i -e '/^sums /d' -e '/^checksum /d' -e '/^slowdown_estimate /d' "$tmp/told/metadata"
	for what in wall cpu; do
		printf 'cost.%s_estimate %s\ncost.%s_low %s\ncost.%s_high %s\ncost.%s_ns 1000000000\ncost.%s_added_ns 200000000\n' \
			$what "$2" $what "$3" $what "$4" $what $what
	done >>"$tmp/told/metadata"
	run "info: cost: $1" 0 "$MOCA" info "$tmp/told"
	has "info: cost: $1" "$tmp/out" "$5"
	rm -r "$tmp/told"
}
told vague 1.2500 1.2500 100.0000 '^Cost of recording: at least 0\.20 s of 1\.00 s; with the recorder, at least 0\.20 s of 1\.00 s of CPU time\.$'
told 'nothing is sure' 0.9500 0.9500 100.0000 '^Cost of recording: at least 0\.00 s of 1\.00 s; '
told 'at least' 2.5000 2.5000 100.0000 'took at least 2\.5 times as long; with the recorder, at least 2\.5 times the CPU time\.$'
told range 1.8000 1.2500 2.5000 'took about 1\.2 to 2\.5 times as long; '
# Looks at accessed bits (record --heat).
cp -r "$tmp/lossy" "$tmp/heat"
sed -i -e '/^sums /d' -e '/^checksum /d' "$tmp/heat/metadata"
printf 'heat.period_ns 10000000\nheat.looks 3\nheat.looked 400\nheat.touched 57\nheat.held 2\nheat.lost 1\nheat.look_ns 8000\n' \
	>>"$tmp/heat/metadata"
run "info: heat" 0 "$MOCA" info "$tmp/heat"
has "info: heat" "$tmp/out" '^Heat +3 looks .* every 10 ms .*; 57 times .*; 20\.0 ns a page$' '^ +2 times there was no room' '^ +1 time a sweep had no room'
for of in heat lossy; do
	run "info: heat, JSON: $of" 0 "$MOCA" info --json "$tmp/$of"
	cp "$tmp/out" "$tmp/$of.json"
done
python3 - "$tmp/heat.json" "$tmp/lossy.json" <<'END' >"$tmp/out" 2>&1
import json, sys
some, none = (json.load(open(p))["heat"] for p in sys.argv[1:])
assert none is None, none
assert some == {"period_ns": 10000000, "looks": 3, "looked": 400, "touched": 57, "held": 2, "lost": 1, "look_ns": 8000}, some
END
if [ $? = 0 ]; then ok "info: heat, JSON"; else not_ok "info: heat, JSON" "$(tail -n 1 "$tmp/out")"; fi
run "info: nodes" 0 "$MOCA" info "$tmp/nodes"
has "info: nodes" "$tmp/out" '^Machine +2 nodes, 2 CPUs \(a.*CPU\), 3.0 GiB; huge pages madvise; memory policy bind' \
	'^By NUMA node: 84.62 % of the accesses were remote.* known for 76.47 %' \
	'^  0 +1 +1.0 GiB +11 +52 +44 +8  10 21$' '^  2 +1 +2.0 GiB +0 +0 +0 +60  21 10$' \
	'^  0 +100 +demo +0 +32 +16 +100 %$' '^  1 +101 +worker +8 +0 +0 +0.00 %$'
run "info: nodes, JSON" 0 "$MOCA" info --json "$tmp/nodes"
has "info: nodes, JSON" "$tmp/out" '"node_unknown": 16' '"remote": 44' '"by_its_cpus": 60' '"node_of_cpu":' '"thp.enabled": "madvise"'
run "info: complete" 0 "$MOCA" info "$tmp/complete"
has "info: complete" "$tmp/out" '^Complete: all 15 pages' 'No sample was lost'
"$MAKE_TRACE" "$tmp/sampled" sampled
"$MOCA" info --json "$tmp/sampled" >"$tmp/json"
per=$(python3 -c 'import json, sys
t = json.load(open(sys.argv[1]))
assert t["total"]["accesses"] != 68, t["total"]
print("%.2f" % (t["bytes"] / 68))' "$tmp/json")
run "info: samples" 0 "$MOCA" info "$tmp/sampled"
has "info: bytes per record, not per weight" "$tmp/out" "^Size .*, ${per:-no number} bytes per record\$"
run "info: truncated" 0 "$MOCA" info "$tmp/truncated"
has "info: truncated" "$tmp/out" 'Not finished: the recording goes on, or its recorder was killed or had no room to write its end; .* 200 ms after' \
	'Of 15 touched pages that it had counted by then, 14 had a record' 'still running when this was written|exit code 3'
if grep -q '^Complete' "$tmp/out"; then not_ok "info: truncated is not complete" "told"; else ok "info: truncated is not complete"; fi
run "info: odd names" 0 "$MOCA" info "$tmp/odd"
if LC_ALL=C grep -q "$(printf '\033')" "$tmp/out"; then
	not_ok "info: no escape reaches the terminal" "it does"
else
	ok "info: no escape reaches the terminal"
fi
run "info: option after the trace" 0 "$MOCA" info "$tmp/lossy" --all
has "info: option after the trace" "$tmp/out" '^Trace'

cat >"$tmp/see.py" <<'END'
import json, sys
t = json.load(open(sys.argv[1]))
c = t["certificate"]
assert (c["pages_seen"], c["pages_touched"], c["lost"], c["lossy_chunks"]) == (14, 15, 3, 1), c
assert t["slowdown_estimate"] == 1.25
assert t["truncated"] is False and not any(t["damage"].values())
assert [x["pages"] for x in t["tasks"]] == [12, 2, 2]
assert t["tasks"][0]["parent"] is None and t["tasks"][1]["parent"] == 0
assert t["tasks"][2]["status"] == 9
heap = [m for m in t["mappings"] if m["name"] == "[heap]" and m["pid"] == 100][0]
assert (heap["pages"], heap["reads"], heap["writes"], heap["kernel"]) == (9, 8, 32, 8), heap
assert t["total"]["pages"] == 15 and t["total"]["accesses"] == 68
assert t["working_set"]["pages_over_time"] == [15] * 4
assert t["resolution"] == {"intervals": 4, "shortest_ns": 49999999,
                           "median_ns": 49999999, "longest_ns": 49999999}
assert t["metadata"]["command"]
END
for kind in lossy odd; do
	run "info --json: $kind" 0 "$MOCA" info --json "$tmp/$kind"
	if python3 -m json.tool "$tmp/out" >/dev/null 2>"$tmp/err" &&
	   python3 "$tmp/see.py" "$tmp/out" 2>"$tmp/err"; then
		ok "info --json: $kind"
	else
		not_ok "info --json: $kind" "$(tail -n 1 "$tmp/err")"
	fi
done

"$MAKE_TRACE" "$tmp/events" events && "$MAKE_TRACE" "$tmp/only" only-events ||
	{ not_ok "make-trace: events" failed; finish; }
run "info: events" 0 "$MOCA" info "$tmp/events"
has "info: events" "$tmp/out" '^Complete: all 15 pages' '^Events: 6, .*2 kinds' 'Lost: 5 events' 'Torn: 1 event,' \
	'^  db:commit +4 +0\.011000000 +0\.170000000$' '^  app:sleep +2 +0\.100000000 +0\.150000000$' \
	'^  1 +101 +worker +4 +0 +0$' '^  3 +777 +sleeper +2 +5 +1$' '^  - a full buffer'
run "info: only events" 0 "$MOCA" info "$tmp/only"
has "info: only events" "$tmp/out" '^Events: 6, ' '^  db:commit +4 ' '^  0 +101 +worker +4 +0 +0$' '^Ran for +200 ms'
if grep -Eiq 'page|sample|mapping|working' "$tmp/out"; then
	not_ok "info: only events: nothing of pages" "$(grep -Eim 1 'page|sample|mapping|working' "$tmp/out")"
else
	ok "info: only events: nothing of pages"
fi
cat >"$tmp/see.py" <<'END'
import json, sys
t = json.load(open(sys.argv[1]))
m = t["events"]
assert (m["count"], m["lost"], m["torn"]) == (6, 5, 1), m
k = m["kinds"]
assert [(x["facility"], x["name"], x["id"], x["count"]) for x in k] == [("db", "commit", 16, 4), ("app", "sleep", 17, 2)], k
assert k[1]["first_ns"] == 1100000000 and k[1]["last_ns"] == 1150000000
last = t["tasks"][-1]
assert (last["tid"], last["events"], last["events_lost"], last["events_torn"]) == (777, 2, 5, 1), last
assert last["status"] is None and t["tasks"][-2]["pid"] in (100, 200)
END
for kind in events only; do
	run "info --json: $kind" 0 "$MOCA" info --json "$tmp/$kind"
	if python3 "$tmp/see.py" "$tmp/out" 2>"$tmp/err"; then
		ok "info --json: $kind"
	else
		not_ok "info --json: $kind" "$(tail -n 1 "$tmp/err")"
	fi
done
# What libmoca-alloc tells is no event of the program's.
"$BUILD/tests/make-objects" "$tmp/alloc" || not_ok make-objects failed
run "info: allocations" 0 "$MOCA" info "$tmp/alloc"
has "info: allocations" "$tmp/out" "^Allocations: 16 events: 'moca objects'"
if grep -q '^Events\|moca_alloc' "$tmp/out"; then
	not_ok "info: allocations are no events" "$(grep -m 1 '^Events\|moca_alloc' "$tmp/out")"
else
	ok "info: allocations are no events"
fi
run "info --json: allocations" 0 "$MOCA" info --json "$tmp/alloc"
cat >"$tmp/see.py" <<'END'
import json, sys
t = json.load(open(sys.argv[1]))
assert t["allocations"] == {"count": 16, "lost": 0, "sampled_one_in": 1, "sampled_below_bytes": 0}, t["allocations"]
assert t["events"]["count"] == 0 and t["events"]["kinds"] == [], t["events"]
assert [x["events"] for x in t["tasks"]] == [0, 0]
END
if python3 "$tmp/see.py" "$tmp/out" 2>"$tmp/err"; then
	ok "info --json: allocations"
else
	not_ok "info --json: allocations" "$(tail -n 1 "$tmp/err")"
fi
finish
