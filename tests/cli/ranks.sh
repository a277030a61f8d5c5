#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside: others
# timeout: 600
# The ranks of a job as one: moca reduce, and moca summary and info of a job.
. "$(dirname "$0")/lib.sh.inc"

# same NAME A B: the same bytes.
same() { if cmp "$2" "$3" >"$tmp/cmp" 2>&1; then ok "$1"; else not_ok "$1" "$(head -c 300 "$tmp/cmp")"; fi; }
# json NAME EXPRESSION: it holds of j, the JSON in $tmp/out.
json() {
	python3 -c "import json, sys
j = json.load(open(sys.argv[1]))
assert $2, json.dumps(j)[:800]" "$tmp/out" 2>"$tmp/err" && ok "$1" ||
		not_ok "$1" "$(tail -1 "$tmp/err" | head -c 600)"
}

job=$tmp/job
"$BUILD/tests/make-job" "$job" 12 12 1200 6 || not_ok make-job "it failed"

run "summary" 0 "$MOCA" summary "$job" &&
	has "summary" "$tmp/out" '^Ranks +12 of 12 on 2 hosts$' \
	"^Began +all within 300 ms by their hosts' clocks: rank 0 first, rank 3 last" '^Failed +rank 5: killed by signal 9' \
	'^  rank 3 on node-0: accesses 58,368, median 14,784$' \
	'^time +600 ms +0 +650 ms +600 ms +1\.20 s +3$' \
	'^  1\. \[heap\] is placed by the thread' '^     all ranks: +0-11 \(12 of 12\)$' \
	'^\[heap\] +12 +220,992 +14,784 +58,368'
if grep -n . "$tmp/out" | grep -q ':Ranks that differ' &&
	[ "$(grep -n '^Ranks that differ' "$tmp/out" | cut -d: -f1)" -lt "$(grep -n '^By rank' "$tmp/out" | cut -d: -f1)" ]; then
	ok "summary: outliers first"
else
	not_ok "summary: outliers first" "$(head -c 400 "$tmp/out")"
fi
run "summary --first" 0 "$MOCA" summary --first "$job" &&
	has "summary --first" "$tmp/out" '^\[heap\] is placed' '12 of 12'
run "summary --first of a rank" 0 "$MOCA" summary --first "$job/rank-0" &&
	has "summary --first of a rank" "$tmp/out" '^predicted \(of a supposed machine\): [0-9]+ % of its accesses remote in place of '
run "summary --detail" 2 "$MOCA" summary --detail 0 "$job" &&
	has "summary --detail" "$tmp/err" 'phases'
run "summary --json" 0 "$MOCA" summary --json "$job" && json "summary --json" \
	"j['rank_count'] == 12 and j['of_ranks'] == 12 and not j['missing'] and \
	j['outliers'][0]['rank'] == 3 and j['outliers'][0]['host'] == 'node-0' and \
	[r['rank'] for r in j['ranks']] == list(range(12)) and \
	j['by_rank']['time']['most'] == 1.2 and j['by_rank']['time']['most_rank'] == 3 and \
	j['findings'][0]['rank_count'] == 12 and j['by_rank']['faults'] is None and \
	j['objects'][0]['accesses'] == sum(r['accesses'] for r in j['ranks'])"
# A rank is what moca summary of its trace says it is.
run "summary of a rank" 0 "$MOCA" summary --json "$job/rank-3" &&
	python3 -c "
import json, sys
j = json.load(open(sys.argv[1]))
print(j['objects'][0]['accesses'], j['objects'][0]['pages'])" "$tmp/out" >"$tmp/alone"
run "info" 0 "$MOCA" info "$job" &&
	has "info" "$tmp/out" '^ +3 whole +node-0 +1\.20 s +58,368' '^ +0 whole' '^ +6 cut '
[ "$(grep -E '^ +[0-9]+ whole' "$tmp/out" | head -1 | awk '{ print $1 }')" = 3 ] &&
	ok "info: outliers first" || not_ok "info: outliers first" "$(head -c 400 "$tmp/out")"
[ "$(cat "$tmp/alone")" = "58368 2432" ] && ok "a rank alone" ||
	not_ok "a rank alone" "$(cat "$tmp/alone")"
run "info --all" 0 "$MOCA" info --all "$job" &&
	[ "$(grep -cE '^ +[0-9]+ (whole|cut)' "$tmp/out")" = 12 ] && ok "info --all" || not_ok "info --all" "$(wc -l <"$tmp/out")"

# A page of all ranks, the one that differs first; what its ranks are called is text.
run "report" 0 "$MOCA" report -o "$tmp/page" "$job" && has "report" "$tmp/page" '^<!DOCTYPE html>' ' of 12 ranks, recorded by moca' \
	'<li>rank 3 on node-0: accesses 58,368, median 14,784</li>' 'killed by signal 9' '<td class="l">\[heap\]</td><td>12</td><td>220,992</td>'
python3 - "$tmp/page" >"$tmp/out" 2>&1 <<'EOF' && ok "report: ranks side by side" || not_ok "report: ranks side by side" "$(tail -1 "$tmp/out")"
import html.parser, sys
class Page(html.parser.HTMLParser):
    table, cells, rows, open, tags = None, [], [], [], set()
    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag == "table":
            self.table = dict(attrs)["id"]
        if tag == "tr":
            self.cells = []
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
        if tag == "tr" and self.table == "ranks":
            self.rows.append(self.cells)
    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th", "span"):
            self.cells.append(data)
p = Page()
p.feed(open(sys.argv[1]).read())
assert not p.open and not p.tags & {"script", "img", "link"}, (p.open, p.tags)
numbers = [r[0] for r in p.rows[1:]]
assert numbers[0] == "3" and sorted(map(int, numbers)) == list(range(12)), numbers
assert p.rows[0][0] == "rank" and "58,368" in p.rows[1], p.rows[:2]
EOF
run "report in the job" 0 "$MOCA" report -q "$job" && same "report in the job" <(sed 2d "$tmp/page") <(sed 2d "$job/report.html")
rm -f "$job/report.html"
run "report of two" 2 "$MOCA" report "$job" "$job" && has "report of two" "$tmp/err" 'moca diff A B'
run "report: nowhere" 1 "$MOCA" report -o "$tmp/nonesuch/page" "$job" && has "report: nowhere" "$tmp/err" 'cannot write'

# One result, however it comes about.
run "reduce" 0 "$MOCA" reduce "$job" -o "$tmp/all"
[ "$(head -1 "$tmp/all")" = "moca-profile	1" ] && ok "reduce" || not_ok "reduce" "$(head -1 "$tmp/all")"
run "reduce -j 1" 0 "$MOCA" reduce -j 1 "$job" -o "$tmp/one" && same "reduce -j 1" "$tmp/all" "$tmp/one"
run "reduce -j 5" 0 "$MOCA" reduce -j 5 "$job" -o "$tmp/five" && same "reduce -j 5" "$tmp/all" "$tmp/five"
run "reduce to -" 0 "$MOCA" reduce "$job" -o - && same "reduce to -" "$tmp/all" "$tmp/out"
# Started many times, as mpirun does: a tree. tree NAME JOB PROCESSES: the exit codes.
tree() {
	local i pids=() codes=
	for ((i = 0; i < $3; i++)); do
		PMI_RANK=$i PMI_SIZE=$3 "$MOCA" reduce --tree --job "$2" -o "$tmp/grown" "${odd[i]:-$job}" 2>"$tmp/tree.$i" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i"; codes="$codes $?"; done
	echo "$codes" >"$tmp/codes"
	if ls "$tmp"/grown.*part-* >/dev/null 2>&1; then not_ok "$1: parts" "$(ls "$tmp")"; else ok "$1: parts"; fi
}
for n in 2 5 8 20; do
	rm -f "$tmp/grown" && odd=() && tree "tree of $n" "j$n" $n && same "tree of $n" "$tmp/all" "$tmp/grown"
	[ -z "$(tr -d ' 0\n' <"$tmp/codes")" ] && ok "tree of $n: exit codes" || not_ok "tree of $n: exit codes" "$(cat "$tmp/codes" "$tmp"/tree.*)"
done
rm -f "$tmp/grown" && odd=([3]="$tmp/nonesuch") && tree "tree: one fails" jx 6
[ "$(cat "$tmp/codes")" = " 2 0 2 2 0 0" ] && [ ! -e "$tmp/grown" ] && ok "tree: one fails" ||
	not_ok "tree: one fails" "$(cat "$tmp/codes" "$tmp"/tree.*)"
has "tree: one fails" "$tmp/tree.2" 'process 3 of 6 could not read'
run "tree without a job" 2 env PMI_RANK=0 PMI_SIZE=2 "$MOCA" reduce --tree -o "$tmp/grown" "$job" && has "tree without a job" "$tmp/err" 'name it with --job'
run "tree to -" 2 env PMI_RANK=0 PMI_SIZE=2 "$MOCA" reduce --tree --job x -o - "$job" && has "tree to -" "$tmp/err" 'not -'
run "tree of one" 0 env PMI_RANK=0 PMI_SIZE=1 "$MOCA" reduce --tree -o "$tmp/grown" "$job" && same "tree of one" "$tmp/all" "$tmp/grown"
run "tree without a launcher" 2 "$MOCA" reduce --tree -o "$tmp/x" "$job" && has "tree without a launcher" "$tmp/err" 'no launcher has said'
run "tree: a job is no path" 2 env PMI_RANK=0 PMI_SIZE=2 "$MOCA" reduce --tree --job a/b -o "$tmp/x" "$job" && has "tree: a job is no path" "$tmp/err" 'no name for files'
run "job without a tree" 2 "$MOCA" reduce --job a -o "$tmp/x" "$job" && has "job without a tree" "$tmp/err" 'are for --tree'
# Without --tree a launcher's variables mean nothing.
rm -f "$tmp/grown"
run "no tree" 0 env PMI_RANK=1 PMI_SIZE=2 "$MOCA" reduce -o "$tmp/grown" "$job" && same "no tree" "$tmp/all" "$tmp/grown"
# Others do not come: all that are missing are told, and what came is removed; also what one that was killed left.
rm -f "$tmp/grown"
in_slurm() { env SLURM_JOB_ID=77 SLURM_STEP_ID="$1" SLURM_PROCID="$2" SLURM_STEP_NUM_TASKS="$3" "$MOCA" reduce --tree -o "$tmp/grown" "${@:4}" "$job"; }
run "tree: two come" 0 in_slurm 0 3 6 && run "tree: two come" 0 in_slurm 0 2 6 --wait 0
run "tree: one without those below" 2 in_slurm 0 4 6 --wait 0 && has "tree: one without those below" "$tmp/err" 'process 5 of 6 has not written .*grown\.77\.part-5'
[ -e "$tmp/grown.77.part-2" ] && [ ! -s "$tmp/grown.77.part-4" ] && ok "tree: parts" || not_ok "tree: parts" "$(ls "$tmp")"
: >"$tmp/grown.77.part-3.AbCdEf"
: >"$tmp/grown.77.part-30"
run "tree: one is missing" 2 in_slurm 1 0 6 --wait 0 && has "tree: one is missing" "$tmp/err" 'process 1 of 6 has not written .* processes 1 to 1 '
rm "$tmp/grown.77.part-30" && ok "tree: a part of others" || not_ok "tree: a part of others" "it was removed"
ls "$tmp"/grown* >/dev/null 2>&1 && not_ok "tree: nothing left" "$(ls "$tmp")" || ok "tree: nothing left"
# A part of before: of other traces, of other processes, cut, or by nobody.
run "stale part" 0 in_slurm 0 1 2 && mv "$job/rank-3" "$tmp/away" && run "stale part: a trace is gone" 2 in_slurm 1 0 2 --wait 0 &&
	has "stale part: a trace is gone" "$tmp/err" 'not of the traces that are there now.*sees 11 traces' && run "stale part: removed" 2 in_slurm 1 0 2 --wait 0 &&
	has "stale part: removed" "$tmp/err" 'has not written'
mv "$tmp/away" "$job/rank-3"
run "changed trace" 0 in_slurm 0 1 2 && cp "$job/rank-3/metadata" "$tmp/kept" && cp "$job/rank-5/metadata" "$job/rank-3/metadata" &&
	run "changed trace: refused" 2 in_slurm 0 0 2 --wait 0 && has "changed trace: refused" "$tmp/err" "another one than '.*rank-3'"
cp "$tmp/kept" "$job/rank-3/metadata"
run "part of four" 0 in_slurm 0 1 4 && run "part of four: refused" 2 in_slurm 0 0 2 --wait 0 && has "part of four: refused" "$tmp/err" "begins with 'moca-part 1 1 4 12'"
run "cut part" 0 in_slurm 0 1 2 && head -3 "$tmp/grown.77.part-1" >"$tmp/short" && mv "$tmp/short" "$tmp/grown.77.part-1" &&
	run "cut part: refused" 2 in_slurm 0 0 2 --wait 0 && has "cut part: refused" "$tmp/err" 'another one than'
cp "$tmp/all" "$tmp/grown.77.part-1"
run "no part" 2 in_slurm 0 0 2 --wait 0 && has "no part" "$tmp/err" "begins with 'moca-profile"
ls "$tmp"/grown* >/dev/null 2>&1 && not_ok "refused: nothing left" "$(ls "$tmp")" || ok "refused: nothing left"
run "good part" 0 in_slurm 0 1 2 && run "good part of another step" 0 in_slurm 1 0 2 --wait 0 && same "good part" "$tmp/all" "$tmp/grown"
# Tasks of an array.
mkdir "$tmp/array" && cp -r "$job" "$tmp/array/task-12" && "$MAKE_TRACE" "$tmp/array/task-3" complete && : >"$tmp/array/task-1"
for command in "reduce -o $tmp/x" summary info objects; do
	run "array: $command" 2 "$MOCA" $command "$tmp/array" && has "array: $command" "$tmp/err" "of an array of Slurm jobs.*as $tmp/array/task-3\$"
done
run "baseline" 0 "$MOCA" baseline "$job" -o "$tmp/base" && same "baseline" "$tmp/all" "$tmp/base"
run "diff with it" 0 "$MOCA" diff "$tmp/base" "$job" --fail-if 'accesses>+0'
run "baseline of a part" 0 "$MOCA" reduce -o "$tmp/some" "$job/rank-0" && run "baseline lacks ranks" 1 "$MOCA" baseline "$tmp/some" -o "$tmp/nobase" &&
	has "baseline lacks ranks" "$tmp/err" 'would lack these ranks'
[ ! -e "$tmp/nobase" ] && ok "baseline lacks ranks: none" || not_ok "baseline lacks ranks: none" "it was written"
run "reduce: part 0" 0 "$MOCA" reduce -o "$tmp/part-0" "$job"/rank-1*
run "reduce: part 1" 0 "$MOCA" reduce -o "$tmp/part-1" "$job"/rank-[2468]
run "reduce: part 2" 0 "$MOCA" reduce -o "$tmp/part-2" "$job"/rank-[03579]
run "reduce parts" 0 "$MOCA" reduce -o "$tmp/tree" "$tmp/part-2" "$tmp/part-0" "$tmp/part-1" && same "reduce parts" "$tmp/all" "$tmp/tree"
run "summary of a part" 1 "$MOCA" summary "$tmp/part-1" &&
	has "summary of a part" "$tmp/err" 'of 12 ranks, 8 have no trace.*0-1, 3, 5, 7, 9-11'
run "summary of a profile" 0 "$MOCA" summary --json "$tmp/all" && json "summary of a profile" \
	"j['rank_count'] == 12 and j['outliers'][0]['rank'] == 3"

# What is wrong.
run "reduce: twice" 2 "$MOCA" reduce -o "$tmp/x" "$job" "$tmp/part-2" && has "reduce: twice" "$tmp/err" 'rank [03579] is there twice'
run "reduce: nothing" 2 "$MOCA" reduce -o "$tmp/x" && has "reduce: nothing" "$tmp/err" 'ranks and a file are needed'
run "reduce: no file" 2 "$MOCA" reduce "$job" && has "reduce: no file" "$tmp/err" 'ranks and a file are needed'
run "reduce: no job" 2 "$MOCA" reduce -o "$tmp/x" "$tmp" && has "reduce: no job" "$tmp/err" 'no folder with traces of ranks'
run "reduce: cannot write" 2 "$MOCA" reduce -o "$tmp/none/x" "$tmp/all" && has "reduce: cannot write" "$tmp/err" 'cannot write'
[ -e "$tmp/x" ] && not_ok "reduce: no file of an error" "there is one" || ok "reduce: no file of an error"
"$MAKE_TRACE" "$tmp/alone-trace" complete
run "reduce: no rank" 2 "$MOCA" reduce -o "$tmp/x" "$tmp/alone-trace" && has "reduce: no rank" "$tmp/err" 'a trace of no rank'
head -c 900 "$tmp/all" >"$tmp/cut"
run "reduce: cut profile" 2 "$MOCA" reduce -o "$tmp/x" "$tmp/cut" && has "reduce: cut profile" "$tmp/err" 'is cut off'
sed 's/58368/58369/' "$tmp/all" >"$tmp/changed"
run "reduce: changed profile" 2 "$MOCA" reduce -o "$tmp/x" "$tmp/changed" && has "reduce: changed profile" "$tmp/err" 'checksum is wrong'
sed '1s/1$/2/' "$tmp/all" >"$tmp/newer"
run "reduce: newer profile" 2 "$MOCA" reduce -o "$tmp/x" "$tmp/newer" && has "reduce: newer profile" "$tmp/err" 'by a newer moca'
for command in summary info; do
	run "$command: damaged profile" 2 "$MOCA" $command "$tmp/changed" && has "$command: damaged profile" "$tmp/err" "^moca: error: $command:.*checksum"
done
cp -r "$job/rank-0" "$tmp/rank-9"
run "reduce: wrong name" 2 "$MOCA" reduce -o "$tmp/x" "$tmp/rank-9" && has "reduce: wrong name" "$tmp/err" 'by its metadata the trace of rank 0'

# Two jobs.
"$BUILD/tests/make-job" "$tmp/job-b" 10 20 1200
run "diff" 0 "$MOCA" diff "$job" "$tmp/job-b" && has "diff" "$tmp/out" \
	'^  accesses +220,992 -> +319,040' '^Ranks of A: 12$' '^Ranks of B: 10$' \
	'^time +1\.00 s +0 +1\.10 s' '^Ranks that changed most, of 10 that both have' \
	'^  rank 0: time 600 ms -> 1\.00 s' '^  1\. \[heap\] is placed' '^\[heap\] +220,992 -> 319,040'
run "diff --json" 0 "$MOCA" diff --json "$tmp/all" "$tmp/job-b" && json "diff --json" \
	"j['total']['a']['accesses'] == 220992 and j['total']['b']['accesses'] == 319040 and \
	j['total']['b']['findings'] == 1 and j['by_rank']['b']['time']['least'] == 1 and \
	len([r for r in j['ranks_changed'] if r['metric'] == 'time']) == 10"
run "diff --fail-if" 1 "$MOCA" diff "$job" "$tmp/job-b" --fail-if 'accesses([heap])>+10%' &&
	has "diff --fail-if" "$tmp/err" 'FAILED accesses.*220,992 -> 319,040'
run "diff: the same" 0 "$MOCA" diff "$job" "$tmp/all" --markdown --junit "$tmp/junit.xml" --fail-if 'accesses>+0' \
	--fail-if 'remote>+0' && has "diff: the same" "$tmp/junit.xml" 'tests="2" failures="0"'
run "diff: a job and a rank" 2 "$MOCA" diff "$job" "$job/rank-0" && has "diff: a job and a rank" "$tmp/err" "job' is a job.*rank-0' is one trace"
run "diff: a rank and a job" 2 "$MOCA" diff "$job/rank-0" "$job" && has "diff: a rank and a job" "$tmp/err" "job' is a job.*rank-0' is one trace"
run "diff --flame of jobs" 2 "$MOCA" diff --flame "$job" "$job" && has "diff --flame of jobs" "$tmp/err" 'needs call stacks, which the job'
run "diff: damaged profile" 2 "$MOCA" diff "$job" "$tmp/changed" && has "diff: damaged profile" "$tmp/err" 'checksum'
"$MOCA" baseline "$job/rank-0" -o "$tmp/baseline"
run "diff: baseline and job" 0 "$MOCA" diff "$tmp/baseline" "$job" && has "diff: baseline and job" "$tmp/out" '^  accesses +14,784 -> +220,992'
run "objects of a job" 2 "$MOCA" objects "$job" && has "objects of a job" "$tmp/err" 'a job of many ranks'

# Ranks that are missing, damaged, unreadable, cut off.
run "summary: cut off" 0 "$MOCA" summary "$tmp/all" && has "summary: cut off" "$tmp/out" '^Cut off +rank 6: '
rm -r "$job/rank-8" "$job/rank-9" "$job/rank-11"
for command in summary info; do
	run "$command: missing" 1 "$MOCA" $command "$job" &&
		has "$command: missing" "$tmp/out" '^Ranks +9 of 12' '^Missing +ranks 8-9, 11: no trace' &&
		has "$command: missing, told" "$tmp/err" 'have no trace.*8-9, 11'
done
run "diff: missing" 1 "$MOCA" diff "$tmp/all" "$job" && has "diff: missing" "$tmp/err" 'have no trace.*8-9, 11'
echo nonsense >"$job/rank-2/metadata"
printf 'xxxxxxxxxxxxxxxx' | dd of="$job/rank-4/task-1" bs=1 seek=2000 conv=notrunc status=none
run "reduce: damage" 1 "$MOCA" reduce -o "$tmp/bad" "$job" && has "reduce: damage" "$tmp/err" \
	"rank-2' is not a readable trace" 'of ranks 4 are damaged' 'ranks 2 cannot be read' 'have no trace.*8-9, 11'
run "reduce: damage, -j 1" 1 "$MOCA" reduce -j 1 -o "$tmp/bad-1" "$job" && same "reduce: damage, -j 1" "$tmp/bad" "$tmp/bad-1"
run "summary: damage" 1 "$MOCA" summary "$tmp/bad" && has "summary: damage" "$tmp/out" \
	'^Missing +ranks 8-9, 11:' '^Unreadable +rank 2:' '^Damaged +rank 4:' '^Cut off +rank 6:'
run "summary: damage, JSON" 1 "$MOCA" summary --json "$tmp/bad" && json "summary: damage, JSON" \
	"[r['state'] for r in j['ranks'][:7]] == ['whole', 'whole', 'unreadable', 'whole', 'damaged', 'whole', 'cut'] and \
	j['ranks'][2]['accesses'] is None and j['by_rank']['accesses']['ranks'] == 8 and \
	j['missing'] == [{'first': 8, 'last': 9}, {'first': 11, 'last': 11}]"
finish
