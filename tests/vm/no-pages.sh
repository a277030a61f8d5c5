#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A kernel on which pages cannot be traced by the module (real-time): it loads
# for the rate profiler, and everything else says so and goes on without it.
. /tests/lib.sh.inc
home no-pages


insmod /lib/moca/moca.ko || not_ok insmod "it failed"
try "the kernel's log says why" 0 'no page tracing.*real-time' dmesg
[ -e /dev/moca ] && not_ok "no device" "there is /dev/moca" || ok "no device"
[ -e /proc/mp3/status ] && ok "rate profiler" ||
	not_ok "rate profiler" "no /proc/mp3/status"
try "record --via kernel" 125 'without page tracing.*real-time' \
	$MOCA record --via kernel -o t1 -- true
try "record, auto" 0 'touched pages seen' $MOCA record -o t2 -- true
grep -q 'loaded, but not used.*without page tracing' said &&
	ok "auto: says so" || not_ok "auto: says so" "$(cat said)"
grep -q '^collector fault' t2/metadata && ok "auto: from user space" ||
	not_ok "auto: from user space" "$(grep ^collector t2/metadata)"
try "doctor" 0 'without page tracing' $MOCA doctor
try "rate --via kernel" 0 'minor and' $MOCA rate --via kernel --no-children -- true
rmmod moca || not_ok rmmod "it is in use"
