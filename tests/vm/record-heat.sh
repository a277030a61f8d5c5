#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# moca record --heat: what the looks of the module told is in the trace, sound, and in
# the table heat.
. /tests/lib.sh.inc
home heat

# refused NAME TEXT ARGUMENTS... CODE=2: the exit code
refused() {
	name=$1 text=$2
	shift 2
	$MOCA record "$@" -o none -- true >said 2>&1
	code=$?
	if [ $code = ${CODE:-2} ] && grep -q -e "$text" said && [ ! -e none ]; then
		ok "$name"
	else
		not_ok "$name" "exit code $code: $(tr '\n' ' ' <said)"
	fi
}
# number SQL: what it gives
number() {
	$MOCA query --csv "$OUT/trace" "$1" | tail -n 1
}
# at_least NAME LEAST SQL
at_least() {
	n=$(number "$3")
	[ "${n:-0}" -ge "$2" ] && ok "$1" || not_ok "$1" "$n, not $2 at least"
}
# none NAME SQL
none() {
	n=$(number "$2")
	[ "$n" = 0 ] && ok "$1" || not_ok "$1" "$n, not 0"
}

refused "without the module" "--via user" --via user --heat 10ms
refused "too often" "1ms at least" --heat 10us
refused "stacks" "--stacks" --stacks --heat 10ms
refused "exact" "--heat" --exact --heat 10ms

if $MOCA record -q --heat 5ms --interval 50ms --budget none --no-allocs -o "$OUT/trace" -- \
	/tests/workload "$OUT/truth" 500 200 >said 2>&1; then
	ok recording
else
	not_ok recording "$(tail -n 3 said | tr '\n' ' ')"
	exit
fi
$MOCA check "$OUT/trace" >said 2>&1 && ok check || not_ok check "$(tail -n 5 said | tr '\n' ' ')"
at_least "looks" 2 "select count(*) from moca_heat_look"
at_least "pages" 500 "select count(distinct addr) from heat"
at_least "written" 1 "select count(*) from heat where written"
none "sums" "select (select sum(touched) from moca_heat_look) - (select count(*) from heat)"
none "times" "select count(*) from heat where since_ns >= time_ns or time_ns is null"
none "nothing is of nobody" "select count(*) from heat where pid not in (select pid from tasks)"
$MOCA info "$OUT/trace" >said && grep -q '^Heat' said && ok info || not_ok info "$(head -n 30 said | tr '\n' '|')"

# Rates and events beside it do not mix with it.
$MOCA record -q --heat 5ms --no-rates -o second -- sh -c 'exit 3' >said 2>&1
[ $? = 3 ] && $MOCA check second >said 2>&1 && ok "without rates" ||
	not_ok "without rates" "$(tail -n 3 said | tr '\n' ' ')"
$MOCA record -q -o third -- true >said 2>&1 && ! grep -q '^heat' third/metadata &&
	[ "$($MOCA query --csv third 'select count(*) from heat' | tail -n 1)" = 0 ] &&
	ok "off by default" || not_ok "off by default" "$(tail -n 3 said | tr '\n' ' ')"

# Where a look might wait for ever, or for all CPUs, there is none.
CODE=125
for missing in no_ftrace:ftrace no_symbols:flush_tlb_mm_range; do
	rmmod moca && insmod /lib/moca/moca.ko "${missing%%:*}=1" || not_ok insmod "it failed"
	refused "${missing%%:*}" "accessed bits: .*${missing#*:}" --heat 10ms
done
