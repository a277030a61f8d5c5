# SPDX-License-Identifier: GPL-2.0-or-later
# A server on a socket of its own; a snapshot is a fork without exec.
redis-server --port 0 --unixsocket "$PWD/s" --save '' --appendonly no \
	--daemonize no --dir "$PWD" --logfile /dev/null &
pid=$!
trap 'kill $pid 2>/dev/null' EXIT
i=0
until redis-cli -s ./s ping 2>/dev/null; do
	i=$((i + 1))
	[ $i -gt 1000 ] && exit 1
	sleep 0.1
done | head -n 1
cli() { redis-cli -s ./s "$@"; }
redis-benchmark -s ./s -q -n 3000 -c 10 -d 500 -t set,lpush,get \
	> /dev/null || echo "benchmark failed"
cli eval 'for i=1,20000 do redis.call("SET","k"..i,string.rep(i,20)) end return redis.call("DBSIZE")' 0
cli bgsave > /dev/null
cli eval 'for i=1,5000 do redis.call("SET","k"..i,i) end return 1' 0
i=0
while cli info persistence | grep -q bgsave_in_progress:1; do
	i=$((i + 1))
	[ $i -gt 2000 ] && break
	sleep 0.05
done
cli info persistence | tr -d '\r' | grep rdb_last_bgsave_status
cli get k17
cli get k17000 | cksum
cli shutdown nosave
wait $pid
echo "server: $?"
trap - EXIT
