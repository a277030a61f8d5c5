#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# moca record --via: without the module, with it, and for whom.
. /tests/lib.sh.inc
home record-choice
chmod 1777 /tmp $HOME
chmod 755 / /tests
echo 'nobody:x:65534:65534::/tmp/record-choice:/bin/sh' >/etc/passwd

# Debian's kernel lets nobody but root have any, otherwise.
echo 2 >/proc/sys/kernel/perf_event_paranoid

nobody() {
	su -s /bin/sh nobody -c "$*"
}

try "no module" 125 'modprobe moca' $MOCA record --via kernel -o t1 -- true
try "no module, auto" 0 'touched pages seen' $MOCA record -o t2 -- true
grep -qi module said && not_ok "no module, auto: silent" "$(cat said)" ||
	ok "no module, auto: silent"
try "no module, doctor" 0 'not loaded' $MOCA doctor

insmod /lib/moca/moca.ko || not_ok insmod "it failed"
try "auto" 0 'by the kernel module' $MOCA record -o t3 -- true
try "user" 0 'touched pages seen' $MOCA record --via user -o t4 -- true
grep -q '^collector fault' t4/metadata && ok "user: from user space" ||
	not_ok "user: from user space" "$(grep ^collector t4/metadata)"
grep -q '^collector kernel' t3/metadata && ok "auto: told in the trace" ||
	not_ok "auto: told in the trace" "$(grep ^collector t3/metadata)"
grep -q '^phys_source kernel' t3/metadata && ok "root: physical addresses" ||
	not_ok "root: physical addresses" "$(grep ^phys t3/metadata)"
try doctor 0 'loaded, and this user may use it' $MOCA doctor

try "another user" 125 'CAP_PERFMON' nobody $MOCA record --via kernel -o n1 -- true
try "another user, auto" 0 'loaded, but not used' nobody $MOCA record -o n2 -- true
grep -c 'not used' said | grep -q '^1$' && ok "another user, auto: said once" ||
	not_ok "another user, auto: said once" "$(cat said)"
echo 1 >/sys/module/moca/parameters/allow_own
try "another user, allowed" 0 'by the kernel module' nobody $MOCA record -o n3 -- true
grep -q '^phys_source none' n3/metadata && ok "another user: no physical addresses" ||
	not_ok "another user: no physical addresses" "$(grep ^phys n3/metadata)"
cd /sys/module/moca/parameters || not_ok parameters "there are none"
echo 0 >user_mb
try "no memory for this user" 125 'user_mb' nobody $MOCA record --via kernel -o $HOME/n6 -- true
# Rings are made smaller until they fit.
echo 1 >user_mb
try "little memory for this user" 0 'by the kernel module' nobody $MOCA record -o $HOME/n7 -- true
echo 64 >user_mb
echo 0 >user_sessions
try "no session for this user" 125 'user_sessions' nobody $MOCA record --via kernel -o $HOME/n8 -- true
echo 8 >user_sessions
cd $HOME || exit 1
# A program that gains rights runs with them, and out of sight.
mkdir suid && cp /bin/busybox suid/true && chmod 4755 suid/true
try "other rights" 0 'by the kernel module' nobody $MOCA record --via kernel -o n5 -- suid/true
$MOCA dump --changes n5 >said
grep -q 'gap .*other rights' said && ok "other rights: a gap" ||
	not_ok "other rights: a gap" "$(grep gap said)"
sleep 100 &
try "another user's process" 125 'not permitted' nobody $MOCA record --via kernel -o n4 -p $!
kill $!
rmmod moca || not_ok rmmod "it is in use"
