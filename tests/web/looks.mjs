// SPDX-License-Identifier: GPL-2.0-or-later
// Each view with a canvas looks as it did: compared by pixels with pictures.json.
import { readFileSync, writeFileSync } from "node:fs";
import { go } from "./page.mjs";

/* What is drawn, as 32 by 16 means of colour for each canvas: text and its fonts count
 * for little there. PICTURES=write keeps what is seen as right. */
const KINDS = ["million", "finding"];
const MUCH = 0.035;	/* another font: 0.02; another colour of reads: 0.05 */
const PICTURES = new URL("pictures.json", import.meta.url);
const meansOf = (page) => page.evaluate(() => [...document.querySelectorAll("main canvas")].filter((c) => c.width && c.height).map((c) => {
	const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, W = 32, H = 16;
	const sum = new Float64Array(W * H * 4);
	for (let y = 0, i = 0; y < c.height; y++)
		for (let x = 0; x < c.width; x++, i += 4) {
			const at = 4 * (Math.floor(y * H / c.height) * W + Math.floor(x * W / c.width)), a = d[i + 3] / 255;
			for (let k = 0; k < 3; k++)
				sum[at + k] += 255 + a * (d[i + k] - 255);
			sum[at + 3]++;
		}
	return Array.from({ length: 3 * W * H }, (_, i) => Math.round(sum[4 * Math.floor(i / 3) + i % 3] / sum[4 * Math.floor(i / 3) + 3]));
}));

const settled = (page) => page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));

/* {view: canvases, each in base64} */
async function look(page, viewsOf) {
	const seen = {};
	for (const hash of [...(await viewsOf(page)).map((v) => `#/${v}`), "#/object/0", "#/object/0?mode=thread"]) {
		await go(page, hash);
		await settled(page);
		const means = await meansOf(page);
		if (means.length)
			seen[hash] = means.map((m) => Buffer.from(m).toString("base64"));
	}
	return seen;
}

/* How far each value is from the picture's background, its most frequent colour. */
function inkOf(x) {
	const times = new Map();
	for (let i = 0; i < x.length; i += 3) {
		const key = x.readUIntBE(i, 3);
		times.set(key, (times.get(key) || 0) + 1);
	}
	const ground = [...times].sort((p, q) => q[1] - p[1])[0][0];
	return x.reduce((n, v, i) => n + Math.abs(v - (ground >> 8 * (2 - i % 3) & 255)), 0);
}

/* Why two pictures differ, or nothing: by so much of what is drawn in them. */
function differ(a, b) {
	const x = Buffer.from(a, "base64"), y = Buffer.from(b, "base64");
	const sum = x.reduce((n, v, i) => n + Math.abs(v - y[i]), 0), part = sum / (inkOf(x) + inkOf(y) || 1);
	return part > MUCH ? `differs by ${(100 * part).toFixed(1)} % of what is drawn` : "";
}

/** The cases: of traces that are the same each time. */
export async function looks({ test, withPage, viewsOf }) {
	for (const kind of KINDS)
		await test(`${kind}: each view looks as it did`, () => withPage(kind, { colorScheme: "light" }, async (page) => {
			const seen = await look(page, viewsOf), known = JSON.parse(readFileSync(PICTURES, "utf8"));
			if (process.env.PICTURES === "write") {
				known[kind] = seen;
				writeFileSync(PICTURES, `${JSON.stringify(known, null, "\t")}\n`);
				return;
			}
			const then = known[kind];
			if (Object.keys(seen).join() !== Object.keys(then).join())
				throw new Error(`views with canvases: ${Object.keys(seen)}`);
			for (const [hash, pictures] of Object.entries(seen)) {
				if (pictures.length !== then[hash].length)
					throw new Error(`${hash} has ${pictures.length} canvases, and had ${then[hash].length}`);
				pictures.forEach((text, n) => {
					const why = differ(text, then[hash][n]);
					if (why)
						throw new Error(`${hash}, canvas ${n}: ${why}`);
				});
			}
		}));
}
