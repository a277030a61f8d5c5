// SPDX-License-Identifier: GPL-2.0-or-later
// A JIT, garbage collection, worker threads with shared memory, a child.
const { Worker, isMainThread, workerData } = require('worker_threads');
const { execFileSync } = require('child_process');
const crypto = require('crypto');

if (!isMainThread) {
	const a = new Int32Array(workerData);
	for (let i = 0; i < 100000; i++)
		Atomics.add(a, i % 1000, 1);
	return;
}
let live = [], sum = 0;
for (let i = 0; i < 300000; i++) {
	live[i % 5000] = { n: i, s: 'x' + i, next: live[(i * 7) % 5000] };
	if (i % 100 === 0)
		live[i % 5000].next = null;
	sum = (sum * 31 + i) % 1000003;
}
console.log(sum, live.length);
console.log(crypto.createHash('sha256').update(Buffer.alloc(8 << 20, 7))
	.digest('hex'));
console.log(execFileSync('sh', ['-c', 'echo child']).toString().trim());
const shared = new SharedArrayBuffer(4000);
let running = 3;
for (let i = 0; i < 3; i++)
	new Worker(__filename, { workerData: shared }).on('exit', () => {
		if (--running === 0)
			console.log(new Int32Array(shared)
				.reduce((x, y) => x + y));
	});
