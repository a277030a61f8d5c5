// SPDX-License-Identifier: GPL-2.0-or-later
// Perfetto's trace_processor answers statements, one a line of stdin: rows as JSON,
// one answer a line. node trace-processor.mjs ASSETS TRACE
// ASSETS has it as WebAssembly, made for a worker of a browser.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';

const [assets, trace] = process.argv.slice(2);
const { EngineBase } = await import(pathToFileURL(`${assets}/engine.mjs`).href);

class Engine extends EngineBase {
	mode = 'WASM';
	id = 'moca';
	constructor(port) {
		super();
		this.port = port;
		port.onmessage = (m) => this.onRpcResponseBytes(m.data);
	}
	rpcSendRequestBytes(data) {
		this.port.postMessage(data);
	}
	[Symbol.dispose]() {
		this.port.close();
	}
}

// The script looks for what a worker has, and keeps its bridge for itself.
function replaced(text, changes) {
	for (const [from, to] of changes) {
		if (!text.includes(from))
			throw new Error(`the script has no '${from}'`);
		text = text.replace(from, to);
	}
	return text;
}

console.warn = () => {};
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
globalThis.location = { href: pathToFileURL(assets).href + '/' };
globalThis.mocaWasm = new Uint8Array(readFileSync(`${assets}/trace_processor.wasm`));
vm.runInThisContext(replaced(readFileSync(`${assets}/engine_bundle.node.js`, 'utf8'), [
	['this.useMemory64 = hasMemory64Support();', 'this.useMemory64 = false;'],
	['locateFile: (s) => s,', 'locateFile: (s) => s, wasmBinary: globalThis.mocaWasm,'],
	['const wasmBridge = new wasm_bridge_1.WasmBridge();',
		'const wasmBridge = globalThis.mocaBridge = new wasm_bridge_1.WasmBridge();'],
]));

const bridge = globalThis.mocaBridge;
while (!bridge.reqBufferAddr)
	await new Promise((done) => setImmediate(done));

const channel = new MessageChannel();
bridge.initialize(channel.port1);
const engine = new Engine(channel.port2);
const bytes = new Uint8Array(readFileSync(trace));
const STEP = 32 << 20;
for (let i = 0; i < bytes.length; i += STEP)
	await engine.parse(bytes.subarray(i, i + STEP));
await engine.notifyEof();

for await (const line of createInterface({ input: process.stdin })) {
	const result = await engine.query(line);
	const rows = [];

	if (result.error())
		throw new Error(result.error());
	for (const it = result.iter({}); it.valid(); it.next())
		rows.push(result.columns().map((c) => it.get(c)));
	// Texts: none of 64 bits is rounded.
	console.log(JSON.stringify(rows, (_, v) => typeof v === 'bigint' ? String(v) : v));
}
process.exit(0);
