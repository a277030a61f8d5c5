// SPDX-License-Identifier: GPL-2.0-or-later
// node pprof.mjs FILE: what pprof-format reads in it, as JSON: samples with their values,
// labels, and functions, the outermost first.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { Profile } from "pprof-format";

const p = Profile.decode(gunzipSync(readFileSync(process.argv[2])));
const text = (i) => p.stringTable.strings[Number(i)];
const functionOf = new Map(p.function.map((f) => [Number(f.id), f]));
const locationOf = new Map(p.location.map((l) => [Number(l.id), l]));
const mappingOf = new Map(p.mapping.map((m) => [Number(m.id), text(m.filename)]));

function frames(location) {
	const l = locationOf.get(Number(location));
	return l.line.map((x, i) => {
		const f = functionOf.get(Number(x.functionId));
		return { name: text(f.name), file: text(f.filename), line: Number(x.line),
			inlined: i + 1 < l.line.length, path: mappingOf.get(Number(l.mappingId)) || null };
	});
}

console.log(JSON.stringify({
	kinds: p.sampleType.map((t) => text(t.type)), units: p.sampleType.map((t) => text(t.unit)), first: text(p.defaultSampleType),
	time: String(p.timeNanos), length: String(p.durationNanos),
	samples: p.sample.map((s) => ({
		values: s.value.map(Number),
		labels: Object.fromEntries(s.label.map((l) => [text(l.key), Number(l.str) ? text(l.str) : Number(l.num)])),
		frames: s.locationId.flatMap(frames).reverse(),
	})),
}));
