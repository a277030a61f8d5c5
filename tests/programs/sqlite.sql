-- SPDX-License-Identifier: GPL-2.0-or-later
PRAGMA cache_size = -20000;
CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER, v TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
INSERT INTO t SELECT i, (i * 7919) % 10007, printf('value %08d', i * 31) FROM n;
CREATE INDEX tk ON t (k);
SELECT count(*), sum(k), min(v), max(v) FROM t;
SELECT k, count(*) c FROM t GROUP BY k ORDER BY c DESC, k LIMIT 3;
UPDATE t SET v = v || '!' WHERE k % 3 = 0;
DELETE FROM t WHERE k % 5 = 0;
VACUUM;
SELECT count(*), sum(length(v)) FROM t;
SELECT a.v FROM t a JOIN t b ON a.k = b.k AND a.id < b.id ORDER BY 1 LIMIT 2;
PRAGMA integrity_check;
