#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside: others
# What info, summary, diff and query say of one trace: accesses, pages and working
# sets are the same numbers.
. "$(dirname "$0")/lib.sh.inc"

for kind in complete sampled uneven nodes; do
	"$MAKE_TRACE" "$tmp/$kind" $kind || { not_ok make-trace failed; finish; }
done
for kind in sliced pages balanced; do
	"$BUILD/tests/make-exact" "$tmp/$kind" $kind || { not_ok make-exact failed; finish; }
done
"$BUILD/tests/make-objects" "$tmp/heap" && "$BUILD/tests/make-objects" "$tmp/lost" lost || { not_ok make-objects failed; finish; }

cat >"$tmp/agree.py" <<'END'
import json, subprocess, sys
moca, trace = sys.argv[1:]
def run(*args):
    return subprocess.run([moca, *args], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout.decode()
def same(what, a, b):
    if a != b:
        sys.exit("%s: %s and %s" % (what, a, b))
info = json.loads(run("info", "--json", trace))
summary = json.loads(run("summary", "--json", "--all", trace))
diff = json.loads(run("diff", "--json", trace, trace))
s, t, own = summary["totals"], info["total"], info["own"]
exact = summary["exact"] is not None
same("accesses of info and summary", t["accesses"] + own["accesses"],
     s["accesses"] + s["other_accesses"])
same("pages of info and summary", t["pages"] + own["pages"],
     s["pages"] + s["other_pages"])
same("events lost", info["allocations"]["lost"], s["allocations_lost"])
same("accesses of summary and its structures", s["accesses"],
     sum(o["accesses"] for o in summary["objects"] if o["data"]))
for key in "accesses", "reads", "writes":
    same(key + " of diff and its structures", diff["total"]["a"][key],
         sum(o["a"][key] for o in diff["objects"]))
same("accesses of diff and summary", diff["total"]["a"]["accesses"],
     s["accesses"])
if exact:
    same("working set of diff", diff["total"]["a"]["wss"], None)
    c = info["certificate"]
    same("loads and stores", c["loads"] + c["stores"],
         t["accesses"] + own["accesses"])
else:
    w = info["working_set"]
    same("most pages", w["pages_max"], s["working_set_most"])
    same("median", w["pages_median"], s["working_set_median"])
    same("wss", diff["total"]["a"]["wss"], s["working_set_most"])
    same("most, of all pages", w["pages_max"] <= t["pages"], True)
    same("sum(weight)", int(run("query", "--csv", trace,
         "SELECT sum(weight) FROM accesses").split()[-1]),
         t["accesses"] + own["accesses"])
data = [l for l in run("summary", trace).splitlines() if l.startswith("Data ")]
same("the line Data", "{:,} ".format(s["accesses"]) in data[0] and
     " to {:,} page".format(s["pages"]) in data[0], True)
END
for trace in complete sampled uneven nodes sliced pages balanced heap lost; do
	if python3 "$tmp/agree.py" "$MOCA" "$tmp/$trace" 2>"$tmp/err"; then
		ok "agree: $trace"
	else
		not_ok "agree: $trace" "$(tail -n 1 "$tmp/err")"
	fi
done

# Of intervals of 40, 40, 40 and 80 ms an access in the last weighs twice as much
# in shares, and once in numbers.
run "uneven: summary" 0 "$MOCA" summary "$tmp/uneven" && has "uneven: summary" "$tmp/out" \
	'^Data +36 accesses to 11 pages, 4 intervals' '^Left out +8 accesses to 4 pages' \
	'^Weighed +intervals differ in length' '^ +most 15 pages \(60.0 KiB\) in an interval, half of the time 15 '
run "uneven: info" 0 "$MOCA" info "$tmp/uneven" && has "uneven: info" "$tmp/out" '^  all +15 ' '^  most 15 pages '
run "uneven: diff" 0 "$MOCA" diff "$tmp/uneven" "$tmp/uneven" && has "uneven: diff" "$tmp/out" \
	'^  accesses +36 -> +36  =$' '^Records .*36 in 4 intervals' 'weighs'
run "even: diff" 0 "$MOCA" diff "$tmp/complete" "$tmp/complete" &&
	if grep -q weighs "$tmp/out"; then not_ok "even: diff" "it tells of weights"; else ok "even: diff"; fi
run "even: summary" 0 "$MOCA" summary "$tmp/complete" &&
	if grep -q '^Weighed' "$tmp/out"; then not_ok "even: summary" "it tells of weights"; else ok "even: summary"; fi
run "lost events" 0 "$MOCA" summary "$tmp/lost" && has "lost events" "$tmp/out" '^Lost +7 events of allocations found no room'
run "no lost events" 0 "$MOCA" summary "$tmp/heap" &&
	if grep -q '^Lost' "$tmp/out"; then not_ok "no lost events" "it tells of some"; else ok "no lost events"; fi
run "diff: points" 0 "$MOCA" diff --topology 2x1 "$tmp/pages" "$tmp/balanced" && has "diff: points" "$tmp/out" \
	'^  remote .* -49\.[0-9] points$' '^  wss +not known: exact counts have no time$'
run "diff: exact, --markdown" 0 "$MOCA" diff --markdown "$tmp/pages" "$tmp/pages" &&
	if grep -q wss "$tmp/out"; then not_ok "diff: exact, --markdown" "it has wss"; else ok "diff: exact, --markdown"; fi
run "diff: exact, wss" 2 "$MOCA" diff "$tmp/pages" "$tmp/pages" --fail-if 'wss>1' &&
	has "diff: exact, wss" "$tmp/err" "'--fail-if wss>1': exact counts have no time"
finish
