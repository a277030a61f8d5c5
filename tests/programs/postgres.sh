#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A cluster of its own, a table, a sum. The server refuses to run as root.
here=$PWD
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
if [ "$(id -u)" = 0 ]; then
	chown 65534:65534 .
	exec setpriv --reuid=65534 --regid=65534 --clear-groups sh "$0"
fi
set -e
"$bin/initdb" -D "$here/d" -A trust -U p >/dev/null
"$bin/pg_ctl" -D "$here/d" -o "-k $here -h ''" -l "$here/log" -w start >/dev/null
"$bin/psql" -h "$here" -U p -d postgres -Atc "create table t as
	select i, i * 7 b from generate_series(1, 30000) i;
	create index on t(b); select sum(b) from t where b % 3 = 0"
"$bin/pg_ctl" -D "$here/d" -w -m fast stop >/dev/null
