#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage: unshare --net --uts --mount --pid --fork --kill-child --mount-proc \
#            bash tests/programs/slurm-node.sh FOLDER COMMAND...
# This namespace becomes a cluster of one node with munge and Slurm, whose files
# are in FOLDER; runs COMMAND there, with SLURM_CONF. All of it ends with this
# script. Exit code 77: they do not start here, and why.
set -u
dir=$1
shift
cpus=$(nproc)
hostname node || exit 77
# Names are looked up as by a host that has an address beside 127.0.0.1.
ip link set lo up && ip addr add 10.99.8.1/32 dev lo || exit 77
mkdir -p "$dir/state" "$dir/spool" "$dir/munge" && chmod 755 "$dir/munge" || exit 77
printf '127.0.0.1 localhost\n10.99.8.1 node\n' >"$dir/hosts"
mount --bind "$dir/hosts" /etc/hosts || exit 77
(umask 077; head -c 1024 /dev/urandom >"$dir/munge/key")
cat >"$dir/slurm.conf" <<-EOF
	ClusterName=moca
	SlurmctldHost=node(10.99.8.1)
	SlurmUser=root
	SlurmdUser=root
	AuthType=auth/munge
	AuthInfo=socket=$dir/munge/socket
	CryptoType=crypto/munge
	StateSaveLocation=$dir/state
	SlurmdSpoolDir=$dir/spool
	SlurmctldPidFile=$dir/slurmctld.pid
	SlurmdPidFile=$dir/slurmd.pid
	SlurmctldLogFile=$dir/slurmctld.log
	SlurmdLogFile=$dir/slurmd.log
	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	MpiDefault=none
	SwitchType=switch/none
	JobAcctGatherType=jobacct_gather/none
	SelectType=select/cons_tres
	SelectTypeParameters=CR_CPU
	SlurmdParameters=config_overrides
	ReturnToService=2
	NodeName=node NodeAddr=10.99.8.1 CPUs=8 RealMemory=512 State=UNKNOWN
	PartitionName=all Nodes=node Default=YES MaxTime=INFINITE State=UP
EOF
export SLURM_CONF=$dir/slurm.conf
munged --foreground --force --key-file "$dir/munge/key" --socket "$dir/munge/socket" \
	--pid-file "$dir/munge/pid" --log-file "$dir/munge/log" \
	--seed-file "$dir/munge/seed" >"$dir/munged.out" 2>&1 &
end=$((SECONDS + 120))
until [ -S "$dir/munge/socket" ]; do
	[ $SECONDS -lt $end ] || { cat "$dir/munged.out" >&2; exit 77; }
	sleep 0.1
done
slurmctld -D -c >"$dir/slurmctld.out" 2>&1 &
slurmd -D >"$dir/slurmd.out" 2>&1 &
until sinfo -h -o %T 2>"$dir/sinfo.err" | grep -qx idle; do
	[ $SECONDS -lt $end ] || {
		tail -n 3 "$dir"/*.out "$dir"/*.log "$dir/sinfo.err" >&2
		exit 77
	}
	sleep 0.1
done
"$@"
