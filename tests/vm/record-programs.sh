#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Real programs compute the same when the module records them: one of several
# threads, one that forks, a database, a compiler's worth of small processes.
cd /tmp || exit 1
i=0
while [ $i -lt 2000 ]; do
	i=$((i + 1))
	echo "$((i * 7919 % 10007)) line $i of a file that is not the same twice"
done >lines
for j in 1 2 3 4 5 6; do cat lines; done >some

# same NAME LEAST COMMAND...: so many per cent of the touched pages were seen. Of a
# guest that a busy host lets wait, the recorder may come too late to a full ring;
# what is lost then is told, and below a hundredth.
same() {
	local name=$1 least=$2 plain traced seen
	shift 2
	plain=$("$@" 2>&1 </dev/null | md5sum)
	traced=$(/tests/moca record -q --via kernel --interval 10ms -o t-$name \
		-- "$@" 2>&1 </dev/null | md5sum)
	[ "$plain" = "$traced" ] ||
		{ echo "not ok $name: its output is not the same"; return; }
	/tests/moca check t-$name >why 2>&1 ||
		{ echo "not ok $name: moca check: $(tail -n1 why)"; return; }
	seen=$(/tests/moca info --json t-$name | tr -d ' \n' |
		sed 's/.*"pages_seen":\([0-9]*\).*"pages_touched":\([0-9]*\).*"records":\([0-9]*\).*"lost":\([0-9]*\).*/\1 \2 \3 \4/')
	set -- $seen
	[ $((100 * $4)) -le "$3" ] && [ "$3" -gt 100 ] ||
		{ echo "not ok $name: $3 records, $4 lost"; return; }
	[ $((100 * $1)) -ge $((least * $2)) ] ||
		{ echo "not ok $name: $1 of $2 touched pages seen"; return; }
	echo "ok $name"
	echo "$name: $1 of $2 pages seen, $3 records"
	[ $1 = $2 ] || /tests/moca dump --accesses t-$name | grep -F "?" | head -n 12
	rm -r t-$name
}

# What one of several threads got rights to by mprotect, another may touch before
# it is closed again (doc/design/kernel-module.md).
same xz 98 /tests/xz -T2 --block-size=128KiB -3 -c some
same sort 98 /tests/sort --parallel=2 -S 8M -n some
same sqlite3 100 /tests/sqlite3 :memory: "create table t(a,b);
	with recursive n(x) as (select 1 union all select x+1 from n where x<8000)
	insert into t select x*7919%10007, x from n; create index i on t(a);
	select count(*), sum(b), max(a) from t where a between 100 and 5000;
	select a, count(*) from t group by a%17 order by 2 limit 5"
cat >forks.sh <<'END'
n=0
for i in 1 2 3 4 5 6 7 8; do
	n=$((n + $(sh -c "wc -l </tmp/lines")))
done
echo $n
(cat /tmp/lines | sort | head -n 50) | md5sum
END
same forks 100 sh /tmp/forks.sh
