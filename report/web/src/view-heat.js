// SPDX-License-Identifier: GPL-2.0-or-later
// Pages by time, as looks at accessed bits of page tables found them.
import * as f from "./format.js";
import * as p from "./palette.js";
import { strips } from "./charts.js";
import { json } from "./data.js";
import { figure, legend } from "./figure.js";
import { texts } from "./texts.js";

const sum = (of, from, to) => {
	let n = 0;
	for (let i = from; i < to; i++)
		n += of[i];
	return n;
};

/** A figure. */
export async function heat() {
	const { stretches, begin_ns, end_ns, left_out } = await json("heat");
	const bins = stretches[0].touched.length, at = (i, n) => Math.floor(i * bins / n);
	const when = (bin) => begin_ns + bin / bins * (end_ns - begin_ns);
	const tracks = stretches.map((s) => {
		const most = Math.max(...s.touched);
		const one = (i, n) => [s.touched, s.written].map((of) => sum(of, at(i, n), Math.max(at(i, n) + 1, at(i + 1, n))));
		return {
			label: `${f.hex(s.first_page)}000`,
			color(i, n) {
				const [touched, written] = one(i, n);
				return touched ? [...p.mix(touched - written, written, 0), Math.min(1, 0.2 + 0.8 * touched / most)] : null;
			},
			describe(i, n) {
				const [touched, written] = one(i, n);
				return [["Process", `${f.cut(s.process, 30)} ${s.pid}`], ["Pages", `${f.count(s.pages)} from ${f.hex(s.first_page)}000 to ${f.hex(s.end_page)}000`],
					["Time", `${f.time(when(at(i, n)))} to ${f.time(when(at(i + 1, n)))}`],
					["Touched", f.count(touched)], ["Of these written", f.count(written)]];
			},
		};
	});
	const strip = strips({ tracks, columns: bins, height: 10, left: 150, time: true, range: [begin_ns, end_ns], xText: f.time,
		label: "Pages that were touched over time, by stretches of memory" });
	return figure({ id: "heat", title: "Heat", explain: texts.looks, picture: strip.picture,
		subtitle: `${f.count(sum(stretches.map((s) => s.pages), 0, stretches.length))} pages in ${f.count(stretches.length)} stretches of memory, the lowest address first` +
			(left_out ? `; ${f.count(left_out)} runs of pages had no room` : ""),
		body: [legend([[p.css(p.READ), "read"], [p.css(p.BOTH), "both"], [p.css(p.WRITE), "written"]]), strip.element],
		rows: () => [["pid", "process", "from", "to", "begin_ns", "end_ns", "touched", "written"],
			...stretches.flatMap((s) => s.touched.map((n, i) => [s.pid, s.process, `${f.hex(s.first_page)}000`, `${f.hex(s.end_page)}000`, Math.round(when(i)), Math.round(when(i + 1)), n, s.written[i]]).filter((x) => x[6]))] });
}
