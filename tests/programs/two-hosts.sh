#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage: unshare --net --uts --mount --pid --fork --kill-child --mount-proc \
#            bash tests/programs/two-hosts.sh COMMAND...
# This namespace becomes the host east, beside which there is west, with a link
# between both; mpirun -H east:2,west:2 COMMAND. West's monotonic clock is another
# where the kernel has namespaces of time. Exit code 77: cannot be made here.
set -u
unable() {
	echo "$*" >&2
	exit 77
}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
hostname east && ip link set lo up 2>"$tmp/err" &&
	ip link add moca-e type veth peer name moca-w 2>"$tmp/err" ||
	unable "no link of two network namespaces: $(cat "$tmp/err")"
printf '127.0.0.1 localhost\n10.99.7.1 east\n10.99.7.2 west\n' >"$tmp/hosts"
mount --bind "$tmp/hosts" /etc/hosts || unable "no mount"
clock=
unshare --time --monotonic 100000 true 2>/dev/null && clock='--time --monotonic 100000'
mkfifo "$tmp/there" || exit 1
# shellcheck disable=SC2086
unshare --net --uts $clock --fork --kill-child sh -c \
	'hostname west && echo $$ >"$0" && exec sleep 100000' "$tmp/there" &
exec 3<>"$tmp/there"
read -r -t 120 west <&3 || unable "no second host"
exec 3<&-
in_west() {
	nsenter --target "$west" --net --uts "$@"
}
ip link set moca-w netns "$west" && ip addr add 10.99.7.1/24 dev moca-e &&
	ip link set moca-e up && in_west ip link set lo up &&
	in_west ip addr add 10.99.7.2/24 dev moca-w &&
	in_west ip link set moca-w up || unable "no addresses"
# As ssh: a host, and a command line for its shell.
cat >"$tmp/agent" <<-EOF
	#!/bin/sh
	[ "\$1" = west ] || { echo "no host \$1" >&2; exit 1; }
	shift
	exec nsenter --target $west --net --uts ${clock:+--time} sh -c "\$*"
EOF
chmod +x "$tmp/agent"
[ -z "$clock" ] || echo "west has a clock of its own"
mpirun.openmpi --mca plm_rsh_agent "$tmp/agent" --mca plm_rsh_no_tree_spawn 1 \
	--mca btl tcp,self --mca btl_tcp_if_include 10.99.7.0/24 \
	--mca oob_tcp_if_include 10.99.7.0/24 -H east:2,west:2 -n 4 "$@"
rc=$?
kill "$west"
wait
exit $rc
