// SPDX-License-Identifier: GPL-2.0-or-later
// DuckDB answers statements, one a line of stdin: rows as JSON, one answer a line.
// node duckdb.mjs
import { DuckDBInstance } from '@duckdb/node-api';
import { createInterface } from 'node:readline';

const db = await (await DuckDBInstance.create(':memory:')).connect();

for await (const line of createInterface({ input: process.stdin })) {
	const result = await db.runAndReadAll(line);

	// Numbers of 64 bits and more are texts, so that none is rounded.
	console.log(JSON.stringify(result.getRowsJson()));
}
process.exit(0);
